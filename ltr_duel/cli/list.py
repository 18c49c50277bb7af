"""``ltr-duel list``: what there is of each kind: policies, methods, click models, rankers, corpora."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Callable
from typing import Any

import click

from ltr_duel import bandits, clicks, data, interleaving
from ltr_duel.cli import _options as options
from ltr_duel.cli._reading import RANKER_WORDS
from ltr_duel.cli._words import Command, listed_names
from ltr_duel.core import errors

_KINDS: dict[str, tuple[Callable[[], Any], str, str]] = {  # components, the fact that groups them, that of a line
    "policies": (lambda: bandits.POLICIES, "compares", "assumes"),
    "methods": (lambda: interleaving.METHODS, "compares", "list"),
    "clicks": (lambda: clicks.CLICK_MODELS, "", ""),
    "corpora": (lambda: data.CORPORA, "", ""),
}


@click.command(cls=Command)
@click.argument("kind", metavar="policies|methods|clicks|rankers|corpora", type=click.Choice([*_KINDS, "rankers"]))
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=listed_names)
@click.option("--bibtex", is_flag=True, help="Print only the works to cite, as BibTeX.")
@click.option("--long", "in_full", is_flag=True, help="Print all facts of each component.")
@options.plugin
def command(kind: str, names: tuple[str, ...], bibtex: bool, in_full: bool) -> None:
    """List the components of a kind, or describe the named ones.

    Parameters are written after the name of a component, for example rucb:alpha=1 or probabilistic:tau=1. The table of
    a click model contains the click and stop probabilities of each grade.
    """
    if kind == "rankers":
        for word, about in RANKER_WORDS.items():
            click.echo(f"{word:<15}{about}")
        return
    load, group, fact = _KINDS[kind]
    components = load()
    chosen = [components[name] for name in names] or list(components.values() if kind == "corpora" else components)
    width = min(shutil.get_terminal_size((100, 24)).columns, 120)
    if bibtex:
        click.echo("\n\n".join(dict.fromkeys(source.bibtex for component in chosen for source in component.sources)))
    elif group and not names and not in_full:
        _print_short(chosen, width, group, fact)
    else:
        for component in chosen:
            facts = component.facts()
            if kind == "corpora":
                facts["stored"] = "yes" if data.find_corpus(f"corpus-{component.name}") else "no"
                facts["to get it"] = component.obtain
            label = max(map(len, facts))
            click.echo(click.style(component.name, bold=True))
            for about, text in facts.items():
                head = f"  {about.ljust(label)}  "
                click.echo(textwrap.fill(text, width, initial_indent=head, subsequent_indent=" " * len(head)))
        if not names:
            click.echo(f"\n{len(chosen)} in all.")


def _print_short(chosen: list[Any], width: int, group: str, fact: str) -> None:
    """Print a line for each component, grouped by a fact."""
    label = max(len(component.name) for component in chosen)
    facts = {component.name: component.facts() for component in chosen}
    for value in dict.fromkeys(about[group] for about in facts.values()):
        click.echo(click.style(f"{group} {value}; {fact}:", bold=True))
        for name, about in facts.items():
            if about[group] == value:
                line = errors.in_one_line(f"  {name.ljust(label)}  {about[fact]}")
                click.echo(line if len(line) <= width else f"{line[: width - 3]}...")
    click.echo(f"\n{len(chosen)} in all; --long, or a name, prints every fact.")
