"""How many comparisons until the winner is known at 95 %: stopping times against the smallest gap.

Run ``python -m experiments.stopping_times --out stopping_times.png``. Five arms; the best wins each duel with
probability 1/2 + gap, all others are ordered by the same gap. 100 runs of DKWT, SAVAGE and Beat the Mean (PAC), each
with delta = .05. The dashed lines have the rate 1 / gap^2.
"""

import argparse

import numpy as np

from ltr_duel.preferences import PreferenceMatrix
from ltr_duel.simulation import identification_table, identify

GAPS = [0.4, 0.2, 0.1, 0.05, 0.025]
POLICIES = ["dkwt:delta=0.05", "savage:delta=0.05", "beat_the_mean_pac:delta=0.05,epsilon=0.02"]


def chain(gap, arms=5):
    """Return a matrix in which each arm beats all later arms by the same gap."""
    return PreferenceMatrix(0.5 + gap * np.sign(np.subtract.outer(np.arange(arms), np.arange(arms)).T))


def main():
    """Draw the figure, and print the tables."""
    import matplotlib.pyplot as plt

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="stopping_times.png")
    parser.add_argument("--repetitions", type=int, default=100)
    given = parser.parse_args()
    tables = [identification_table(identify(chain(gap), POLICIES, repetitions=given.repetitions)) for gap in GAPS]
    figure, axis = plt.subplots(figsize=(7, 5), constrained_layout=True)
    for row, policy in enumerate(POLICIES):
        medians = np.array([table["median"][row] for table in tables])
        (line,) = axis.loglog(GAPS, medians, "o-", label=policy)
        axis.loglog(GAPS, medians[1] * (GAPS[1] / np.array(GAPS)) ** 2, "--", color=line.get_color(), alpha=0.5)
    axis.set(xlabel="gap of the best two arms", ylabel="comparisons until the policy stops (median)")
    axis.legend()
    figure.savefig(given.out, dpi=110)
    for gap, table in zip(GAPS, tables, strict=True):
        print(f"gap {gap}", table.to_string(index=False), sep="\n")


if __name__ == "__main__":
    main()
