"""``ltr-duel methods``: list the methods of comparing rankers."""

from __future__ import annotations

import click

from ltr_duel import interleaving
from ltr_duel.cli import _options as options
from ltr_duel.cli._output import print_catalogue
from ltr_duel.cli._words import Command, method_names


@click.command(cls=Command)
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=method_names)
@click.option("--bibtex", is_flag=True, help="Print only the works to cite, as BibTeX.")
@options.long
@options.plugin
def command(names: tuple[str, ...], bibtex: bool, in_full: bool) -> None:
    """List the comparison methods, or describe the named ones: what they compare, require and cost.

    Parameters are written after the name, for example probabilistic:tau=1. The first outcome rule is the default, but
    simulations use marginal_bernoulli for probabilistic.
    """
    print_catalogue(interleaving.METHODS, names, bibtex=bibtex, group="" if in_full else "compares", fact="list")
