"""Time and memory of a step by the number of rankers K, from the first step.

The length of a run is multiplied by ten, up to 100,000 steps, and the run is then repeated, until the measurement takes
half a second. Only steps in which the policy decides are counted, because other steps take no time. The fixed time of
a run in `simulate` is no part of a step, so the time of runs of one step is subtracted. There are few checkpoints,
because some policies look at all pairs at each checkpoint.
"""

from __future__ import annotations

from functools import partial

from benchmarks.published import kind, matrix
from benchmarks.row import Cost, Row, timed

POLICIES = ("merge_rucb", "mdb", "rucb", "rmed1", "double_thompson", "merge_dts")
SIZES = (6, 30, 136, 500, 2_000, 10_000)
PLANS = ((10, 1), (100, 1), (1_000, 1), (10_000, 1), (100_000, 1), (100_000, 20))  # steps, runs
_ENOUGH = 0.5


def rows() -> list[Row]:
    """Return a row for each policy and size."""
    return [
        Row(
            f"{policy}-{size}",
            f'simulate(matrix, "{policy}", horizon=T, repetitions=1, jobs=1, checkpoints_per_decade=1)',
            0,
            "steps",
            partial(prepare, policy, size),
            {"policy": policy, "K": size, "matrix": kind(size)},
            when="asked" if size == SIZES[-1] else "quick" if policy == "rucb" and size <= 30 else "usual",
            tries=1,
        )
        for policy in POLICIES
        for size in SIZES
    ]


def prepare(policy: str, size: int):
    """Compile."""
    from ltr_duel import simulate
    from ltr_duel.simulation import FromMatrix

    p, asked = FromMatrix(matrix(size), sets="independent_coins"), [0]

    def run(horizon: int, repetitions: int) -> None:
        runs = simulate(p, policy, horizon=horizon, repetitions=repetitions, jobs=1, checkpoints_per_decade=1).runs
        asked[0] = sum(one.decisions for one in runs)

    run(1, 1)

    def work() -> Cost:
        for horizon, repetitions in PLANS:
            nothing = timed(partial(run, 1, repetitions)).cpu
            cost = timed(partial(run, horizon, repetitions))
            spent, steps = max(cost.cpu - nothing, 1e-9), asked[0] - repetitions
            if spent > _ENOUGH:
                break
        return Cost(
            cost.wall, spent, cost.peak, steps, {"T": horizon, "runs": repetitions, "once": nothing / repetitions}
        )

    return work
