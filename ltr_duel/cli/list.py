"""``ltr-duel list``: which policies, methods, click models, rankers and corpora there are."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Callable
from typing import Any

import click

from ltr_duel import bandits, clicks, data, interleaving
from ltr_duel.cli import _options as options
from ltr_duel.cli._reading import RANKER_WORDS
from ltr_duel.cli._words import Command
from ltr_duel.core import errors

_KINDS: dict[str, tuple[Callable[[], Any], tuple[str, ...]]] = {  # components, and the facts in a line
    "policies": (lambda: bandits.POLICIES, ("compares", "assumes")),
    "methods": (lambda: interleaving.METHODS, ("compares", "list")),
    "clicks": (lambda: clicks.CLICK_MODELS, ()),
    "corpora": (lambda: data.CORPORA, ()),
}


@click.command(cls=Command)
@click.argument("kind", metavar="policies|methods|clicks|rankers|corpora", type=click.Choice([*_KINDS, "rankers"]))
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--bibtex", is_flag=True, help="Print only the works to cite, as BibTeX.")
@click.option("--long", "in_full", is_flag=True, help="Print all facts of each component.")
@options.plugin
def command(kind: str, names: tuple[str, ...], bibtex: bool, in_full: bool) -> None:
    """List all policies, methods, click models, rankers or corpora, or describe some of them.

    You can add parameters to a name (rucb:alpha=1, probabilistic:tau=1). For a click model, the table shows the
    probabilities of a click and of leaving for each grade.
    """
    if kind == "rankers":
        for word, meaning in RANKER_WORDS.items():
            click.echo(f"{word:<15}{meaning}")
        return
    load, short = _KINDS[kind]
    components = load()
    chosen = [components[name] for name in names] or list(components.values() if kind == "corpora" else components)
    width, indent = min(shutil.get_terminal_size((100, 24)).columns, 120), max(len(item.name) for item in chosen)
    if bibtex:
        click.echo("\n\n".join(dict.fromkeys(source.bibtex for item in chosen for source in item.sources)))
        return
    for item in chosen:
        facts = item.facts()
        if short and not names and not in_full:
            line = errors.in_one_line(f"{item.name.ljust(indent)}  {'; '.join(facts[fact] for fact in short)}")
            click.echo(line if len(line) <= width else f"{line[: width - 3]}...")
            continue
        if kind == "corpora":
            facts["stored"] = "yes" if data.find_corpus(f"corpus-{item.name}") else "no"
            facts["to get it"] = item.obtain
        click.echo(click.style(item.name, bold=True))
        label = max(map(len, facts))
        for fact, text in facts.items():
            head = f"  {fact.ljust(label)}  "
            click.echo(textwrap.fill(text, width, initial_indent=head, subsequent_indent=" " * len(head)))
    if not names:
        click.echo(f"\n{len(chosen)} in all" + "; --long, or a name, prints every fact" * bool(short and not in_full))
