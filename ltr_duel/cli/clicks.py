"""``ltr-duel clicks``: the click models."""

from __future__ import annotations

import click

from ltr_duel.cli._options import plugin_option, print_catalogue
from ltr_duel.cli._words import click_model_names


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=click_model_names)
@click.option("--bibtex", is_flag=True, help="Print what to cite, instead.")
@plugin_option
def command(names: tuple[str, ...], bibtex: bool) -> None:
    """List the click models, or only those named: click and stop probabilities of each grade.

    Parameters are written after the name, for example navigational:position_bias=0.5.
    """
    from ltr_duel.clicks import CLICK_MODELS

    print_catalogue(CLICK_MODELS, names, bibtex=bibtex)
