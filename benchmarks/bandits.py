"""Steps a second of the policies on one core, beside their reference implementations and the best published figures.

The problem is a Bradley-Terry matrix with evenly spaced utilities. Rates are past a warm-up and count only steps in
which the policy was asked: the loop does not jump. Policies that explore and then exploit are measured while they
explore, on utilities so close that exploration does not end. Seconds are those that the thread spent on the processor.
"""

from __future__ import annotations

import time

import numpy as np

from benchmarks.timing import short, table
from ltr_duel.bandits import POLICIES, Run
from tests.reference.bandits import boxes, elimination, mdb, rmed, rucb, thompson
from tests.reference.bandits.walk import walk, walk_slates

SIZES = (16, 64, 136, 500)
NOISE = "published figures: other libraries on a similar 2-core machine, C++ or Python; '-' where there is none"
PUBLISHED = {  # steps a second at the sizes above
    "rucb": (808e3, 70e3, 40.8e3, 6.9e3),
    "rmed1": (425e3, 32e3, 6.1e3, 210),
    "merge_rucb": (121e3, 34.5e3, 32.5e3, 23e3),
    "savage": (731e3, 28e3, 4.6e3, 580),
    "beat_the_mean": (3.7e6, 4.3e6, 1.05e6, 54e3),
    "interleaved_filter": (8.2e6, 11.4e6, 15.2e6, 14.7e6),
    "rcs": (59e3, 5.5e3, 1.2e3, 57),
    "double_thompson": (50e3, 3.8e3, 980, 51),
    "sparring": (4.8e6, 1.4e6, 660e3, 97e3),
    "multisbm": (8.2e6, 2.6e6, 1.3e6, 357e3),
    "doubler": (85e3, 33e3, 17e3, None),
    "mdb": (20e3, 8.5e3, 3.4e3, None),
}
REFERENCE = {
    "rucb": rucb.Rucb,
    "rmed1": rmed.Rmed1,
    "merge_rucb": thompson.MergeRucb,
    "savage": elimination.Savage,
    "beat_the_mean": elimination.BeatTheMean,
    "interleaved_filter": elimination.InterleavedFilter,
    "rcs": thompson.Rcs,
    "double_thompson": thompson.DoubleThompson,
    "sparring": boxes.Sparring,
    "multisbm": boxes.MultiSbm,
    "doubler": boxes.Doubler,
    "mdb": mdb.Mdb,
}
EXPLORING = {"savage", "beat_the_mean", "interleaved_filter", "merge_rucb"}  # measured on close utilities
LONG = 10**12  # the horizon that those which need one are told


def bradley_terry(n_arms: int, spread: float = 1.0) -> np.ndarray:
    utility = np.linspace(spread, 0.0, n_arms)
    return 1 / (1 + np.exp(utility - utility[:, None]))


def start(name: str, n_arms: int) -> Run:
    p = bradley_terry(n_arms, 1e-3 if name in EXPLORING else 1.0)
    return Run.on_matrix(POLICIES[name], p, horizon=LONG)


def advance(run: Run, steps: int) -> float:
    """Play so many steps; return the seconds they took."""
    began = time.thread_time()
    run.advance(run.t + steps, jump=False)
    return time.thread_time() - began


def measure(name: str, n_arms: int, seconds: float = 0.3, settle: int = 0) -> float:
    """Steps a second past a warm-up; best of three.

    The warm-up has a million steps, or as many as fit into a second, but never fewer than ``settle``.
    """
    run = start(name, n_arms)
    advance(run, 10)  # compiles
    guess = 2000 / advance(run, 2000)
    while run.t < max(settle, min(1_000_000, guess)):
        guess = 20_000 / advance(run, 20_000) if guess > 20_000 else 2000 / advance(run, 2000)
    steps = max(1000, int(guess * seconds))
    return steps / min(advance(run, steps) for _ in range(3))


def measure_reference(name: str, n_arms: int, seconds: float = 0.2) -> float:
    """Steps a second of the reference implementation, from the first step on."""
    policy = POLICIES[name]
    follow = walk if policy.feedback == "duel" else walk_slates
    steps = 10
    while True:
        began = time.thread_time()
        follow(REFERENCE[name], policy.params(), bradley_terry(n_arms), steps, 0)
        took = time.thread_time() - began
        if took > seconds / 4:
            return steps / took
        steps *= 4


def speed() -> None:
    rows = []
    for name, published in PUBLISHED.items():
        cells = [name]
        for n_arms, figure in zip(SIZES, published, strict=True):
            cells.append(short(measure(name, n_arms)))
            cells.append(short(figure) if figure else "-")
        cells.append(short(measure_reference(name, 16)))
        rows.append(cells)
    header = ["policy"]
    for n_arms in SIZES:
        header += [f"K = {n_arms}", "published"]
    table("Steps a second, nothing skipped", [*header, "reference, K = 16"], rows)
    print(f"  ({NOISE}; mdb's published figure includes a multileaving and clicks)")


def others() -> None:
    rows = [
        [name, *(short(measure(name, n_arms, 0.1)) for n_arms in SIZES)]
        for name in POLICIES.names()
        if name not in PUBLISHED and not name.startswith("random")
    ]
    table("The other policies, steps a second, nothing skipped", ["policy", *(f"K = {k}" for k in SIZES)], rows)


def skipping() -> None:
    """RUCB and MDB where the loop jumps: steps asked and steps in all."""
    rows = []
    for name, n_arms, steps in (("rucb", 16, 10**10), ("rmed1", 16, 10**10), ("mdb", 201, 10**6)):
        run = Run.on_matrix(POLICIES[name], bradley_terry(n_arms, 5.0))
        run.advance(1)
        began = time.thread_time()
        run.advance(steps)
        rows.append([name, str(n_arms), short(steps), short(run.decisions), f"{time.thread_time() - began:.2f} s"])
    table("With jumps", ["policy", "K", "steps", "asked", "time"], rows)


def growth() -> None:
    """Time of a step against K, and the exponent of the last doublings.

    Past the steps in which all pairs can meet once: before, nothing is known of most pairs, and RMED1 only counts.
    """
    sizes = (8, 16, 32, 64, 125, 250, 500, 1000, 2000)
    rows = []
    for name in ("rucb", "rmed1", "merge_rucb", "savage", "beat_the_mean", "interleaved_filter", "rcs", "sparring"):
        ns = [1e9 / measure(name, n_arms, 0.05, n_arms * n_arms // 2) for n_arms in sizes]
        exponent = np.polyfit(np.log(sizes[3:]), np.log(ns[3:]), 1)[0]
        rows.append([name, *(f"{value:.0f}" for value in ns), f"{exponent:.2f}"])
    table("Nanoseconds a step against K", ["policy", *(f"K = {k}" for k in sizes), "exponent from K = 64"], rows)


def main() -> None:
    speed()
    print()
    others()
    print()
    skipping()
    print()
    growth()
