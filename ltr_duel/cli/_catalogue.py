"""Lists of components: one line each, or all the facts of those that are named."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Sequence
from typing import Any

import click

from ltr_duel.core import components

long_option = click.option("--long", "in_full", is_flag=True, help="Print all the facts of each.")


def print_catalogue(
    registry: components.Registry[Any], names: Sequence[str], *, bibtex: bool, group: str = "", fact: str = ""
) -> None:
    """Print all components of a kind, or those named, as wide as the terminal allows: each with the facts of it.

    With ``bibtex``, what to cite instead. With a ``group``, all are listed in short: a line each with one ``fact``,
    under the values of the fact ``group``.
    """
    chosen = [registry[name] for name in names] or list(registry)
    if bibtex:
        click.echo("\n\n".join(dict.fromkeys(source.bibtex for component in chosen for source in component.sources)))
        return
    width = min(shutil.get_terminal_size((100, 24)).columns, 120)
    if group and not names:
        _print_short(chosen, width, group, fact)
        return
    for component in chosen:
        facts = component.facts()
        label = max(map(len, facts))
        click.echo(click.style(component.name, bold=True))
        for about, text in facts.items():
            head = f"  {about.ljust(label)}  "
            click.echo(textwrap.fill(text, width, initial_indent=head, subsequent_indent=" " * len(head)))
    if not names:
        click.echo(f"\n{len(chosen)} in all.")


def _print_short(chosen: Sequence[Any], width: int, group: str, fact: str) -> None:
    label = max(len(component.name) for component in chosen)
    facts = {component.name: component.facts() for component in chosen}
    for value in dict.fromkeys(one[group] for one in facts.values()):
        click.echo(click.style(f"{group} {value}; {fact}:", bold=True))
        for name, about in facts.items():
            if about[group] == value:
                line = f"  {name.ljust(label)}  {about[fact]}"
                click.echo(line if len(line) <= width else f"{line[: width - 3]}...")
    click.echo(f"\n{len(chosen)} in all; --long, or a name, prints every fact.")
