"""Policies: `simulate` on a matrix, from the first step."""

from __future__ import annotations

from functools import partial

from benchmarks.published import kind, matrix
from benchmarks.row import Row

MAIN = (
    "rucb", "rmed1", "double_thompson", "merge_dts", "merge_rucb", "ecw_rmed",
    "thompson_sparring", "self_sparring", "ccb", "rcs", "savage", "beat_the_mean", "interleaved_filter", "sparring",
    "multisbm", "mdb",
)  # fmt: skip
LEFT_OUT = (  # baselines, and variants that cost about as much as the policy itself
    "beat_the_mean_pac", "improved_doubler", "monitored_double_thompson", "monitored_rucb", "random", "random_slate",
    "rmed2fh", "thompson_doubler", "winner_stays",
)  # fmt: skip
LONG = ("rucb", "rmed1", "double_thompson", "merge_dts", "merge_rucb", "rcs", "savage")
LARGE = (*LONG, "sparring", "multisbm", "self_sparring", "mdb", "beat_the_mean", "interleaved_filter")
QUICK = ("rucb-64-1e5", "double_thompson-64-1e5")
SIZES = (64, 136, 500)


def rows() -> list[Row]:
    """Return the rows: most policies with 64 arms, fewer with 136 and 500 arms, some for a million steps."""
    from ltr_duel.bandits import POLICIES

    others = sorted(name for name in POLICIES.names() if name not in (*MAIN, *LEFT_OUT))
    made = []
    for name in (*MAIN, *others):
        smaller = ""
        for size in SIZES[: 1 + (name in MAIN) + (name in LARGE)]:
            made.append(row(name, size, 100_000, smaller))
            smaller = made[-1].name
            if name in LONG:
                made.append(row(name, size, 1_000_000, smaller))
    return made


def row(policy: str, size: int, horizon: int, after: str) -> Row:
    """Return the row of one policy, one matrix, and one horizon."""
    name = f"{policy}-{size}-1e{len(str(horizon)) - 1}"
    return Row(
        name,
        f'simulate(matrix, "{policy}", horizon={horizon}, repetitions=1, jobs=1)',
        horizon,
        "steps",
        partial(prepare, policy, size, horizon),
        {"policy": policy, "K": size, "T": horizon, "matrix": kind(size)},
        when="quick" if name in QUICK else "usual",
        after=after,
    )


def prepare(policy: str, size: int, horizon: int):
    """Compile, and compute the properties of the matrix that every simulation needs."""
    from ltr_duel import simulate
    from ltr_duel.simulation import FromMatrix

    p = FromMatrix(matrix(size), sets="independent_coins")
    simulate(p, policy, horizon=10, repetitions=1, jobs=1)
    return lambda: simulate(p, policy, horizon=horizon, repetitions=1, jobs=1)
