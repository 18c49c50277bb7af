"""The live oracle: each comparison is a query, a shown list, a user who clicks, and the credit for the clicks."""

from __future__ import annotations

from typing import Any, NamedTuple

from ltr_duel.clicks.model import ClickModel, click_model
from ltr_duel.core.arrays import IntVector, SignMatrix
from ltr_duel.core.errors import InputError
from ltr_duel.core.jit import implement
from ltr_duel.core.random import Streams, coin, random_below
from ltr_duel.interleaving.comparison import METHODS, Comparer, Comparison, compare_pair, compare_slate
from ltr_duel.rankers.rankings import Rankings
from ltr_duel.simulation.oracle import duel, multiduel


class LiveOracle(NamedTuple):
    """One comparison for pairs, one for slates; both with scratch of their own."""

    pairs: Comparison
    slates: Comparison


def _duel(oracle: LiveOracle, first: int, second: int, streams: Streams) -> int:
    query = random_below(oracle.pairs.lists.query_ptr.shape[0] - 1, streams.queries)
    outcome = compare_pair(oracle.pairs, query, first, second, streams.feedback, streams.feedback)
    if outcome == 0.0:
        return coin(streams.feedback)
    return 1 if outcome > 0.0 else -1


def _multiduel(oracle: LiveOracle, slate: IntVector, size: int, won: SignMatrix, streams: Streams) -> None:
    query = random_below(oracle.slates.lists.query_ptr.shape[0] - 1, streams.queries)
    compare_slate(oracle.slates, query, slate, size, won, streams.feedback, streams.feedback)
    for a in range(size):
        for b in range(a + 1, size):
            if won[a, b] == 0:
                won[a, b] = coin(streams.feedback)


implement(duel, LiveOracle, _duel)
implement(multiduel, LiveOracle, _multiduel)


class Live:
    """Simulated users as an oracle: pass it to `simulate` instead of a matrix.

    Parameters
    ----------
    rankings : Rankings
    clicks : str or ClickModel
    pairs : str
        Method by which two rankers are compared.
    outcome : str
        Its outcome rule; it must say who won. A tie is a fair coin.
    slates : str
        Method by which sets of rankers are compared.
    top : int
        Documents shown.

    Raises
    ------
    InputError
        For an unknown name, or a click model that does not fit the corpus.
    """

    def __init__(
        self,
        rankings: Rankings,
        clicks: str | ClickModel = "navigational",
        *,
        pairs: str = "probabilistic",
        outcome: str = "marginal_sign",
        slates: str = "sosm",
        top: int = 10,
    ) -> None:
        if not METHODS[pairs].pairs or not METHODS[slates].slates:
            raise InputError(f"'{pairs}' must be a method for pairs, and '{slates}' one for sets of rankers")
        if outcome == "expectation":
            raise InputError("outcome 'expectation' is a number, for estimating matrices; a live duel needs a winner")
        model = click_model(clicks, rankings.grades) if isinstance(clicks, str) else clicks
        self._pairs = Comparer(rankings, model, pairs, outcome, top)
        self._slates = Comparer(rankings, model, slates, "", top)
        self.names = rankings.names
        self.provenance: dict[str, Any] = {
            "oracle": "live",
            **self._pairs.provenance,
            "slates": slates,
            "names": list(rankings.names),
        }

    def open(self) -> LiveOracle:
        """Return what kernels need, with scratch of its own."""
        return LiveOracle(self._pairs.open(), self._slates.open())
