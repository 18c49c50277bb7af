"""Synthetic tidy tables of every shape that a figure draws."""

from __future__ import annotations

import numpy as np
import pandas as pd

ANYTIME = ("rucb:alpha=0.51", "mdb:alpha=0.5,beta=1.5", "rmed1", "merge_rucb:alpha=1.01")


def runs(
    problems=(("sixteen", 16), ("sixty-four", 64)), policies=ANYTIME, separate=(), runs=5, horizon=100_000, **columns
) -> pd.DataFrame:
    """Make regret that grows like the logarithm of t, at a rate by policy; separate policies have three horizons."""
    rng = np.random.default_rng(1)
    rows = []
    for study, (problem, rankers) in enumerate(problems, 1):
        for place, policy in enumerate([*policies, *separate]):
            horizons = (horizon // 100, horizon // 10, horizon) if policy in separate else (horizon,)
            for own in horizons:
                for repetition in range(runs):
                    luck = rng.lognormal(0, 0.3)
                    steps = np.unique(np.geomspace(1, own, 40).astype(int))
                    paid = luck * (place + 1) * rankers * np.log1p(steps / (10 * rankers))
                    correct = (steps > 30 * rankers * (place + 1) * luck).astype(float)
                    rows.append(
                        pd.DataFrame({"t": steps, "regret_average": paid, "correct": correct}).assign(
                            problem=problem,
                            rankers=rankers,
                            policy=policy,
                            horizon=own,
                            repetition=repetition,
                            recommended="0",
                            study=study,
                            source="published matrix" if study % 2 else "surrogate",
                        )
                    )
    return pd.concat(rows, ignore_index=True).assign(**columns)


def about(**more) -> dict:
    """Return the description of a reproduced figure."""
    figure = {
        "paper": "rucb", "number": "Figure 4", "title": "Regret and accuracy on the rankers of NP2004",
        "shows": "RUCB pays least.", "setting": "Three sets of rankers.", "notes": ["A note."], "kind": "runs",
    }  # fmt: skip
    sources = [{"problem": "sixty-four", "source": "surrogate", "note": "a synthetic corpus in place of NP2004"}]
    return {
        "name": "rucb_figure_4", "figure": figure, "scale": "quick", "sources": sources, "seconds": 12.3, "runs": 30,
        "horizon": 100_000, "machine": "a machine", "date": "2026-01-02", "versions": {"ltr_duel": "0.1.0"}, **more,
    }  # fmt: skip
