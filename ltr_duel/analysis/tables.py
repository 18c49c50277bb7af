"""Tables for people: what each policy paid."""

from __future__ import annotations

import math

import pandas as pd

from ltr_duel.simulation.result import Results


def policies_table(results: Results) -> pd.DataFrame:
    """Return one row for each policy, as text: regret at the horizon, and how soon the winner was settled on."""
    frame = results.final()
    decided = bool(results.matrix.condorcet_winner)
    table = pd.DataFrame({"policy": frame["policy"]})
    column = "regret_average" if decided else "regret_copeland"
    table["regret" if decided else "Copeland regret"] = [f"{value:,.1f}" for value in frame[column]]
    if decided:
        table["runs that name the winner"] = [f"{value:.0%}" for value in frame["accuracy"]]
        table["steps until it is settled (median)"] = [
            f"{value:,.0f}" if math.isfinite(value) else "not within the horizon" for value in frame["steps_to_winner"]
        ]
    return table
