"""The command line: parse the arguments, call the library, print the results.

Each command is the module of the same name: ``prefs.py`` contains a click command or group called ``command``. Slow
imports are deferred, so that ``--help`` is quick.
"""
