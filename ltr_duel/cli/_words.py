"""Help texts with grouped options, suggestions for misspelt commands, and completions in the shell.

``eval "$(_LTR_DUEL_COMPLETE=bash_source ltr-duel)"`` (or ``zsh_source``, ``fish_source``) enables completions.
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

import ltr_duel
from ltr_duel.core import errors

Completion = Callable[[click.Context, click.Parameter, str], list[str]]


_READING = "How feature files are read"
_HEADINGS = {
    **dict.fromkeys(
        ("split", "fold", "queries", "dialect", "features", "first_id", "fill", "omitted", "labels",
         "unlabelled", "no_cache"), _READING,
    ),
    **dict.fromkeys(
        ("exposures", "events", "source", "connect", "within", "kind", "skip_bad"), "How a log is read"
    ),
    **dict.fromkeys(("ties", "tie_seed"), "Documents with equal scores"),
    **dict.fromkeys(("plugin", "plugins", "seed", "jobs", "wide", "help_all", "help"), "How it runs"),
}  # fmt: skip


_OVERWRITE = click.Option(
    ["--overwrite"], is_flag=True, is_eager=True, expose_value=False, help="Replace existing results.",
    callback=lambda context, _, given: context.meta.update(overwrite=given),
)  # fmt: skip


def _print_help_all(context: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        context.meta["help_all"] = True
        click.echo(context.get_help())
        context.exit()


_HELP_ALL = click.Option(
    ["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=_print_help_all,
    help="Show this message with the options for reading feature files.",
)  # fmt: skip


class Command(click.Command):
    """A command whose help lists its specific options first, and then the shared options, grouped by purpose.

    If an output path refuses existing results (`ltr_duel.cli._options.Place`), the command has the option --overwrite.
    """

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        if any(getattr(param.type, "refuses", False) for param in self.params):
            self.params.append(_OVERWRITE)
        if any(_HEADINGS.get(str(param.name)) == _READING for param in self.params):
            self.params.append(_HELP_ALL)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options under headings."""
        groups: dict[str, list[tuple[str, str]]] = {"Options": [], **{name: [] for name in _HEADINGS.values()}}
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
    """A group that suggests the nearest command for a misspelt one, and describes each command in a whole sentence."""

    command_class = Command
    groups: Mapping[str, Sequence[str]] = {}

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the first sentence of each command."""
        for heading, names in (self.groups or {"Commands": self.list_commands(ctx)}).items():
            commands = [(name, self.get_command(ctx, name)) for name in names]
            with formatter.section(heading):
                formatter.write_dl([(name, one.get_short_help_str(1000)) for name, one in commands if one is not None])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the first word names."""
        wanted = args[0]
        if not ctx.resilient_parsing and not wanted.startswith("-") and self.get_command(ctx, wanted) is None:
            raise errors.unknown_name("command", wanted, self.list_commands(ctx))
        return super().resolve_command(ctx, args)


def declared_names(folder: str) -> list[str]:
    """Return the names that the modules of a folder register, from their text: importing them loads the compiler."""
    names = []
    for file in (Path(ltr_duel.__file__).parent / folder).glob("[a-z]*.py"):
        for words in re.findall(r"^register\((.*?)\)$", file.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
            given = re.search(r'\bname="(\w+)"', words)
            names.append(given[1] if given else file.stem)
    return sorted(names)


def _completion(names: Callable[[], list[str]]) -> Completion:
    """Return a function that completes names; in a list separated by commas, the last name is completed."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
        before, comma, begun = incomplete.rpartition(",")
        return [before + comma + name for name in names() if name.startswith(begun)]

    return complete


policy_names = _completion(lambda: declared_names("bandits/policies"))
method_names = _completion(lambda: declared_names("interleaving/methods"))
click_model_names = _completion(lambda: pkgutil.resolve_name("ltr_duel.clicks:CLICK_MODELS").names())
_LISTED = {"policies": policy_names, "methods": method_names, "clicks": click_model_names}


def listed_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete a name of the kind that ``list`` was given."""
    complete = _LISTED.get(str(ctx.params.get("kind")))
    return complete(ctx, param, incomplete) if complete else []
