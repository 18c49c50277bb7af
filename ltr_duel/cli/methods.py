"""``ltr-duel methods``: the ways of comparing rankers."""

from __future__ import annotations

import click

from ltr_duel.cli._options import print_entry


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
def command(names: tuple[str, ...]) -> None:
    """List the comparison methods, or only those named: what they compare, need and cost.

    Parameters are written after the name, for example probabilistic:tau=1. The first outcome rule is the default.
    """
    from ltr_duel.interleaving import METHODS

    for method in [METHODS[name] for name in names] or list(METHODS):
        facts = {
            "compares": " and ".join(word for word, able in (("pairs", method.pairs), ("sets", method.slates)) if able),
            "parameters": ", ".join(f"{k}={v}" for k, v in method.params()._asdict().items()) or "none",
            "outcome rules": ", ".join(method.outcomes),
            "needs": method.needs,
            "costs": method.cost or "not stated",
            "reference": method.reference,
        }
        print_entry(method.name, facts)
