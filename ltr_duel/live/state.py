"""What can be said of a live experiment at any time."""

from __future__ import annotations

from typing import Any, NamedTuple

from ltr_duel.core import FloatMatrix, FloatVector, IntMatrix, IntVector
from ltr_duel.logs import StoppingDecision


class State(NamedTuple):
    """Where a live experiment stands. K rankers; row against column.

    Examples
    --------
    >>> "probability" in State._fields
    True
    """

    name: str
    rankers: tuple[str, ...]
    policy: str
    method: str
    outcome: str
    confidence: float
    margin: float
    started: float  # when the store was made: seconds of the clock
    steps: int  # comparisons that the policy was told
    pages: int  # shown
    open: int  # of these, waiting for their clicks
    clicked: int  # with clicks
    unclicked: int  # said to be without
    expired: int  # past their deadline
    plain: int  # of one ranker alone
    held: int  # outcomes that wait until the policy asks for their rankers again
    asked: tuple[str, ...]  # whom the policy wants to compare now
    pulls: IntVector  # (K,) by the steps; an arm against itself counts twice
    exposure: FloatVector  # (K,) impressions: of a page of s rankers each has 1/s
    wins: IntMatrix  # (K, K) pages on which the row won
    ties: IntMatrix  # (K, K)
    mean: FloatMatrix  # (K, K) mean outcome of the row, -1 to 1; each user once
    low: FloatMatrix  # (K, K) confidence sequence: all of them hold at all times together
    high: FloatMatrix  # (K, K)
    recommended: str  # by the policy
    winner: str  # most probably beats all others
    probability: FloatVector  # (K,) that the ranker beats all others: posterior, coins of ties included
    decisions: list[StoppingDecision]  # of each pair
    sentence: str  # whether to stop
    regret_bound: float  # upper bound of the average regret of the pages shown; inf while nothing is known
    impressions_to_go: float  # until all pairs are decided, if their means stay; inf for never

    def to_json(self) -> dict[str, Any]:
        """Return the state as JSON has it; a number that is not finite is null."""
        raise NotImplementedError
