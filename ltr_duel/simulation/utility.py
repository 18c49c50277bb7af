"""Oracles from utilities: a random utility is drawn for each arm, and arms are compared by their utilities.

In each step, one utility is drawn for each compared arm, so the outcomes of pairs that share an arm are correlated.
There are two families:

- `FromUtilities`: a link converts the utilities u, v of a pair to the probability that the first arm wins:
  ``(1 + u - v) / 2`` (linear), ``1 / (1 + exp(v - u))`` (logistic) or ``u / (u + v)`` (natural; 1/2 if both are 0).
  Utilities are Bernoulli, or drawn from a table of samples, as in the papers on utilities (Ailon et al.; Wolfenfeld).
- `NormalScores`: normal scores with unit variance; the higher score wins, ``p = Phi((mu_i - mu_j) / sqrt 2)``, as in
  Table 1 of the multi-dueling paper (`preferences.synthetic.UTILITY_SETS`).

Both families have exact preference matrices.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from math import exp, sqrt
from typing import NamedTuple

import numpy as np
import scipy  # loads submodules on first use
from numpy.typing import ArrayLike, NDArray

from ltr_duel.bandits import duel, multiduel
from ltr_duel.core import (
    FloatMatrix,
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
    random_below,
    uniform,
)
from ltr_duel.preferences import PreferenceMatrix
from ltr_duel.simulation.oracle import OracleSource

LINKS = ("linear", "logistic", "natural")
HIGHER = len(LINKS)  # no link: the higher of two normal scores wins
UTILITY_NUMBERS = 1  # version of the random utilities (`ltr_duel.core.numbering`)


class UtilityOracle(NamedTuple):
    """The distribution of the utilities (Bernoulli, samples or normal) and the link."""

    mean: FloatVector  # (K,) means of Bernoulli or normal utilities
    samples: FloatMatrix  # (K, N) samples of each arm's utility, drawn uniformly; (K, 0) if not used
    settings: IntVector  # (2,) number of the link; 1 if all arms of a step use the same column of samples, else 0
    utility: FloatVector  # (K,) scratch: the drawn utilities of the arms of the slate


@kernel
def first_wins(u: float, v: float, link: int, rng: np.random.Generator) -> int:
    """Compare two utilities: +1 if the first wins, else -1."""
    if link == HIGHER:
        return 1 if u > v else -1
    if link == 0:
        p = 0.5 * (1.0 + u - v)
    elif link == 1:
        p = 1.0 / (1.0 + exp(v - u))
    else:
        p = u / (u + v) if u + v > 0.0 else 0.5
    return 1 if uniform(rng) < p else -1


@kernel
def _draw_utility(oracle: UtilityOracle, arm: int, column: int, rng: np.random.Generator) -> float:
    """Draw the utility of an arm; ``column`` is used only if all arms of a step use the same column."""
    if oracle.settings[0] == HIGHER:
        return oracle.mean[arm] + draws.normal_draw(rng)
    if oracle.samples.shape[1] == 0:
        return 1.0 if uniform(rng) < oracle.mean[arm] else 0.0
    if oracle.settings[1] == 0:
        column = random_below(oracle.samples.shape[1], rng)
    return oracle.samples[arm, column]


@kernel
def _common_column(oracle: UtilityOracle, rng: np.random.Generator) -> int:
    return random_below(oracle.samples.shape[1], rng) if oracle.settings[1] else -1


def _duel(oracle: UtilityOracle, first: int, second: int, streams: Streams) -> int:
    column = _common_column(oracle, streams.feedback)
    u = _draw_utility(oracle, first, column, streams.feedback)
    v = _draw_utility(oracle, second, column, streams.feedback)
    return first_wins(u, v, oracle.settings[0], streams.feedback)


def _multiduel(oracle: UtilityOracle, slate: IntVector, size: int, won: SignMatrix, streams: Streams) -> None:
    column, link = _common_column(oracle, streams.feedback), oracle.settings[0]
    for a in range(size):
        oracle.utility[a] = _draw_utility(oracle, slate[a], column, streams.feedback)
    for a in range(size):
        for b in range(a + 1, size):
            if link == HIGHER and slate[a] == slate[b]:
                won[a, b] = coin(streams.feedback)
            else:
                won[a, b] = first_wins(oracle.utility[a], oracle.utility[b], link, streams.feedback)


implement(duel, UtilityOracle, _duel)
implement(multiduel, UtilityOracle, _multiduel)


class FromUtilities(OracleSource):
    """An oracle of random utilities and a link: pass it to `simulate`, with ``preferences=oracle.preferences()``.

    Parameters
    ----------
    means : sequence of float, shape (K,), optional
        Means of Bernoulli utilities, between 0 and 1.
    samples : array, shape (K, N), optional
        Samples of each arm's utility, given instead of means; one of them is drawn uniformly. Samples must be between 0
        and 1 for the linear link, and at least 0 for the natural link.
    link : {"linear", "logistic", "natural"}
    common : bool
        Whether all arms of a step use the same column of ``samples``, as if all rankers were shown one document.
    names : sequence of str, optional
        Names of the arms.

    Raises
    ------
    InputError
        If utilities are outside their range, or the link does not exist.

    Examples
    --------
    >>> FromUtilities([0.8, 0.3]).preferences().p[0, 1].round(3)
    np.float64(0.75)
    """

    def __init__(
        self,
        means: Sequence[float] | FloatVector | None = None,
        *,
        samples: ArrayLike | None = None,
        link: str = "linear",
        common: bool = False,
        names: Sequence[str] = (),
    ) -> None:
        errors.require_one_of("link", link, LINKS)
        if (means is None) == (samples is None):
            raise InputError("an oracle of utilities requires either the means of Bernoulli utilities or samples")
        table = arguments.as_numbers("samples", samples, 2) if means is None else arguments.as_numbers("means", means)
        low, high = {"linear": (0.0, 1.0), "logistic": (-np.inf, np.inf), "natural": (0.0, np.inf)}[link]
        if means is not None:
            low, high = 0.0, 1.0
        self._table = _checked(table, f"a utility under the {link} link" if means is None else "a mean", low, high)
        self._bernoulli, self._link, self._common = means is not None, link, common and means is None
        self.names = _names(names, len(table))
        digest = hashlib.sha256(self._table.tobytes() + str(self._table.shape).encode()).hexdigest()
        about = {
            "oracle": "utilities",
            "distribution": "bernoulli" if self._bernoulli else "samples",
            "utilities": digest,
            "link": link,
            "common": self._common,
        }
        self.provenance = numbered(about, utilities=UTILITY_NUMBERS)

    def open(self) -> UtilityOracle:
        """Return the oracle of one run, with separate scratch memory."""
        settings, scratch = np.array([LINKS.index(self._link), int(self._common)]), np.zeros(len(self._table))
        if self._bernoulli:
            return UtilityOracle(self._table, _no_samples(self._table), settings, scratch)
        return UtilityOracle(np.zeros(0), self._table, settings, scratch)

    def preferences(self) -> PreferenceMatrix:
        """Return the exact preference matrix."""
        if self._bernoulli:
            win = _link(np.array([1.0, 0.0])[:, None], np.array([1.0, 0.0])[None, :], self._link)
            chances = np.stack([self._table, 1 - self._table], axis=1)
            p = chances @ win @ chances.T
        else:
            p = np.array([[self._pair(u, v) for v in self._table] for u in self._table])
        p = 0.5 * (p + 1 - p.T)  # corrects rounding errors
        np.fill_diagonal(p, 0.5)
        return PreferenceMatrix(p, self.names, provenance={"source": self.provenance})

    def _pair(self, u: FloatVector, v: FloatVector) -> float:
        if self._common:
            return float(_link(u, v, self._link).mean())
        return float(_link(u[:, None], v[None, :], self._link).mean())


class NormalScores(OracleSource):
    """The oracle of the multi-dueling paper: a normal score is drawn for each compared arm, and the higher score wins.

    Parameters
    ----------
    means : sequence of float
        Mean scores; the standard deviation is 1.
    names : sequence of str, optional
        Names of the arms.

    Raises
    ------
    InputError
        If a mean is not finite.

    Examples
    --------
    >>> NormalScores([1.0, 1.0]).preferences().p.tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """

    def __init__(self, means: Sequence[float] | FloatVector, names: Sequence[str] = ()) -> None:
        self._means = _checked(arguments.as_numbers("means", means), "a mean", -np.inf, np.inf)
        self.names = _names(names, len(self._means))
        digest = hashlib.sha256(self._means.tobytes()).hexdigest()
        about = {"oracle": "normal scores", "utilities": digest}
        self.provenance = numbered(about, utilities=UTILITY_NUMBERS)

    def open(self) -> UtilityOracle:
        """Return the oracle of one run, with separate scratch memory."""
        scratch = np.zeros(len(self._means))
        return UtilityOracle(self._means, _no_samples(self._means), np.array([HIGHER, 0]), scratch)

    def preferences(self) -> PreferenceMatrix:
        """Return the exact preference matrix, Phi((mu_i - mu_j) / sqrt 2)."""
        p = scipy.special.ndtr((self._means[:, None] - self._means) / sqrt(2))
        p = 0.5 * (p + 1 - p.T)
        return PreferenceMatrix(p, self.names, provenance={"source": self.provenance})


def _no_samples(means: FloatVector) -> FloatMatrix:
    return np.zeros((len(means), 0))


def _names(given: Sequence[str], size: int) -> tuple[str, ...]:
    names = tuple(arguments.as_names("names", given)) or tuple(str(k) for k in range(size))
    if len(set(names)) != len(names) or len(names) != size:
        raise InputError(f"{size} arms need {size} different names")
    return names


def _link(u: NDArray[np.float64], v: NDArray[np.float64], link: str) -> NDArray[np.float64]:
    """Return the probability that u wins."""
    if link == "linear":
        return 0.5 * (1.0 + u - v)
    if link == "logistic":
        return np.asarray(scipy.special.expit(u - v))
    both = u + v
    return np.where(both > 0, u / np.where(both > 0, both, 1.0), 0.5)


def _checked(values: NDArray[np.float64], what: str, low: float = 0.0, high: float = 1.0) -> NDArray[np.float64]:
    bad = values[~(np.isfinite(values) & (values >= low) & (values <= high))]
    if bad.size:
        legal = (
            "finite" if low == -np.inf else f"at least {low:g}" if high == np.inf else f"between {low:g} and {high:g}"
        )
        raise InputError(f"{what} must be {legal}, not {bad[0]}")
    return np.ascontiguousarray(values)
