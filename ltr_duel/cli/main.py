"""The program ``ltr-duel``: find the command, run it, and report an error in the user's input in one sentence."""

from __future__ import annotations

import atexit
import gc
import importlib
import os
import platform
import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NoReturn

import click

from ltr_duel import core
from ltr_duel.cli._output import end
from ltr_duel.cli._signals import interruption, signals_as_interrupts, was_interrupted
from ltr_duel.cli._words import Commands
from ltr_duel.core import InputError, errors, files, plugins

# Some versions of click raise this error for a group without a command; other versions print the help.
_HELP_WANTED = getattr(click.exceptions, "NoArgsIsHelpError", ())
_CLOSED_PIPE = 141  # 128 + SIGPIPE
_COMPILING = "LTR_DUEL_COMPILER", "NUMBA_DISABLE_JIT"  # variables that change how functions are compiled
# Allocations between two runs of Python's garbage collector; Python's default is 700. Hardly any object is freed while
# modules are imported, and frequent collections took a third of the time of a small command.
_OBJECTS_BETWEEN_COLLECTIONS = 50_000


class TopCommands(Commands):
    """All commands, in groups. Each command is a module of this package."""

    groups: ClassVar[Mapping[str, Sequence[str]]] = {
        "Start here": ("demo", "list"),
        "Corpora, rankers, preferences": ("data", "evaluate", "prefs"),
        "Studies": ("simulate", "sensitivity", "run", "status", "results", "reproduce"),
        "Logs": ("logs", "power", "clicks", "advise"),
        "Live experiments": ("live", "serve", "replay"),
        "Development": ("check",),
    }

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return [name for names in self.groups.values() for name in names]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; return None if there is no such command."""
        if cmd_name not in self.list_commands(ctx):
            return None
        command: click.Command = importlib.import_module(f"ltr_duel.cli.{cmd_name}").command
        return command


def _print_version(context: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        versions = core.versions_of(["ltr-duel", "numpy", "scipy", "numba", "pyarrow", "duckdb"])
        own = versions.pop("ltr-duel")
        facts = [f"{name} {version}" for name, version in versions.items()] + [core.host.system()]
        facts += [f"{name}={os.environ[name]}" for name in _COMPILING if os.environ.get(name)]
        click.echo(f"ltr-duel, version {own}")
        click.echo(", ".join([f"Python {platform.python_version()}", *facts]))
        context.exit()


@click.command(cls=TopCommands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, expose_value=False, callback=_print_version, help="Print the versions.")
def cli() -> None:
    """Find the best ranker of a learning-to-rank corpus by simulated clicks, and measure the cost of finding it."""


def main(*words: str) -> None:
    """Run a command, by default the one in ``sys.argv``. Invalid input ends it with exit code 2 and one sentence."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="surrogateescape")  # file names need not be UTF-8
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS, *gc.get_threshold()[1:])
    atexit.register(_freeze)
    with signals_as_interrupts(), warnings.catch_warnings():
        warnings.showwarning = _show_warning
        _run(words)


def _freeze() -> None:
    if "duckdb" not in sys.modules:  # duckdb would report frozen objects as leaked
        gc.freeze()


def _show_warning(message: Warning | str, category: type[Warning], *where: Any, **options: Any) -> None:
    """Print warnings of this package as sentences. Other warnings keep Python's form."""
    if category.__module__.startswith("ltr_duel."):
        _say(str(message))
    else:
        sys.stderr.write(warnings.formatwarning(message, category, *where[:2]))


def _run(words: tuple[str, ...]) -> None:
    stdout = sys.stdout
    try:
        if any("\0" in word for word in words):
            raise InputError("a null character cannot be part of a command")
        code = cli.main(words or None, prog_name="ltr-duel", standalone_mode=False)
        sys.stdout.flush()
    except (click.Abort, KeyboardInterrupt):
        _end_interrupted()
    except (Exception, SystemExit) as error:
        if isinstance(error, BrokenPipeError) or sys.stdout is not stdout:  # click replaces the stdout of a closed pipe
            _end_unread()
        if isinstance(error, _HELP_WANTED):
            click.echo(error.format_message(), err=True)
            end(2)
        sentence = _sentence(error)
        if sentence is None and was_interrupted() and not isinstance(error, SystemExit):
            _end_interrupted()
        if sentence is None:
            raise
        _say(sentence)
        end(2)
    sys.exit(code if isinstance(code, int) else 0)  # the code of ctx.exit(code)


def _end_interrupted() -> NoReturn:
    code, word = interruption()
    _say(word)
    end(code)


def _end_unread() -> NoReturn:
    """End without a message, because a reader such as ``head`` has closed the pipe."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # discards unflushed output
    end(_CLOSED_PIPE)


def _say(sentence: str) -> None:
    print(f"ltr-duel: {errors.in_one_line(sentence)}", file=sys.stderr)


def _sentence(error: BaseException) -> str | None:
    """Return a sentence about invalid input or an error in a plug-in, or None for an error of this package."""
    if isinstance(error, InputError):
        return str(error)
    if isinstance(error, click.ClickException):
        return error.format_message()
    if complaint := plugins.plugin_complaint(error):
        return complaint
    if isinstance(error, OSError):
        return f"{error.filename}: {files.cause(error)}" if error.filename else files.cause(error)
    if isinstance(error, MemoryError):
        return f"there is not enough memory ({str(error) or 'none is left'})"
    return None


if __name__ == "__main__":
    main()
