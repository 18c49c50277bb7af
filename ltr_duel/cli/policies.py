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
    from ltr_duel.bandits import POLICIES, make_known

    make_known(())
    chosen = [POLICIES[name] for name in names] or list(POLICIES)
    if bibtex:
        click.echo("\n\n".join(dict.fromkeys(policy.bibtex for policy in chosen)))
        return
    for policy in chosen:
        parameters = ", ".join(f"{k}={v}" for k, v in policy.params()._asdict().items())
        facts = {
            "compares": {"duel": "pairs", "slate": "sets"}[policy.feedback],
            "parameters": parameters or "none",
            "assumes": policy.assumes + (", the horizon" if policy.needs_horizon else ""),
            "regret": policy.regret,
            "step costs": policy.cost,
            "reference": policy.reference,
        }
        print_entry(policy.name, facts)
    if not names:
        click.echo(f"\n{len(chosen)} policies.")
