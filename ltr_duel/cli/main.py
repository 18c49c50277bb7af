"""The entry point ``ltr-duel``: finds the commands, and turns errors of the user's input into one sentence."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from typing import NoReturn

import click

import ltr_duel.cli
from ltr_duel.cli._options import end
from ltr_duel.cli._signals import interrupted, interrupts_heard, was_interrupted
from ltr_duel.core import InputError, plugin_complaint

# Raised for a group without a command, by versions of click that do not simply print the help.
_HELP_WANTED = getattr(click.exceptions, "NoArgsIsHelpError", ())


class CommandFolder(click.Group):
    """A group whose commands are the modules of this package."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the modules that hold a command."""
        modules = pkgutil.iter_modules(ltr_duel.cli.__path__)
        return sorted(m.name for m in modules if m.name != "main" and not m.name.startswith("_"))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        if cmd_name not in self.list_commands(ctx):
            return None
        module = importlib.import_module(f"ltr_duel.cli.{cmd_name}")
        command: click.Command = module.command
        return command


@click.command(cls=CommandFolder, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="ltr-duel")
def cli() -> None:
    """Find the best ranker of a learning-to-rank corpus by simulated clicks, and what finding it costs."""


def main(*words: str) -> None:
    """Run a command, by default that of the process; exit code 2 and one sentence on stderr for bad input."""
    with interrupts_heard():
        _run(words)


def _run(words: tuple[str, ...]) -> None:
    try:
        code = cli.main(
            words or None, prog_name="ltr-duel", standalone_mode=False
        )  # what a command returns, or its ctx.exit(code)
        sys.exit(code if isinstance(code, int) else 0)
    except _HELP_WANTED as error:
        error.show()
        sys.exit(error.exit_code)
    except click.ClickException as error:
        print(f"ltr-duel: {error.format_message()}", file=sys.stderr)
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt):
        _end_interrupted()
    except (InputError, FileNotFoundError, PermissionError, IsADirectoryError) as error:
        print(f"ltr-duel: {_sentence(error)}", file=sys.stderr)
        end(2)
    except (Exception, SystemExit) as error:
        if was_interrupted() and not isinstance(error, SystemExit):
            _end_interrupted()
        complaint = plugin_complaint(error)
        if complaint is None:
            raise
        print(f"ltr-duel: {complaint}", file=sys.stderr)
        end(2)


def _end_interrupted() -> NoReturn:
    code, word = interrupted()
    print(f"ltr-duel: {word}", file=sys.stderr)
    end(code)


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    return str(error)


if __name__ == "__main__":
    main()
