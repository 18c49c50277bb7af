"""``ltr-duel methods``: the ways of comparing rankers."""

from __future__ import annotations

import click

from ltr_duel.cli._options import print_table


@click.command()
def command() -> None:
    """List the comparison methods: what they compare, need and cost.

    Parameters are written after the name, for example probabilistic:tau=1. The first outcome rule is the default.
    """
    import pandas as pd

    from ltr_duel.interleaving.method import METHODS

    print_table(
        pd.DataFrame(
            {
                "method": method.name,
                "compares": " and ".join(
                    word for word, able in (("pairs", method.pairs), ("sets", method.slates)) if able
                ),
                "parameters": ", ".join(f"{k}={v}" for k, v in method.params()._asdict().items()) or "-",
                "outcome rules": ", ".join(method.outcomes),
                "needs": method.needs,
                "a comparison costs": method.cost or "-",
                "reference": method.reference,
            }
            for method in METHODS
        )
    )
