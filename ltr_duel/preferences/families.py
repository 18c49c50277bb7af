"""Families of preference matrices and of utilities, by name: what a spec can ask for at any size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

from ltr_duel.core import FloatVector, InputError
from ltr_duel.preferences import synthetic
from ltr_duel.preferences.matrix import PreferenceMatrix


class Family(NamedTuple):
    """Matrices made by one rule."""

    make: Callable[..., PreferenceMatrix]  # of the size, and what it takes by name
    takes: tuple[str, ...] = ()  # of gamma, gap and seed


FAMILIES: dict[str, Family] = {
    "equal_gaps": Family(synthetic.equal_gaps, ("gap",)),
    "logistic_normal": Family(synthetic.logistic_normal, ("seed",)),
    "strong_neighbours": Family(synthetic.strong_neighbours, ("gamma", "gap")),
    "arithmetic": Family(lambda size, gap=0.05: synthetic.arithmetic(size, gap), ("gap",)),
    "geometric": Family(lambda size, gap=0.4: synthetic.geometric(size, gap), ("gap",)),
    "cyclic": Family(synthetic.cyclic),
    "random": Family(synthetic.random_preferences, ("seed",)),
}

# Wolfenfeld's four; the last is drawn once for each size.
UTILITY_FAMILIES: dict[str, Callable[[int], FloatVector]] = {
    "one_strong_arm": synthetic.one_strong_arm,
    "linear_list": synthetic.linear_list,
    "close_arms": synthetic.close_arms,
    "uniform_arms": synthetic.uniform_arms,
}


def members(
    family: str, *, size: Sequence[int], gamma: Sequence[float] = (), gap: Sequence[float] = (), draws: int = 1
) -> Iterator[tuple[list[str], dict[str, Any], PreferenceMatrix]]:
    """Yield the matrices of a family: each size with each gamma, gap and draw.

    Before each matrix come the words that tell it from the others, and the same as facts. Draw n is made with seed
    n - 1, so more draws begin with the same ones.

    Raises `InputError` if the family does not vary in what is given.
    """
    make, takes = FAMILIES[family]
    given = {"gamma": bool(gamma), "gap": bool(gap), "seed": draws > 1}
    for name, wanted in given.items():
        if wanted and name not in takes:
            key = "draws" if name == "seed" else name
            raise InputError(f"{key}: the family '{family}' does not vary in it")
    for k, one_gamma, one_gap, seed in product(size, gamma or (None,), gap or (None,), range(draws)):
        varied = {"gamma": one_gamma, "gap": one_gap}
        facts: dict[str, Any] = {"size": k} | {name: one for name, one in varied.items() if one is not None}
        options = {name: one for name, one in facts.items() if name != "size"}
        words = [f"K={k}", *(f"{name}={one:g}" for name, one in options.items())]
        if "seed" in takes:
            facts["draw"], options["seed"] = seed + 1, seed
            words += [f"#{seed + 1}"] if draws > 1 else []
        yield words, facts, make(k, **options)
