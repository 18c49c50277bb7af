"""The command line ``ltr-duel``. A command reads its arguments, calls the library, and prints the results.

Each command is a click command or group called ``command``, in a module of its own. Slow modules are imported inside
functions, so that ``--help`` is quick.
"""
