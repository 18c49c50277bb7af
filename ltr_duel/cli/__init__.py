"""The command line ``ltr-duel``. A command reads its arguments, calls the library, and prints the results.

Each command has a module of the same name, which contains a click command or group called ``command``. Modules that
load slowly are imported inside functions, so that ``--help`` is quick.
"""
