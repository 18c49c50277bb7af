"""Click logs: coverage of intervals, false alarms, stopping times, and power."""

from __future__ import annotations

import numpy as np

from benchmarks.studies.timing import table
from ltr_duel.logs import Spread, plan_impressions
from tests.logs.sequences import boundary, compared, first_alarm
from tests.logs.test_coverage import coverage


def main() -> None:
    """Print the tables."""
    rows = []
    for users in (60, 300):
        for correlation in (0.0, 0.1, 0.2, 0.3):
            clustered, naive = coverage(correlation, users)
            rows.append([f"{users} users, correlation {correlation}", f"{clustered:.1%}", f"{naive:.1%}"])
    table("95 % intervals that contain the true value, of 2,000 logs", ["logs", "by user", "naive"], rows)
    limits = boundary(5000, 0.05)
    stops = np.concatenate([first_alarm(y, limits) for y in compared(10_000, 5000, 0)], axis=1)
    rows = [[name, f"{(stop <= 5000).mean():.2%}"] for name, stop in zip(("sequential", "z-tests"), stops, strict=True)]
    table("False alarms: 10,000 logs of identical rankers, looked at 5,000 times", ["test", "share"], rows)
    rows = []
    for effect in (0.2, 0.1, 0.05, 0.02):
        (plan,) = plan_impressions(Spread("a", "b", effect, 0.5))
        rows.append(
            [f"{effect}", f"{plan.fixed:,.0f}", f"{plan.sequential_mean:,.0f}", f"{plan.sequential_power:,.0f}"]
        )
    heads = ["effect", "fixed test", "sequential, in the mean", "sequential, power .8"]
    table("Impressions for power .8 at .95 (half of the impressions tie)", heads, rows)


if __name__ == "__main__":
    main()
