"""The state of a live experiment."""

from __future__ import annotations

import copy
import math
from typing import Any, NamedTuple

import numpy as np
import scipy  # loads its modules on first use
from numpy.typing import NDArray

from ltr_duel.core import FloatMatrix, FloatVector, IntMatrix, IntVector
from ltr_duel.live.memory import Counts, Memory, Tally, counts_of
from ltr_duel.live.settings import Settings
from ltr_duel.live.switches import ENDED, PAUSED, WINNER, Switched, Switches, left_of
from ltr_duel.live.turns import Key
from ltr_duel.logs import BettingTest, PairDecision, impressions_to_go, pair_decisions, running_sentence

_OF_SETTINGS = ("name", "rankers", "policy", "method", "outcome", "confidence", "margin")
_FORGOT = (
    "Users who returned after their pages were forgotten (keep_days) count as new users, so errors are too small and"
    " winners are declared too early."
)


class LiveState(NamedTuple):
    """The state of a live experiment of K rankers; matrices compare the row with the column.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from ltr_duel.live import Experiment
    >>> settings = Settings(name="shoes", rankers=("old", "new"), policy="rucb")
    >>> folder = tempfile.TemporaryDirectory()
    >>> with folder, Experiment.open(Path(folder.name) / "shoes.db", settings) as experiment:
    ...     state = experiment.state()
    >>> state.pages, state.probability.tolist(), state.sentence[:5]
    (0, [0.5, 0.5], 'go on')
    """

    name: str
    rankers: tuple[str, ...]
    policy: str
    method: str
    outcome: str
    confidence: float
    margin: float
    started: float  # time at which the store was created, in seconds of the experiment's clock
    steps: int  # outcomes that the current policy received, plus the pages of a single ranker that it requested
    pages: int  # pages shown
    open: int  # pages shown that are still open
    plain: int  # pages shown with a single ranker
    clicked: int  # pages closed with clicks
    unclicked: int  # pages closed by a final report, without any clicks
    expired: int  # pages closed without a final report and without clicks
    compared: int  # closed pages of several rankers
    held: int  # outcomes held until the current policy requests their rankers again
    switches: Switches  # current state of the switches
    switched: tuple[Switched, ...]  # all uses of switches
    asked: tuple[str, ...]  # the rankers that the policy currently requests
    pulls: IntVector  # (K,) how often the `steps` used each arm; an arm against itself counts twice
    exposure: FloatVector  # (K,) impressions; a page of s rankers adds 1/s to each
    wins: IntMatrix  # (K, K) pages on which the row won
    ties: IntMatrix  # (K, K) pages without a winner
    first_wins: IntMatrix  # (K, K) `wins` on users' first pages of the pair
    first_ties: IntMatrix  # (K, K) `ties` on users' first pages of the pair
    mean: FloatMatrix  # (K, K) mean outcome of the row on users' first pages of the pair, -1 to 1
    low: FloatMatrix  # (K, K) lower ends of the confidence sequences, simultaneous for all pairs and times
    high: FloatMatrix  # (K, K) upper ends
    recommended: str  # the policy's recommendation
    winner: str  # the ranker that most probably beats all others
    probability: FloatVector  # (K,) probability of beating all others, valid for a single look; 0 if dropped
    decisions: list[PairDecision]  # one for each pair
    sentence: str  # advice whether to stop, based on the rankers that are not dropped
    note: str  # a caveat about the intervals, or empty
    regret_bound: float  # upper bound of the cost of the pages shown, see `regret_bound`
    impressions_to_go: float  # comparison pages until the advice is to stop, if no mean changes; 0: now; inf: unknown

    def to_json(self) -> dict[str, Any]:
        """Return the state for JSON; infinities and NaN become null."""
        inner = {
            "decisions": [one._asdict() for one in self.decisions],
            "switches": self.switches._asdict(),
            "switched": [{**one._asdict(), "switch": one.switch.to_json()} for one in self.switched],
        }
        plain: dict[str, Any] = _plain({**self._asdict(), **inner})
        return plain


class Known(NamedTuple):
    """A copy of the parts of the memory from which a state is computed."""

    tally: Tally
    counts: Counts
    asked: Key
    recommended: int
    switches: Switches
    switched: tuple[Switched, ...]
    forgot: bool  # whether pages of users were forgotten


def known_of(memory: Memory) -> Known:
    """Copy the parts of the memory that `Known` contains."""
    turns, switched = memory.turns, tuple([one for one in memory.switched if one])
    tally, counts = copy.deepcopy(memory.tally), counts_of(memory)
    return Known(tally, counts, turns.asked, turns.recommended, memory.switches, switched, memory.forgot)


def state_of(settings: Settings, started: float, known: Known) -> LiveState:
    """Compute the state."""
    tally, names = known.tally, settings.rankers
    named, compared = [(names[a], names[b]) for a, b in tally.pairs], known.counts.compared
    decisions = pair_decisions(
        BettingTest(tally.sequences()), named, len(named), compared, confidence=settings.confidence,
        margin=settings.margin,
    )  # fmt: skip
    rows = list(left_of(known.switches, settings))
    left = [names[k] for k in rows]
    among = [one for one in decisions if one.first in left and one.second in left]  # still corrected for all pairs
    sentence = running_sentence(left, among, settings.margin, compared)
    to_go = impressions_to_go(left, among)
    if known.switches.mode == ENDED and to_go > 0:  # no further pages will be shown
        served = known.switches.winner or settings.incumbent
        sentence, to_go = f"ended without a decision; {served} is served.", math.inf
    elif known.switches.mode in (PAUSED, WINNER):
        sentence = f"Nothing is compared until 'resume'. Before: {sentence}"
    mean, low, high = (np.array([getattr(one, word) for one in decisions]) for word in ("mean", "low", "high"))
    ties, won, lost = tally.score
    wins, tied = _matrix(tally.pairs, won, lost), _matrix(tally.pairs, ties, ties)
    highest = _matrix(tally.pairs, high, -low)
    first_ties, first_won, first_lost = tally.fresh
    first_wins = _matrix(tally.pairs, first_won, first_lost)
    probability = np.zeros(len(names))
    probability[rows] = beats_all(first_wins[np.ix_(rows, rows)])
    counts = {name: value for name, value in known.counts._asdict().items() if name in LiveState._fields}
    return LiveState(
        **counts,
        **{name: getattr(settings, name) for name in _OF_SETTINGS},
        started=started,
        switches=known.switches,
        switched=known.switched,
        asked=tuple(names[arm] for arm in dict.fromkeys(known.asked)),
        exposure=tally.exposure,
        wins=wins,
        ties=tied,
        first_wins=first_wins,
        first_ties=_matrix(tally.pairs, first_ties, first_ties),
        mean=_matrix(tally.pairs, mean, -mean),
        low=_matrix(tally.pairs, low, -high),
        high=highest,
        recommended=names[known.recommended],
        winner=names[int(np.argmax(probability))],
        probability=probability,
        decisions=decisions,
        sentence=sentence,
        note=_FORGOT if known.forgot else "",
        regret_bound=regret_bound(tally.exposure, highest),
        impressions_to_go=to_go,
    )


def beats_all(wins: FloatMatrix) -> FloatVector:
    """Return for each arm the posterior probability that it beats all others, from the matrix of pages won.

    An arm beats another if it wins more than half of the decided pages of the pair in the long run; ties are ignored.
    The share that the first arm wins has a uniform prior, so its posterior is Beta(1 + w, 1 + l) after w wins and l
    losses. Pages and pairs are assumed independent. The result is valid for a single look.
    """
    ahead = scipy.special.betainc(wins.T + 1, wins + 1, 0.5)  # Pr(the row wins more than half in the long run)
    np.fill_diagonal(ahead, 1.0)
    product: FloatVector = ahead.prod(axis=1)
    return product


def regret_bound(exposure: FloatVector, high: FloatMatrix) -> float:
    """Return an upper bound, valid at all times like the intervals, of the average regret summed over all pages shown.

    The cost of a page is the average, over its rankers, of half the best ranker's mean outcome against that ranker. The
    best ranker beats all others. The bound is the maximum over all rankers that, according to the intervals, may be the
    best; NaN if no ranker may be.
    """
    cost = high.clip(0) @ exposure / 2
    possible = (high >= 0).all(axis=1)
    return float(cost[possible].max()) if possible.any() else math.nan


def _matrix(pairs: IntMatrix, upper: NDArray[Any], lower: NDArray[Any]) -> NDArray[Any]:
    """Return a K x K matrix with one value for each pair, and one for each reversed pair."""
    size = int(pairs.max()) + 1
    matrix = np.zeros((size, size), upper.dtype)
    first, second = pairs.T
    matrix[first, second], matrix[second, first] = upper, lower
    return matrix


def _plain(value: Any) -> Any:
    """Return a value in a form that JSON can represent."""
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
