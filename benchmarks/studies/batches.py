"""The cost of batches: regret of policies that receive outcomes in batches, divided by regret without batches.

python -m benchmarks.studies.batches [--corpus FOLDER] [--matrix FILE] [--policy NAME ...] [--runs 10] [PART ...]

``policies``: batches of 100, 1,000 and 10,000 of 100,000 steps, on a matrix and with simulated users. ``percent``:
batches of one percent of 10,000 and of 100,000 steps. Without ``--corpus`` the users search a synthetic corpus.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ltr_duel.analysis import markdown_table
from ltr_duel.bandits import POLICIES
from ltr_duel.data import load_dataset, make_corpus
from ltr_duel.preferences import PreferenceMatrix, estimate_preferences, load_preferences, synthetic_preferences
from ltr_duel.rankers import feature_rankers
from ltr_duel.simulation import FromMatrix, SimulatedUsers, simulate

STEPS, BATCHES = 100_000, (100, 1000, 10_000)
HORIZONS = (10_000, 100_000)
CANDIDATES = ("double_thompson", "self_sparring", "thompson_sparring", "rucb", "versatile_db")


def cost(source: Any, matrix: PreferenceMatrix, policy: str, steps: int, batch: int, runs: int) -> tuple[float, float]:
    """Return mean regret and its standard error."""
    source = FromMatrix(matrix, sets="independent_coins") if source is None else source
    results = simulate(
        source, policy, horizon=steps, batch=batch, repetitions=runs, seed=1, preferences=matrix,
        checkpoints_per_decade=1,
    )  # fmt: skip
    kind = "average" if matrix.condorcet_winner else "copeland"
    last = [run.regret(matrix, kind)[-1] for run in results.runs]
    return float(np.mean(last)), float(np.std(last, ddof=1) / np.sqrt(runs))


def policies(
    matrix: PreferenceMatrix, users: tuple[SimulatedUsers, PreferenceMatrix], names: Sequence[str], runs: int
) -> None:
    """Print the tables of all policies, on a matrix and with users."""
    print("### policies\n")
    for title, source, measure in (("matrix", None, matrix), ("simulated users", *users)):
        rows = []
        for name in names:
            if source is None and POLICIES.configure(name).component.feedback == "slate":
                continue
            alone, error = cost(source, measure, name, STEPS, 1, runs)
            late = [cost(source, measure, name, STEPS, batch, runs)[0] / alone for batch in BATCHES]
            rows.append((name, f"{alone:,.0f} ± {error:,.0f}", *(f"{one:.2f}" for one in late)))
        heads = (title, "regret without batches", *(f"batches of {one:,}" for one in BATCHES))
        print(markdown_table(pd.DataFrame(rows, columns=heads)), "\n", flush=True)


def percent(
    matrix: PreferenceMatrix, users: tuple[SimulatedUsers, PreferenceMatrix], names: Sequence[str], runs: int
) -> None:
    """Print the table of batches of one percent of the horizon."""
    print("### percent\n")
    for title, source, measure in (("matrix", None, matrix), ("simulated users", *users)):
        rows = []
        for name in names:
            if source is None and POLICIES.configure(name).component.feedback == "slate":
                continue
            cells = []
            for steps in HORIZONS:
                alone, late = (cost(source, measure, name, steps, batch, runs)[0] for batch in (1, steps // 100))
                cells.append(f"{alone:,.0f}, {late / alone:.2f}")
            rows.append((name, *cells))
        heads = (title, *(f"{steps:,} steps: regret, multiple" for steps in HORIZONS))
        print(markdown_table(pd.DataFrame(rows, columns=heads)), "\n", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, help="a corpus whose features are the rankers")
    parser.add_argument("--rankers", type=int, default=20, help="number of features, evenly spaced")
    parser.add_argument("--matrix", type=Path, help="a preference matrix: .parquet, or .npy of probabilities")
    parser.add_argument("--policy", action="append", help="a policy; repeatable")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("part", nargs="*", default=["policies", "percent"], choices=["policies", "percent"])
    given = parser.parse_args()
    corpus = make_corpus(queries=200, documents=20, features=20) if given.corpus is None else load_dataset(given.corpus)
    rankings = feature_rankers(corpus)
    rankings = rankings[np.unique(np.linspace(0, len(rankings) - 1, given.rankers).astype(int)).tolist()]
    users = (
        SimulatedUsers(rankings, "navigational"),
        estimate_preferences(rankings, clicks="navigational", comparisons=20_000),
    )
    if given.matrix is None:
        matrix = synthetic_preferences("arithmetic")
    elif given.matrix.suffix == ".npy":
        matrix = PreferenceMatrix(np.load(given.matrix))
    else:
        matrix = load_preferences(given.matrix)
    if "policies" in given.part:
        policies(matrix, users, given.policy or POLICIES.names(), given.runs)
    if "percent" in given.part:
        percent(matrix, users, given.policy or CANDIDATES, given.runs)


if __name__ == "__main__":
    main()
