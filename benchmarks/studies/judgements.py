"""Count the judgements until the example examples/judgements names a winner, and compare with random pairs.

    python -m benchmarks.studies.judgements --picture docs/pairs_of_anything.png   # two minutes
    python -m benchmarks.studies.judgements --runs 2000 --policies double_thompson

The judge of each run prefers items with the probabilities of the published matrix ``arxiv``, whose best item is A.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from examples.judgements.judgements import Judgements
from ltr_duel.analysis import COLOURS, DASHES, add_legend, markdown_table, prepared_axes, save_figure
from ltr_duel.core import stream
from ltr_duel.preferences import PreferenceMatrix, arxiv

MOST = 200_000
TITLES = {"double_thompson": "chosen by the policy", "random": "drawn at random"}


def judged(matrix: PreferenceMatrix, policy: str, seed: int, batch: int) -> Judgements:
    """Return the judgements of a simulated judge until a winner is named, or of `MOST` pairs."""
    rng = stream(seed, "judge", policy)
    judgements = Judgements(matrix.names, policy=policy, seed=seed)
    while not judgements.winner() and len(judgements) < MOST:
        pairs = judgements.ask(batch)
        first, second = np.array([[matrix.names.index(name) for name in pair] for pair in pairs]).T
        wins = rng.random(batch) < matrix.p[first, second]
        judgements.tell((*pair, pair[0] if won else pair[1]) for pair, won in zip(pairs, wins, strict=True))
    return judgements


def studied(policy: str, runs: int, batch: int) -> pd.DataFrame:
    """Return for each run whether the winner is right, and the number of judgements."""
    matrix = arxiv()
    ended = [judged(matrix, policy, seed, batch) for seed in range(runs)]
    return pd.DataFrame(
        {
            "policy": policy,
            "right": [judgements.winner() == matrix.condorcet_winner for judgements in ended],
            "judgements": [len(judgements) for judgements in ended],
        }
    )


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each policy."""
    rows = []
    for policy, runs in table.groupby("policy", sort=False):
        low, median, high = np.percentile(runs.judgements, [10, 50, 90]).round(-2).astype(int)
        error = runs.judgements.std() / np.sqrt(len(runs))
        rows.append(
            {
                "pairs": TITLES.get(policy, policy),
                "runs": f"{len(runs):,}",
                "right winner": f"{runs.right.mean():.1%}",
                "judgements (mean)": f"{runs.judgements.mean():,.0f} ± {error:,.0f}",
                "median": f"{median:,}",
                "10% to 90%": f"{low:,} to {high:,}",
            }
        )
    return pd.DataFrame(rows)


def figure(table: pd.DataFrame) -> Axes:
    """Draw the share of runs that have named the winner against the number of judgements."""
    axes = prepared_axes(None, 7.2, 3.4)
    for style, (policy, runs) in zip(
        zip(COLOURS, DASHES, strict=True), table.groupby("policy", sort=False), strict=False
    ):
        counts, share = np.sort(runs.judgements), np.arange(1, len(runs) + 1) / len(runs)
        axes.step(counts, share, color=style[0], ls=style[1], where="post", label=TITLES.get(policy, policy))
    axes.set(xscale="log", xlabel="judgements", ylabel="share of runs that have\nnamed the winner", ylim=(0, 1.02))
    axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.set_xticks(ticks := [2_000, 5_000, 10_000, 20_000, 50_000, 100_000], [f"{count:,}" for count in ticks])
    axes.minorticks_off()
    add_legend(axes, title="pairs")
    return axes


def main() -> None:
    """Run the study and print its table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--batch", type=int, default=200)
    parser.add_argument("--policies", nargs="+", default=list(TITLES))
    parser.add_argument("--picture", type=Path)
    given = parser.parse_args()
    table = pd.concat([studied(policy, given.runs, given.batch) for policy in given.policies])
    print(markdown_table(summary(table)))
    if given.picture:
        save_figure(figure(table), given.picture)


if __name__ == "__main__":
    main()
