"""The command line: parses, calls, prints.

One module a command, found by its name: a module ``prefs.py`` here holds a click command or group called
``command``. Modules import click at the top and everything else inside the functions, so that ``--help`` is quick.
"""
