"""Live experiments: intervals from logs of a policy, users with several open pages, and the winner's probability.

    python -m benchmarks.studies.errors_live [--experiments 2000] [POLICY ...]

Outcomes are 1, -1 and 0 (30 % ties). Identical rankers have a mean of 0; the utilities of separated rankers are .1
apart. Users do not return. Each interval is for one pair alone, and every shown pair is counted.
"""

from __future__ import annotations

import argparse

import numpy as np

from benchmarks.studies.tables import table
from tests.log_studies.collected_logs import Case, calibration, coverage, share

POLICIES = ("rucb", "double_thompson", "winner_stays_strong")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("policies", nargs="*", metavar="POLICY", default=POLICIES, help=", ".join(POLICIES))
    parser.add_argument("--experiments", type=int, default=2000)
    given = parser.parse_args()
    number = given.experiments
    rows = []
    for policy in given.policies:
        for rankers, steps in ((5, 500), (10, 1000)):
            for separated in (False, True):
                held = coverage(Case(policy, rankers, steps, separated), number, compiled=True)
                once = np.ones(number, np.int64)
                label = f"{policy}, {rankers} rankers, {steps} steps, {'separated' if separated else 'identical'}"
                parts = (held.plain, held.pairs), (held.valid, held.pairs), (held.alarms, once)
                rows.append([label, *(_words(*share(*part)) for part in parts)])
                print(rows[-1], flush=True)
    head = ["policy", "truth in plain interval", "truth in given interval", "false alarms (Bonferroni)"]
    table(f"Logs collected by a policy: 95 % intervals of each shown pair, {number} experiments", head, rows)
    rows = [
        [f"{ties:.0%} ties", f"{given:.3f}", f"{right:.3f} ± {np.sqrt(right * (1 - right) / n):.3f}", f"{n:,}"]
        for ties in (0.0, 0.9)
        for given, right, n in calibration(20_000, ties, 200)
    ]
    table("The winner's probability, two rankers, 200 pages", ["pages", "given", "true", "experiments"], rows)


def _words(share: float, error: float) -> str:
    return {0.0: "none", 1.0: "all"}.get(share, f"{share:.3%} ± {error:.3%}")


if __name__ == "__main__":
    main()
