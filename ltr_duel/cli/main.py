"""The entry point ``ltr-duel``: find the commands, and print errors in the user's input as one sentence."""

from __future__ import annotations

import atexit
import gc
import importlib
import os
import platform
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import click

from ltr_duel import core
from ltr_duel.cli._output import end
from ltr_duel.cli._signals import interrupted, interrupts_heard, was_interrupted
from ltr_duel.cli._words import Commands
from ltr_duel.core import InputError, errors, files, plugins

# Raised for a group without a command by some versions of click; other versions print the help.
_HELP_WANTED = getattr(click.exceptions, "NoArgsIsHelpError", ())

_CLOSED_PIPE = 141  # 128 + SIGPIPE
# Allocations between two runs of Python's cycle collector; usually 700. While modules are imported, hardly any object
# is freed, but repeated collections, and one more at exit, took a third of the time of a small command.
_OBJECTS_BETWEEN_COLLECTIONS = 50_000


_GROUPS = {
    "Start here": ("demo", "list"),
    "Corpora, rankers, preferences": ("data", "evaluate", "prefs"),
    "Studies": ("simulate", "sensitivity", "run", "status", "results", "reproduce"),
    "Logs": ("logs", "power", "clicks", "advise"),
    "Live experiments": ("live", "serve", "replay"),
    "Development": ("check",),
}


class TopCommands(Commands):
    """The commands, each a module of this package, in groups."""

    groups = _GROUPS

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return [name for names in _GROUPS.values() for name in names]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        if cmd_name not in self.list_commands(ctx):
            return None
        command: click.Command = importlib.import_module(f"ltr_duel.cli.{cmd_name}").command
        return command


def _print_version(context: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        compiler = core.compiler()  # rejects an invalid LTR_DUEL_COMPILER, as all commands that compile do
        versions = core.versions_of(["ltr-duel", "numpy", "scipy", "pyarrow", "duckdb"])
        own = versions.pop("ltr-duel")
        libraries = ", ".join(f"{name} {version}" for name, version in versions.items())
        click.echo(f"ltr-duel, version {own}")
        click.echo(f"Python {platform.python_version()}, {libraries}, {core.host.system()}, {compiler}")
        context.exit()


@click.command(cls=TopCommands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, expose_value=False, callback=_print_version,
    help="Print the version, and those of Python and the main libraries.",
)  # fmt: skip
def cli() -> None:
    """Find the best ranker of a learning-to-rank corpus by simulated clicks, and measure the cost of finding it."""


def main(*words: str) -> None:
    """Run a command, by default from ``sys.argv``; bad input gives exit code 2 and one sentence on stderr."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="surrogateescape")  # file names need not be UTF-8
    with interrupts_heard(), _few_collections(), _own_warnings_as_sentences():
        _run(words)


def _freeze() -> None:
    if "duckdb" not in sys.modules:  # duckdb reports objects that are alive at exit as leaked
        gc.freeze()


@contextmanager
def _few_collections() -> Iterator[None]:
    """Avoid runs of the cycle collector over all modules, during imports and at exit."""
    atexit.register(_freeze)
    before = gc.get_threshold()
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


@contextmanager
def _own_warnings_as_sentences() -> Iterator[None]:
    """Print the package's own kinds of warnings as sentences; other warnings keep Python's form."""
    default = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *where: Any, **options: Any) -> None:
        if category.__module__.startswith("ltr_duel."):
            _say(str(message))
        else:
            default(message, category, *where, **options)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = default


def _run(words: tuple[str, ...]) -> None:
    out = sys.stdout
    try:
        if any("\0" in word for word in words):
            raise InputError("a null character cannot be part of a command")
        code = cli.main(
            words or None, prog_name="ltr-duel", standalone_mode=False
        )  # the return value of a command, or the code of its ctx.exit(code)
        sys.stdout.flush()
        sys.exit(code if isinstance(code, int) else 0)
    except _HELP_WANTED as error:
        error.show()
        sys.exit(error.exit_code)
    except click.ClickException as error:
        needed = error.param if isinstance(error, click.MissingParameter) else None
        _say(error.format_message() + (f" {needed.help}" if isinstance(needed, click.Option) and needed.help else ""))
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt):
        _end_interrupted()
    except BrokenPipeError:
        _end_unread()
    except (InputError, OSError, MemoryError) as error:
        complaint = None if isinstance(error, InputError) else plugins.plugin_complaint(error)
        _say(complaint or _sentence(error))
        end(2)
    except (Exception, SystemExit) as error:
        if sys.stdout is not out:  # click replaces stdout when the pipe is closed
            _end_unread()
        if was_interrupted() and not isinstance(error, SystemExit):
            _end_interrupted()
        complaint = plugins.plugin_complaint(error)
        if complaint is None:
            raise
        _say(complaint)
        end(2)


def _end_interrupted() -> NoReturn:
    code, word = interrupted()
    _say(word)
    end(code)


def _end_unread() -> NoReturn:
    """End quietly, as SIGPIPE ends other programs, because a reader such as ``head`` has closed the pipe."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # discards unflushed output
    end(_CLOSED_PIPE)


def _say(sentence: str) -> None:
    print(f"ltr-duel: {errors.in_one_line(sentence)}", file=sys.stderr)


def _sentence(error: Exception) -> str:
    """Return one sentence: the cause of an OSError or MemoryError, or the message of an InputError."""
    if isinstance(error, OSError):
        return f"{error.filename}: {files.cause(error)}" if error.filename else files.cause(error)
    if isinstance(error, MemoryError):
        return f"there is not enough memory ({str(error) or 'none is left'})"
    return str(error)


if __name__ == "__main__":
    main()
