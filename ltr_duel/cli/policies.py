"""``ltr-duel policies``: list the policies."""

from __future__ import annotations

import click

from ltr_duel import bandits
from ltr_duel.cli import _options as options
from ltr_duel.cli._output import print_catalogue
from ltr_duel.cli._words import Command, policy_names


@click.command(cls=Command)
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=policy_names)
@click.option("--bibtex", is_flag=True, help="Print only the works to cite, as BibTeX.")
@options.long
@options.plugin
def command(names: tuple[str, ...], bibtex: bool, in_full: bool) -> None:
    """List the policies, or describe the named ones: what they assume, guarantee and cost.

    Parameters are written after the name, for example rucb:alpha=1.
    """
    print_catalogue(bandits.POLICIES, names, bibtex=bibtex, group="" if in_full else "compares", fact="assumes")
