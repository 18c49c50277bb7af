"""``ltr-duel policies``: what there is to run."""

from __future__ import annotations

import click

from ltr_duel.cli._options import print_entry


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--bibtex", is_flag=True, help="Print what to cite, instead.")
def command(names: tuple[str, ...], bibtex: bool) -> None:
    """List the policies, or only those named: what they assume, guarantee and cost.

    Parameters are written after the name, for example rucb:alpha=1.
    """
    from ltr_duel.bandits import POLICIES

    chosen = [POLICIES[name] for name in names] or list(POLICIES)
    if bibtex:
        click.echo("\n\n".join(dict.fromkeys(one.bibtex for policy in chosen for one in policy.sources)))
        return
    for policy in chosen:
        print_entry(policy.name, policy.facts())
    if not names:
        click.echo(f"\n{len(chosen)} policies.")
