"""Small tables of runs, as reproduced figures have them, and the parts of a reproduced figure around one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from ltr_duel.papers import Figure, Made

STEPS = np.array([1, 10, 50, 100])


def runs(policy: str, ends, *, problem="one", source="as in the paper", **facts) -> pd.DataFrame:
    """Return runs with these values of regret at step 100, and half of the regret at step 50."""
    parts = [
        pd.DataFrame({"t": STEPS, "regret_average": end * STEPS / 100, "correct": STEPS / 100 >= 0.5}).assign(
            repetition=repetition
        )
        for repetition, end in enumerate(ends)
    ]
    facts = {"problem": problem, "policy": policy, "horizon": 100, "source": source, "rankers": 5, "study": 1, **facts}
    return pd.concat(parts, ignore_index=True).assign(**facts)


def about(*, shortened=False, note="", **described) -> dict:
    """Return the description of a reproduced figure."""
    figure = {"paper": "rucb", "number": "Figure 4", "title": "Regret", "shows": "The paper: less.", "setting": "Ours.",
              "notes": ["A note."], "drawing": "regret", "options": {}, **described}  # fmt: skip
    return {
        "name": "mine", "figure": figure, "scale": "quick", "shortened": shortened, "seconds": 12.3, "runs": 30,
        "sources": [{"problem": "one", "source": "excerpt", "note": note}], "machine": "a machine",
        "date": "2026-01-02",
    }  # fmt: skip


def reproduced(frame: pd.DataFrame, *rows, **facts) -> tuple[list[Figure], dict[str, Made]]:
    """Return a declared figure with these rows, and the figure with this table, reproduced."""
    return [Figure("mine", about()["figure"], rows, [], [])], {"mine": Made(Path(), frame, about(**facts))}
