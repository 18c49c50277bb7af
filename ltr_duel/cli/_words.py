"""Help texts that group the options of a command, and completions of names in the shell.

To enable completions, run ``eval "$(_LTR_DUEL_COMPLETE=bash_source ltr-duel)"`` (or ``zsh_source``, ``fish_source``).
"""

from __future__ import annotations

import os
import pkgutil
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import click

import ltr_duel

Completion = Callable[[click.Context, click.Parameter, str], list[str]]

_READING = "How feature files are read"
_OPTIONS = {  # headings, and the names of their options
    _READING: "split fold queries dialect features first_id fill omitted labels unlabelled no_cache",
    "How a log is read": "exposures events source connect within format skip_bad",
    "Documents with equal scores": "ties tie_seed",
    "How it runs": "plugin plugins seed jobs overwrite explain quiet help_all help",
}
_HEADINGS = {name: heading for heading, names in _OPTIONS.items() for name in names.split()}


def flag(*names: str, help: str) -> Callable[..., Any]:
    """Return a flag for commands. `ltr_duel.cli._output.is_set` returns its value."""

    def store(context: click.Context, parameter: click.Parameter, value: bool) -> None:
        context.meta[str(parameter.name)] = value

    return click.option(*names, is_flag=True, is_eager=True, expose_value=False, callback=store, help=help)


def _print_help_all(context: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        context.meta["help_all"] = True
        click.echo(context.get_help())
        context.exit()


_OVERWRITE = flag("--overwrite", help="Replace existing results.")
_QUIET = flag("-q", "--quiet", help="Print no progress and no notes.")
_HELP_ALL = click.option(
    "--help-all", is_flag=True, is_eager=True, expose_value=False, callback=_print_help_all,
    help="Show this message with the options for reading feature files.",
)  # fmt: skip


class Command(click.Command):
    """A command whose help lists its own options first, and then the shared options in groups.

    Every command has --quiet. A command that must not replace earlier results has --overwrite, and a command that reads
    feature files has --help-all.
    """

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        if any(getattr(param.type, "refuses", False) for param in self.params):
            _OVERWRITE(self)
        if any(_HEADINGS.get(str(param.name)) == _READING for param in self.params):
            _HELP_ALL(self)
        _QUIET(self)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. With --quiet, it shows no progress."""
        if ctx.meta.get("quiet"):
            os.environ["LTR_DUEL_PROGRESS"] = "0"
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options under headings."""
        groups: dict[str, list[tuple[str, str]]] = {name: [] for name in ("Options", *_OPTIONS)}
        for option in self.get_params(ctx):
            record = option.get_help_record(ctx) if isinstance(option, click.Option) else None
            if record is not None:
                groups[_HEADINGS.get(str(option.name), "Options")].append(record)
        for heading, records in groups.items():
            if records:
                with formatter.section(heading):
                    if heading == _READING and not ctx.meta.get("help_all"):
                        names = " ".join(record[0].split()[0] for record in records)
                        formatter.write_text(f"{names}  (--help-all describes them)")
                    else:
                        formatter.write_dl(records)


class Commands(click.Group):
    """A group of commands whose help describes each command in a whole sentence."""

    command_class = Command
    groups: ClassVar[Mapping[str, Sequence[str]]] = {}

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the first sentence of each command's help."""
        for heading, names in (self.groups or {"Commands": self.list_commands(ctx)}).items():
            commands = [(name, self.get_command(ctx, name)) for name in names]
            with formatter.section(heading):
                formatter.write_dl([(name, item.get_short_help_str(1000)) for name, item in commands if item])


def declared_names(folder: str) -> list[str]:
    """Return the names that the modules of a folder register. Reading them as text loads no compiler."""
    names = []
    for file in (Path(ltr_duel.__file__).parent / folder).glob("[a-z]*.py"):
        for words in re.findall(r"^register\((.*?)\)$", file.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
            name = re.search(r'\bname="(\w+)"', words)
            names.append(name[1] if name else file.stem)
    return sorted(names)


def _completion(names: Callable[[], list[str]]) -> Completion:
    return lambda ctx, param, incomplete: [name for name in names() if name.startswith(incomplete)]


policy_names = _completion(lambda: declared_names("bandits/policies"))
method_names = _completion(lambda: declared_names("interleaving/methods"))
click_model_names = _completion(lambda: pkgutil.resolve_name("ltr_duel.clicks:CLICK_MODELS").names())
