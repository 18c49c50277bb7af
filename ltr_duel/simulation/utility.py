"""A source of outcomes that compares arms by random utilities.

In each step, a utility is drawn for each compared arm. All pairs of a set are compared by the same utilities. The
*link* is the rule that compares the utilities u and v of two arms. With the link ``normal``, utilities are normal with
variance 1, and the higher one wins (Brost et al., CIKM 2016, Table 1). With the other links, utilities are 0 or 1,
and the first arm wins with a probability (Ailon et al.; Wolfenfeld):

linear ``(1 + u - v) / 2``; logistic ``1 / (1 + exp(v - u))``; natural ``u / (u + v)``, or 1/2 if both are 0
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from math import exp, sqrt
from typing import NamedTuple

import numpy as np
import scipy  # loads submodules on first use

from ltr_duel.bandits import duel, multiduel
from ltr_duel.core import (
    FloatVector,
    InputError,
    IntVector,
    SignMatrix,
    Streams,
    arguments,
    coin,
    draws,
    errors,
    implement,
    kernel,
    numbered,
    uniform,
)
from ltr_duel.preferences import PreferenceMatrix
from ltr_duel.simulation.oracle import OracleSource

LINKS = ("linear", "logistic", "natural", "normal")
NORMAL = LINKS.index("normal")
UTILITY_NUMBERS = 1  # version of the random utilities (`ltr_duel.core.digest`)


class UtilityOracle(NamedTuple):
    """The mean utility of each arm, and the link."""

    mean: FloatVector  # (K,)
    link: int  # position in `LINKS`
    utility: FloatVector  # (K,) scratch memory for the utilities that are drawn for a set


@kernel
def win_probability(u: float, v: float, link: int) -> float:
    """Return the probability that an arm with utility u beats an arm with utility v. The link must not be normal."""
    if link == 0:
        return 0.5 * (1.0 + u - v)
    if link == 1:
        return 1.0 / (1.0 + exp(v - u))
    return u / (u + v) if u + v > 0.0 else 0.5


@kernel
def first_wins(u: float, v: float, link: int, rng: np.random.Generator) -> int:
    """Compare two utilities: return 1 if the first wins, and -1 if the second wins."""
    if link == NORMAL:
        return 1 if u > v else -1
    return 1 if uniform(rng) < win_probability(u, v, link) else -1


@kernel
def draw_utility(oracle: UtilityOracle, arm: int, rng: np.random.Generator) -> float:
    """Draw a random utility for an arm."""
    if oracle.link == NORMAL:
        return oracle.mean[arm] + draws.normal_draw(rng)
    return 1.0 if uniform(rng) < oracle.mean[arm] else 0.0


def _duel(oracle: UtilityOracle, first: int, second: int, streams: Streams) -> int:
    u = draw_utility(oracle, first, streams.feedback)
    v = draw_utility(oracle, second, streams.feedback)
    return first_wins(u, v, oracle.link, streams.feedback)


def _multiduel(oracle: UtilityOracle, slate: IntVector, size: int, won: SignMatrix, streams: Streams) -> None:
    for a in range(size):
        oracle.utility[a] = draw_utility(oracle, slate[a], streams.feedback)
    for a in range(size):
        for b in range(a + 1, size):
            if oracle.link == NORMAL and slate[a] == slate[b]:
                won[a, b] = coin(streams.feedback)
            else:
                won[a, b] = first_wins(oracle.utility[a], oracle.utility[b], oracle.link, streams.feedback)


implement(duel, UtilityOracle, _duel)
implement(multiduel, UtilityOracle, _multiduel)


class FromUtilities(OracleSource):
    """A source of outcomes that compares arms by random utilities.

    Pass it to `simulate` together with its exact matrix: ``simulate(oracle, ..., preferences=oracle.preferences())``.

    Parameters
    ----------
    means : sequence of float, shape (K,)
        The mean utility of each arm; between 0 and 1 except with the link ``normal``.
    link : {"linear", "logistic", "natural", "normal"}
        How utilities decide which arm wins: see `ltr_duel.simulation.utility`.
    names : sequence of str, optional
        The names of the arms; by default "0", "1", ...

    Raises
    ------
    InputError
        If a mean is outside its range, or the link does not exist.

    Examples
    --------
    >>> FromUtilities([0.8, 0.3]).preferences().p[0, 1].round(3)
    np.float64(0.75)
    """

    def __init__(self, means: Sequence[float] | FloatVector, link: str = "linear", names: Sequence[str] = ()) -> None:
        errors.require_one_of("link", link, LINKS)
        self._means, self._link = np.ascontiguousarray(arguments.as_numbers("means", means)), LINKS.index(link)
        for mean in self._means:
            errors.require_between("a mean", mean, *((-1e9, 1e9) if self._link == NORMAL else (0, 1)))
        size = len(self._means)
        self.names = tuple(arguments.as_names("names", names)) or tuple(map(str, range(size)))
        if len(set(self.names)) != len(self.names) or len(self.names) != size:
            raise InputError(f"{size} arms need {size} different names")
        shape = b"" if self._link == NORMAL else str(self._means.shape).encode()
        digest = hashlib.sha256(self._means.tobytes() + shape).hexdigest()
        facts: dict[str, object] = {"oracle": "normal scores", "utilities": digest}
        if self._link != NORMAL:
            facts |= {"oracle": "utilities", "distribution": "bernoulli", "link": link, "common": False}
        self.provenance = numbered(facts, utilities=UTILITY_NUMBERS)

    def open(self) -> UtilityOracle:
        """Return the oracle of one run, with its own working memory."""
        return UtilityOracle(self._means, self._link, np.zeros(len(self._means)))

    def preferences(self) -> PreferenceMatrix:
        """Return the exact probabilities with which the arms beat each other."""
        if self._link == NORMAL:
            p = scipy.special.ndtr((self._means[:, None] - self._means) / sqrt(2))
        else:
            win = np.array([[win_probability(u, v, self._link) for v in (1.0, 0.0)] for u in (1.0, 0.0)])
            chances = np.stack([self._means, 1 - self._means], axis=1)
            p = chances @ win @ chances.T
        p = 0.5 * (p + 1 - p.T)  # corrects rounding errors
        np.fill_diagonal(p, 0.5)
        return PreferenceMatrix(p, self.names, provenance={"source": self.provenance})
