"""Simulated users as a source of outcomes. Each step shows a combined list to a user, whose clicks decide who wins."""

from __future__ import annotations

from typing import NamedTuple

from ltr_duel.bandits import duel, multiduel, separate
from ltr_duel.clicks import ClickModel, click_model
from ltr_duel.core import (
    InputError,
    IntVector,
    SignMatrix,
    Streams,
    coin,
    errors,
    implement,
    numbered,
    random_below,
    vector,
)
from ltr_duel.interleaving import METHODS, Comparer, Comparison, Method, compare_pair, compare_slate, require_able
from ltr_duel.rankers import Rankings, require_rankings
from ltr_duel.simulation.oracle import OracleSource

USERS_NUMBERS = 1  # version of the random queries and coins (`ltr_duel.core.digest`)


@separate
class UsersOracle(NamedTuple):
    """The object with which the compiled code compares pairs and sets of rankers."""

    pairs: Comparison
    slates: Comparison
    half: int  # 1 if a tied pair of a set counts as half a win for both arms, 0 if a coin decides it


def _duel(oracle: UsersOracle, first: int, second: int, streams: Streams) -> int:
    query = random_below(oracle.pairs.lists.query_ptr.shape[0] - 1, streams.queries)
    outcome = vector.sign(compare_pair(oracle.pairs, query, first, second, streams.lists, streams.clicks), 0.0)
    if outcome == 0:
        outcome = coin(streams.feedback)
    return outcome


def _multiduel(oracle: UsersOracle, slate: IntVector, size: int, won: SignMatrix, streams: Streams) -> None:
    query = random_below(oracle.slates.lists.query_ptr.shape[0] - 1, streams.queries)
    compare_slate(oracle.slates, query, slate, size, won, streams.lists, streams.clicks)
    if oracle.half == 0:
        for a in range(size):
            for b in range(a + 1, size):
                if won[a, b] == 0:
                    won[a, b] = coin(streams.feedback)


implement(duel, UsersOracle, _duel)
implement(multiduel, UsersOracle, _multiduel)


class SimulatedUsers(OracleSource):
    """Simulated users who compare rankers. Pass this object to `simulate` instead of a matrix.

    For each comparison, a query is drawn at random. The rankings of the compared rankers are combined into one list. A
    user sees this list, and the user's clicks decide who wins.

    Parameters
    ----------
    rankings : Rankings
        The rankers, which are the arms.
    clicks : str or ClickModel
        How users click.
    pairs : str or Method
        The method that compares two rankers, with or without parameters.
    outcome : str
        How the method ``pairs`` turns clicks into an outcome; by default its first outcome rule. A coin decides ties.
    slates : str or Method
        The method that compares sets of rankers.
    ties : {"coin", "half"}
        The rule for two tied rankers of a set. By default, a coin decides. With "half", each ranker gets half a win.
    top : int
        The number of documents that a list shows.

    Raises
    ------
    InputError
        If a name is unknown, or if the click model and the corpus have different numbers of grades.

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
        top: int = 10,
    ) -> None:
        require_rankings(rankings)
        require_able(pairs, sets=False)
        require_able(slates, sets=True)
        if outcome == "expectation":
            raise InputError("outcome 'expectation' is a number, for estimating matrices; live duels require a winner")
        errors.require_one_of("rule for ties", ties, ("coin", "half"))
        model, method = click_model(clicks, rankings.grades), METHODS.configure(slates).component
        self._pairs = Comparer(rankings, model, pairs, outcome, top)
        self._slates = Comparer(rankings, model, slates, method.default_outcome(sets=True), top)
        self.names = rankings.names
        self.leaves_ties = ties == "half"
        self.compiled = self._pairs.compiled and self._slates.compiled
        facts = {
            "oracle": "live",
            **self._pairs.provenance,
            "slates": self._slates.provenance["method"],
            "slates_parameters": self._slates.provenance["method_parameters"],
            "slate_ties": ties,
            "weights": None,  # of the queries; part of the names of runs
            "names": list(rankings.names),
        }
        self.provenance = numbered(facts, slates=method.version, live=USERS_NUMBERS)

    def open(self) -> UsersOracle:
        """Return the oracle of one run, with its own working memory."""
        return UsersOracle(self._pairs.open(), self._slates.open(), int(self.leaves_ties))
