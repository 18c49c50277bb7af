"""``ltr-duel policies``: what there is to run."""

from __future__ import annotations

import click

from ltr_duel.cli._options import print_table


@click.command()
@click.option("--bibtex", is_flag=True, help="Print what to cite, instead of the table.")
def command(bibtex: bool) -> None:
    """List the policies: what they assume, guarantee and cost."""
    import pandas as pd

    from ltr_duel.bandits.plugins import make_known
    from ltr_duel.bandits.policy import POLICIES

    make_known(())

    if bibtex:
        click.echo("\n\n".join(dict.fromkeys(policy.bibtex for policy in POLICIES)))
        return
    print_table(
        pd.DataFrame(
            {
                "policy": policy.name,
                "compares": {"duel": "pairs", "slate": "sets"}[policy.feedback],
                "parameters": ", ".join(f"{k}={v}" for k, v in policy.params()._asdict().items()) or "-",
                "assumes": policy.assumes + (", the horizon" if policy.needs_horizon else ""),
                "regret": policy.regret,
                "a step costs": policy.cost,
                "reference": policy.reference,
            }
            for policy in POLICIES
        )
    )
