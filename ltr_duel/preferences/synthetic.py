"""Make preference matrices from a rule, as in the experiments of several papers.

`synthetic_preferences` returns a matrix by its name, and `SYNTHETIC` lists the names. The functions in `FAMILIES` make
matrices of any size.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any, Literal

import numpy as np
import scipy  # submodules are loaded on first use
from numpy.typing import ArrayLike

from ltr_duel.core import FloatMatrix, FloatVector, InputError, IntMatrix, errors, stream
from ltr_duel.preferences.entries import require_room
from ltr_duel.preferences.matrix import PreferenceMatrix

Link = Literal["linear", "logistic", "normal"]
_LINKS: dict[str, Callable[[FloatMatrix], FloatMatrix]] = {
    "linear": lambda difference: (1 + difference) / 2,
    "logistic": lambda difference: scipy.special.expit(difference),
    "normal": lambda difference: scipy.special.ndtr(difference / np.sqrt(2)),
}


def _from_rule(size: int, rule: Callable[[IntMatrix, IntMatrix], ArrayLike], **settings: Any) -> PreferenceMatrix:
    """Return the matrix whose entries above the diagonal are ``rule(row, column)``."""
    require_room(size, 5)
    arms = np.arange(size)
    entries = np.asarray(rule(arms[:, None], arms[None, :]), np.float64)
    above = np.triu(np.broadcast_to(entries, (size, size)), 1)
    p = above + np.tril(1 - above.T, -1) + np.diag(np.full(size, 0.5))
    return PreferenceMatrix(p, provenance={"source": "synthetic", **settings})


def from_utilities(utilities: ArrayLike, link: Link = "logistic", **settings: Any) -> PreferenceMatrix:
    """Return the matrix of rankers with the given utilities.

    link: how the utilities u and v of two rankers determine the probability that the first ranker wins.
    settings: values to add to the ``provenance`` of the matrix.

    The linear link is ``(1 + u - v) / 2``. The logistic link (Bradley and Terry) is ``1 / (1 + exp(v - u))``. The
    normal link (Thurstone, case V) is the probability that a number from N(u, 1) is larger than one from N(v, 1).
    """
    errors.require_one_of("link", link, _LINKS)
    u = np.asarray(utilities, np.float64)
    if u.ndim != 1 or not np.isfinite(u).all():
        raise InputError("utilities must be a list of finite numbers")
    if link == "linear" and np.ptp(u) > 1:
        raise InputError(f"with the linear link, utilities must lie within 1 of each other, not {np.ptp(u):g}")
    return _from_rule(u.size, lambda i, j: _LINKS[link](u[i] - u[j]), link=link, utilities=u.tolist(), **settings)


def equal_gaps(size: int, gap: float = 0.1) -> PreferenceMatrix:
    """Return a matrix in which each arm beats every later arm by the same gap (Beat the Mean, Figure 1 top)."""
    errors.require_between("the gap", gap, 0, 0.5)
    return _from_rule(size, lambda i, j: 0.5 + gap, family="equal gaps", gap=gap)


def logistic_normal(size: int, seed: int = 0) -> PreferenceMatrix:
    """Return a matrix from random normal utilities, with the best arm first (Beat the Mean, Figure 1 bottom)."""
    utilities = np.sort(stream(seed, "utilities", size).standard_normal(size))[::-1]
    return from_utilities(utilities, "logistic", family="logistic of normal utilities", seed=seed)


def strong_neighbours(size: int, gamma: float = 1.3, gap: float = 0.1) -> PreferenceMatrix:
    """Return a matrix in which each arm except the best beats the next arm by ``gamma * gap``.

    In all other pairs, the better arm wins by ``gap``. The matrix breaks strong transitivity by the factor ``gamma``
    (Beat the Mean, Figure 2).
    """
    errors.require_between("gamma times the gap", gamma * gap, gap, 0.5)
    return _from_rule(
        size,
        lambda i, j: 0.5 + gap * np.where((i > 0) & (j == i + 1), gamma, 1),
        family="strong neighbours",
        gamma=gamma,
        gap=gap,
    )


def arithmetic(size: int = 8, gap: float = 0.05) -> PreferenceMatrix:
    """Return a matrix in which arm i beats a later arm j by ``gap * (j - i)`` (Komiyama et al., COLT 2015)."""
    errors.require_between(f"{gap:g} (the gap of neighbours) times {size - 1}", gap * (size - 1), 0, 0.5)
    return _from_rule(size, lambda i, j: 0.5 + gap * (j - i), family="arithmetic", gap=gap)


def geometric(size: int = 8, gap: float = 0.4) -> PreferenceMatrix:
    """Return a matrix in which arm i beats every later arm by ``gap / 2^i``."""
    errors.require_between("the gap", gap, 0, 0.5)
    return _from_rule(size, lambda i, j: 0.5 + gap * 0.5**i, family="geometric", gap=gap)


def cyclic(size: int = 4, best: float = 0.6, circle: float = 0.9) -> PreferenceMatrix:
    """Return a matrix in which arm 0 beats all other arms, which form a circle (Komiyama et al., COLT 2015).

    Each arm of the circle beats the arms in the next half of the circle. Two arms that are exactly opposite in the
    circle are equally good.
    """
    around = max(1, size - 1)

    def rule(i: IntMatrix, j: IntMatrix) -> FloatMatrix:
        ahead, behind = (j - i) % around, (i - j) % around
        in_circle = np.where(ahead < behind, circle, np.where(behind < ahead, 1 - circle, 0.5))
        return np.where(i == 0, best, in_circle)

    return _from_rule(size, rule, family="cyclic", best=best, circle=circle)


def random_preferences(size: int, *, condorcet: bool = True, seed: int = 0) -> PreferenceMatrix:
    """Return a matrix whose entries are drawn independently and uniformly from 0 to 1.

    With ``condorcet``, each entry x of arm 0 that is below 1/2 is replaced by 1 - x, so that arm 0 is the winner.
    Without ``condorcet``, the matrix has no Condorcet winner, and must have at least three arms.
    """
    if not condorcet:
        errors.require_between("the number of arms of a matrix without a Condorcet winner", size, 3)
    rng = stream(seed, "random preferences", size, int(condorcet))

    def rule(i: IntMatrix, j: IntMatrix) -> FloatMatrix:
        drawn = rng.random((size, size))
        return np.where((i == 0) & condorcet, np.maximum(drawn, 1 - drawn), drawn)

    while True:
        matrix = _from_rule(size, rule, family="random", condorcet=condorcet, seed=seed)
        if (matrix.condorcet_winner is not None) == condorcet:
            return matrix


# The four sets of Wolfenfeld's code; the last set ("Random") is sampled once for each size.
UTILITY_FAMILIES: dict[str, Callable[[int], FloatVector]] = {
    "one_strong_arm": lambda size: np.concatenate([[1.0], np.linspace(0, 0.5, size - 1)]),
    "linear_list": lambda size: np.linspace(0, 1, size),
    "close_arms": lambda size: np.concatenate([np.linspace(1, 0.99, 3), np.linspace(0.4, 0.5, size - 3)]),
    "uniform_arms": lambda size: stream(0, "uniform arms", size).random(size),
}

# The fifteen sets of Brost et al. (Multi-Dueling Bandits, 2016), Table 1.
UTILITY_SETS: dict[str, list[float]] = {
    **{f"{good}good{poor}poor": [0.8] + [0.7] * (good - 1) + [0.2] * poor for good, poor in (
        (1, 5), (1, 50), (1, 200), (2, 4), (11, 40), (41, 160), (3, 3), (21, 30), (81, 120),
    )},
    **{f"arith{size}": [0.8, *np.linspace(0.7, 0.2, size - 1).tolist()] for size in (6, 51, 201)},
    **{f"geom{size}": [0.8, *np.geomspace(0.7, 0.2, size - 1).tolist()] for size in (6, 51, 201)},
}  # fmt: skip

FAMILIES: dict[str, Callable[..., PreferenceMatrix]] = {
    "equal_gaps": equal_gaps,
    "logistic_normal": logistic_normal,
    "strong_neighbours": strong_neighbours,
    "arithmetic": arithmetic,
    "geometric": geometric,
    "cyclic": cyclic,
    "random": random_preferences,
}


_OF_FIFTY_ARMS = ("equal_gaps", "logistic_normal", "strong_neighbours")  # the size in Beat the Mean
SYNTHETIC = (*UTILITY_SETS, *UTILITY_FAMILIES, *(name for name in FAMILIES if name != "random"))


def synthetic_preferences(name: str) -> PreferenceMatrix:
    """Return a synthetic preference matrix by its name.

    Parameters
    ----------
    name : str
        The name of a single matrix, for example ``2good4poor``, or of a family, for example ``equal_gaps``. For a
        family, the result is a matrix of the default size.

    Returns
    -------
    PreferenceMatrix

    Raises
    ------
    InputError
        If the name does not exist.

    Examples
    --------
    >>> len(synthetic_preferences("1good5poor"))
    6
    """
    errors.require_one_of("synthetic preference matrix", name, SYNTHETIC)
    if name in UTILITY_SETS:
        return from_utilities(UTILITY_SETS[name], "normal", name=name)
    if name in UTILITY_FAMILIES:
        return from_utilities(UTILITY_FAMILIES[name](16), "linear", name=name)
    return FAMILIES[name](50) if name in _OF_FIFTY_ARMS else FAMILIES[name]()


def members(
    family: str, *, size: Sequence[int], gamma: Sequence[float] = (), gap: Sequence[float] = (), draws: int = 1
) -> Iterator[tuple[list[str], dict[str, Any], PreferenceMatrix]]:
    """Yield the matrices of a family, one for each combination of the parameters.

    Each matrix comes with a list of words to name it, for example ``["K=50", "gap=0.1"]``, and with a dictionary of the
    values in this combination.
    """
    make = FAMILIES[family]
    parameters = inspect.signature(make).parameters
    for key, parameter, varied in (("gamma", "gamma", gamma), ("gap", "gap", gap), ("draws", "seed", draws > 1)):
        if varied and parameter not in parameters:
            raise InputError(f"{key}: the family '{family}' does not have this parameter")
    for k, *values, seed in product(size, gamma or (None,), gap or (None,), range(draws)):
        options = {name: value for name, value in zip(("gamma", "gap"), values, strict=True) if value is not None}
        facts: dict[str, Any] = {"size": k, **options}
        words = [f"K={k}", *(f"{name}={value:g}" for name, value in options.items())]
        if "seed" in parameters:
            facts["draw"], options["seed"] = seed + 1, seed
            words += [f"#{seed + 1}"] if draws > 1 else []
        yield words, facts, make(k, **options)
