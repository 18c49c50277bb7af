"""Simulated users: each comparison draws a query, shows a list to a user and turns clicks into an outcome."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ltr_duel.bandits import duel, multiduel
from ltr_duel.clicks import ClickModel, click_model
from ltr_duel.core import (
    FloatVector,
    InputError,
    IntVector,
    SignMatrix,
    Streams,
    arguments,
    coin,
    errors,
    implement,
    kernel,
    numbered,
    random_below,
    uniform,
    vector,
)
from ltr_duel.interleaving import METHODS, Comparer, Comparison, Method, compare_pair, compare_slate, require_able
from ltr_duel.rankers import Rankings, require_rankings
from ltr_duel.simulation.oracle import OracleSource

TIE_RULES = ("coin", "half")
USERS_NUMBERS = 1  # version of the random queries and coins (`ltr_duel.core.digest`)


class UsersOracle(NamedTuple):
    """The data for comparing pairs and for comparing slates, each with separate scratch memory."""

    pairs: Comparison
    slates: Comparison
    cumulative: FloatVector  # (n_queries,) running sums of the query weights; empty for equal weights
    half: int  # 1 if tied pairs of a slate stay tied and count as half a win for both arms, else 0


@kernel
def draw_query(n_queries: int, cumulative: FloatVector, rng: np.random.Generator) -> int:
    """Draw a query with a probability proportional to its weight."""
    if cumulative.shape[0] == 0:
        return random_below(n_queries, rng)
    return vector.first_above(cumulative, uniform(rng) * cumulative[n_queries - 1])


def _duel(oracle: UsersOracle, first: int, second: int, streams: Streams) -> int:
    query = draw_query(oracle.pairs.lists.query_ptr.shape[0] - 1, oracle.cumulative, streams.queries)
    outcome = vector.sign(compare_pair(oracle.pairs, query, first, second, streams.lists, streams.clicks), 0.0)
    if outcome == 0:
        outcome = coin(streams.feedback)
    return outcome


def _multiduel(oracle: UsersOracle, slate: IntVector, size: int, won: SignMatrix, streams: Streams) -> None:
    query = draw_query(oracle.slates.lists.query_ptr.shape[0] - 1, oracle.cumulative, streams.queries)
    compare_slate(oracle.slates, query, slate, size, won, streams.lists, streams.clicks)
    if oracle.half == 0:
        for a in range(size):
            for b in range(a + 1, size):
                if won[a, b] == 0:
                    won[a, b] = coin(streams.feedback)


implement(duel, UsersOracle, _duel)
implement(multiduel, UsersOracle, _multiduel)


class SimulatedUsers(OracleSource):
    """Simulated users as an oracle: pass it to `simulate` instead of a matrix, or call it directly.

    Queries are drawn with replacement. There is one random stream for queries, one for lists, one for clicks and one
    for coins that break ties. Each call of `open` allocates separate scratch memory, so that threads share none.

    Parameters
    ----------
    rankings : Rankings
    clicks : str or ClickModel
    pairs : str or Method
        Method that compares two rankers, optionally with parameters.
    outcome : str
        Outcome rule of the method ``pairs``, which must return a winner or a tie; a fair coin breaks ties. The default
        is the first rule of the method.
    slates : str or Method
        Method that compares sets of rankers.
    ties : {"coin", "half"}
        The outcome of a tied pair of a slate: a fair coin, or half a win for both arms, which is less noisy.
    weights : array of float, shape (n_queries,), optional
        Relative frequency of each query; by default all are equally frequent.
    top : int
        Number of documents shown.

    Raises
    ------
    InputError
        If a name is unknown, or the click model and the corpus have different numbers of grades.

    Examples
    --------
    >>> from ltr_duel.data import make_corpus
    >>> from ltr_duel.rankers import feature_rankers
    >>> rankings = feature_rankers(make_corpus(queries=10, documents=8, features=3))
    >>> users = SimulatedUsers(rankings, "navigational", pairs="team_draft")
    >>> len(users.names), users.provenance["oracle"]
    (3, 'live')
    """

    def __init__(
        self,
        rankings: Rankings,
        clicks: str | ClickModel = "navigational",
        *,
        pairs: str | Method = "probabilistic",
        outcome: str = "",
        slates: str | Method = "sosm",
        ties: str = "coin",
        weights: ArrayLike | None = None,
        top: int = 10,
    ) -> None:
        require_rankings(rankings)
        require_able(pairs, sets=False)
        require_able(slates, sets=True)
        if outcome == "expectation":
            raise InputError("outcome 'expectation' is a number, for estimating matrices; live duels require a winner")
        errors.require_one_of("rule for ties", ties, TIE_RULES)
        model = click_model(clicks, rankings.grades)
        self._pairs = Comparer(rankings, model, pairs, outcome, top)
        rule = METHODS.configure(slates).component.default_outcome(sets=True)
        self._slates = Comparer(rankings, model, slates, rule, top)
        self._cumulative = _running_sums(weights, rankings.n_queries)
        self._half = int(ties == "half")
        self.names = rankings.names
        self.leaves_ties = ties == "half"
        self.compiled = self._pairs.compiled and self._slates.compiled
        about = {
            "oracle": "live",
            **self._pairs.provenance,
            "slates": self._slates.provenance["method"],
            "slates_parameters": self._slates.provenance["method_parameters"],
            "slate_ties": ties,
            "weights": None if weights is None else self._cumulative.tolist(),
            "names": list(rankings.names),
        }
        shown = self._slates.configured.component.numbers
        self.provenance = numbered(about, slates=shown, live=USERS_NUMBERS)

    def open(self) -> UsersOracle:
        """Return the data that kernels need, with separate scratch memory."""
        return UsersOracle(self._pairs.open(), self._slates.open(), self._cumulative, self._half)


def _running_sums(weights: ArrayLike | None, n_queries: int) -> FloatVector:
    if weights is None:
        return np.zeros(0)
    given = arguments.as_numbers("query weights", weights)
    if given.shape != (n_queries,) or not (given >= 0).all() or not 0 < given.sum() < np.inf:
        raise InputError(
            f"query weights must be {n_queries} numbers, none negative and not all zero, not of shape {given.shape}"
        )
    return np.cumsum(given)
