"""The state of a live experiment: how many pages were counted, and what they say about each pair of rankers.

A page is counted when the time for its events is over. By default, only pages that users have seen are counted.
Decisions about two rankers use only one page of each user: the first page that compares the two rankers.
`ltr_duel.logs` uses the same rules for exported logs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import scipy  # its modules are loaded on first use
from numpy.typing import NDArray

from ltr_duel.bandits import POLICIES
from ltr_duel.core import FloatMatrix, FloatVector, IntMatrix
from ltr_duel.live.controls import ENDED, PAUSED, WINNER, Control, Controls
from ltr_duel.live.plan import LivePlan
from ltr_duel.live.settings import Settings
from ltr_duel.live.store import Store
from ltr_duel.live.validation import FORGOTTEN
from ltr_duel.logs import PairDecision, confidence_sequence, impressions_to_go, pair_decisions, running_sentence

_OF_SETTINGS = "name", "rankers", "policy", "method", "outcome", "confidence", "margin", "window", "batch", "credit"
_FORGOT = "Forgotten users who return count as new users, so errors are too small and winners are declared too early."
_DROPPED = "Decided among the rankers that are not dropped; 'logs compare' of the exported log decides among all."
_AHEAD = "The clock was once {:,.2f} hours ahead of now: until then windows stay open, and all events are credited."
_TOLERATED = 60.0  # seconds by which the experiment's clock may be ahead without a note


class LiveState(NamedTuple):
    """The results of a live experiment with K rankers. In matrices, row i and column j compare ranker i with ranker j.

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
    counted: str  # "seen": pages with a reported event count; "shown": all pages count
    window: float  # seconds after which a page counts
    batch: int  # number of outcomes from which the next plan is made
    credit: str  # kind of event that credits rankers
    started: float  # when the store was created, in seconds since 1970
    version: int  # number of the current plan
    controls: Controls  # state of the controls
    used: tuple[Control, ...]  # all uses of controls
    pages: int  # number of pages shown in the experiment
    waiting: int  # number of pages whose window is not over
    unseen: int  # number of pages without any event inside their window
    clicked: int  # number of counted pages with an event that credits rankers
    alone: int  # number of counted pages that show a single ranker
    compared: int  # number of counted pages that show several rankers
    untold: int  # number of outcomes that wait until a batch is complete
    exposure: FloatVector  # (K,) number of counted pages; a page of s rankers counts 1/s for each
    wins: IntMatrix  # (K, K) number of pages on which the row won
    ties: IntMatrix  # (K, K) number of pages without a winner
    first_wins: IntMatrix  # (K, K) `wins` among each user's first page of the pair
    first_ties: IntMatrix  # (K, K) `ties` among each user's first page of the pair
    mean: FloatMatrix  # (K, K) mean outcome of the row on each user's first page of the pair, from -1 to 1
    low: FloatMatrix  # (K, K) lower ends of confidence intervals that hold together for all pairs and times
    high: FloatMatrix  # (K, K) upper ends of these intervals
    recommended: str  # the ranker that the policy recommends
    leader: str  # the ranker that most probably beats all others; empty until a page of several rankers counts
    probability: FloatVector  # (K,) probability of beating all others, if you look once; 0 if dropped
    decisions: list[PairDecision]  # the decision about each pair
    sentence: str  # advice whether to stop, which ignores dropped rankers
    note: str  # what may make the numbers wrong; empty if nothing is known
    regret_bound: float  # upper bound of what the counted pages have cost users, see `regret_bound`
    impressions_to_go: float  # pages until the advice is to stop, if no mean changes; inf if never or unknown

    def to_json(self) -> dict[str, Any]:
        """Return the results as a dictionary for JSON. Infinite and undefined numbers become null."""
        plain: dict[str, Any] = _plain(self)
        return plain


class Counts(NamedTuple):
    """The numbers of pages and of outcomes that a store has counted."""

    pairs: list[tuple[int, int, int, int, int]]  # rows of the table ``counts``
    totals: list[tuple[str, int, int, int]]  # rows of the table ``totals``
    waiting: int  # pages whose window is not over
    forgot: bool  # whether the store has forgotten users
    started: float

    @classmethod
    def read(cls, store: Store) -> Counts:
        """Read the numbers from a store."""
        pairs = store.rows("SELECT a, b, y, first, n FROM counts")
        totals = store.rows("SELECT rankers, shown, seen, clicked FROM totals")
        ((waiting,),) = store.rows("SELECT count(*) FROM exposures WHERE NOT learned")
        forgot = store.rows("SELECT 1 FROM met WHERE user >= ? AND user < ? LIMIT 1", (FORGOTTEN, f"{FORGOTTEN}~"))
        return cls(pairs, totals, waiting, bool(forgot), store.meta("started"))


def state_of(
    settings: Settings, counts: Counts, controls: Controls, used: Sequence[Control], plan: LivePlan, untold: int,
    ahead: float = 0.0,
) -> LiveState:  # fmt: skip
    """Compute the results. ``ahead`` says how many seconds the time of the experiment is ahead of the clock."""
    names, k = settings.rankers, len(settings.rankers)
    count = np.zeros((2, 3, k, k), np.int64)  # all and first exposures; ties, wins and losses of the row
    for a, b, y, first, n in counts.pairs:
        count[: 1 + first, y, a, b] += n
        count[: 1 + first, -y, b, a] += n
    (ties, wins, _), (first_ties, first_wins, first_losses) = count
    exposure, shown, seen, clicked, alone = np.zeros(k), 0, 0, 0, 0
    for text, *totals in counts.totals:
        rankers = json.loads(text)
        counted = totals[settings.count == "seen"]
        exposure[[names.index(name) for name in rankers]] += counted / len(rankers)
        alone += counted * (len(rankers) == 1)
        shown, seen, clicked = shown + totals[0], seen + totals[1], clicked + totals[2]
    pairs = np.triu_indices(k, 1)
    named = [(names[a], names[b]) for a, b in zip(*pairs, strict=True)]
    compared = (seen if settings.count == "seen" else shown) - alone
    decided = [part[pairs].astype(np.float64) for part in (first_wins, first_losses, first_ties)]
    now = confidence_sequence(*decided, confidence=settings.confidence, tests=len(named))
    error = {"confidence": settings.confidence, "margin": settings.margin}
    decisions = pair_decisions(now, named, len(named), compared, **error)
    together = compared_pairs(plan)
    if plan.version == 1 or not POLICIES.configure(settings.policy).component.adaptive:  # pairs are missing by chance
        together.update(map(frozenset, named))
    for number, pair in enumerate(decisions):
        if frozenset(pair[:2]) not in together:
            decisions[number] = pair._replace(more=pair.more and math.inf, more_to_win=pair.more_to_win and math.inf)
    rows = list(controls.left(settings))
    left = [names[arm] for arm in rows]
    among = [pair for pair in decisions if pair.first in left and pair.second in left]  # still corrected for all pairs
    sentence, to_go = running_sentence(left, among, settings.margin, compared), impressions_to_go(left, among)
    gone = [" and ".join(pair[:2]) for pair in among if pair.more and frozenset(pair[:2]) not in together]
    several = sum(count for rankers, count in plan.sets if len(rankers) > 1) / plan.draws
    if gone and math.isinf(to_go):
        some = ", ".join(gone[:3] + ["..."] * (len(gone) > 3))
        sentence = f"undecided: plan {plan.version} no longer shows {some} together; a later plan may."
    elif 0 < to_go < math.inf and several < 0.2:
        sentence += f" Plan {plan.version} shows several rankers in {several:.1%} of its searches."
    if controls.mode == ENDED and to_go > 0:  # no more pages are compared
        sentence, to_go = f"ended without a decision; {controls.winner or settings.incumbent} is served.", math.inf
    elif controls.mode in (PAUSED, WINNER):
        sentence = f"Nothing is compared until 'resume'. Before: {sentence}"
    mean, low, high = (np.array([getattr(pair, word) for pair in decisions]) for word in ("mean", "low", "high"))
    highest = _matrix(k, high, -low)
    probability = np.zeros(k)
    probability[rows] = beats_all(first_wins[np.ix_(rows, rows)])
    return LiveState(
        **{name: getattr(settings, name) for name in _OF_SETTINGS},
        counted=settings.count,
        started=counts.started,
        version=plan.version,
        controls=controls,
        used=tuple(used),
        pages=shown + counts.waiting,
        waiting=counts.waiting,
        unseen=shown - seen,
        clicked=clicked,
        alone=alone,
        compared=compared,
        untold=untold,
        exposure=exposure,
        wins=wins,
        ties=ties,
        first_wins=first_wins,
        first_ties=first_ties,
        mean=_matrix(k, mean, -mean),
        low=_matrix(k, low, -high),
        high=highest,
        recommended=plan.recommended,
        leader=names[int(np.argmax(probability))] if compared else "",
        probability=probability,
        decisions=decisions,
        sentence=sentence,
        note=" ".join(
            [_FORGOT] * counts.forgot
            + [_AHEAD.format(ahead / 3600)] * (ahead > _TOLERATED)
            + [_DROPPED] * bool(controls.dropped)
        ),
        regret_bound=regret_bound(exposure, highest),
        impressions_to_go=to_go,
    )


def compared_pairs(plan: LivePlan) -> set[frozenset[str]]:
    """Return the pairs of rankers that a plan shows together on a page."""
    return {frozenset(pair) for rankers, _ in plan.sets for pair in combinations(rankers, 2)}


def beats_all(wins: IntMatrix) -> FloatVector:
    """Return for each ranker the probability that it beats all other rankers.

    ``wins[i, j]`` is the number of pages on which ranker i won against ranker j. The probabilities are valid only if
    you look at them once.
    """
    # The prior of the share of wins is uniform; pages and pairs are regarded as independent.
    ahead = scipy.special.betainc(wins.T + 1, wins + 1, 0.5)  # probability that the row beats the column
    np.fill_diagonal(ahead, 1.0)
    product: FloatVector = ahead.prod(axis=1)
    return product


def regret_bound(exposure: FloatVector, high: FloatMatrix) -> float:
    """Return how much the experiment has cost its users at most, because they did not always see the best ranker.

    ``exposure`` says how often each ranker was shown, and ``high`` has the upper ends of the intervals for mean
    outcomes. The result is NaN if, by these intervals, no ranker is the best.
    """
    # Showing a ranker costs half of the mean outcome by which the best ranker beats it. The best ranker is unknown.
    cost = high.clip(0) @ exposure / 2
    possible = (high >= 0).all(axis=1)
    return float(cost[possible].max()) if possible.any() else math.nan


def _matrix(size: int, upper: NDArray[Any], lower: NDArray[Any]) -> NDArray[Any]:
    matrix = np.zeros((size, size), upper.dtype)
    first, second = np.triu_indices(size, 1)
    matrix[first, second], matrix[second, first] = upper, lower
    return matrix


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if hasattr(value, "_asdict"):
        return _plain(value._asdict())
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
