"""Rankers that were never shown together, compared by weights on what others showed.

Probabilistic interleaving can show every list, each with a probability that is known. So an impression that rankers r
produced stands for what rankers t would have produced, with weight P(list | t) / P(list | r): the user's clicks depend
on the list alone. The outcome is what the clicks would mean had the list been drawn for t.

Hofmann, Schuth, Whiteson, de Rijke. Reusing Historical Interaction Data for Faster Online Learning to Rank for IR. WSDM
2013.

The estimand is the mean outcome of t over the impressions of the log whose query has both rankings, each query as often
as in the log. Where t shows lists that the log does not hold, nothing is known: the interval is wider by twice that
share, whose outcomes may be anything from -1 to 1, and with more than a tenth of it there is no answer. The mean weight
must be what the known chances say (`ltr_duel.logs.mixtures`); if it is not, the lists were drawn otherwise.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import stats

from ltr_duel.core import FloatVector, InputError, IntVector, errors, stream
from ltr_duel.interleaving import METHODS, Lists, Method, Size
from ltr_duel.logs.clusters import clustered_means, reach
from ltr_duel.logs.crediting import credit_rows
from ltr_duel.logs.distinct import Distinct
from ltr_duel.logs.hashing import HashVector, hash_texts
from ltr_duel.logs.log import ClickLog
from ltr_duel.logs.mixtures import LARGEST, Mixtures, Reach, reach_of, weights_of
from ltr_duel.logs.targets import PageTargets, RankedTargets, Weighable, rows_with

_GROUPS = 4096  # clusters, see `ltr_duel.logs.clusters`
FEWEST = 100.0  # effective impressions
MISSING = 0.1  # share of the lists wanted that may be out of reach
FARTHEST = 3.0  # errors of the mean weight from its expectation
_COLUMNS = (
    "impression",
    "time",
    "query",
    "user",
    "shown",
    "clicks",
    "page",
    "rankers",
    "rankings",
    "method",
    "outcome",
)


class WeightedOutcome(NamedTuple):
    """What a log says of two rankers by importance weights.

    Examples
    --------
    >>> "effective" in WeightedOutcome._fields
    True
    """

    first: str
    second: str
    impressions: int  # that carry the estimate: their query has both rankings
    log_impressions: int
    queries: int  # of the impressions that carry the estimate
    log_queries: int
    effective: float  # sample size that the chances leave: (sum w)^2 / sum w^2 in expectation
    weight: float  # mean weight, of lists within reach
    expected_weight: float  # what it must be: the share of the lists wanted that is within reach
    weight_error: float  # standard error of the mean weight
    mean: float  # outcome, -1 to 1, of the lists within reach
    error: float
    low: float  # interval of the mean outcome of all lists
    high: float
    refused: str  # why nothing should be made of it; empty if it may be believed


class Used(NamedTuple):
    """Some rows that carry the estimate."""

    users: HashVector
    cell: IntVector
    begin: IntVector  # where each row's list begins in the numbers
    found: Weighable


class Source(NamedTuple):
    """A log and what was learnt of its queries, for passes over its rows."""

    log: ClickLog
    targets: tuple[RankedTargets, PageTargets]


def weigh_outcomes(
    log: ClickLog, first: str, second: str, *, confidence: float = 0.95, seed: int = 0
) -> WeightedOutcome:
    """Estimate the outcome of two rankers from impressions that other rankers made by probabilistic interleaving.

    The log is read three times: for the rankings of all rankers, which may stand in any row of the same query, for the
    rankers that each query was shown for, and for the outcomes.

    Parameters
    ----------
    log : ClickLog
        With the columns ``rankers`` and ``rankings``, or page tokens, and the method ``probabilistic``.
    first, second : str
        Names of rankers in the log.
    confidence : float
        Of the interval.
    seed : int
        Of the lists that are drawn to see how much of what the two would show is within reach.

    Returns
    -------
    WeightedOutcome
        With ``refused`` where the effective sample size is below 100, over a tenth of the lists wanted is out of reach,
        or the mean weight is more than three errors from its expectation.

    Raises
    ------
    InputError
        If the rankers are not in the log, another method made it, or more lines are bad than may be.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from ltr_duel.data import make_corpus
    >>> from ltr_duel.logs import simulate_log
    >>> from ltr_duel.rankers import feature_rankers
    >>> rankings = feature_rankers(make_corpus(queries=20, documents=5, features=3))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "clicks.parquet"
    ...     _ = simulate_log(path, rankings, pairs="probabilistic:tau=0.5", horizon=2000)
    ...     found = weigh_outcomes(ClickLog(path), "1", "3")
    >>> found.refused, found.impressions == found.log_impressions, found.effective < found.impressions
    ('', True, True)
    """
    errors.require_between("the confidence", confidence, 1e-9, 1 - 1e-9)
    if first == second:
        raise InputError("give two different rankers")
    names = (first, second)
    source = Source(log, _learnt(log, names))
    design = Design(source, names)
    quantile = float(stats.norm.ppf((1 + confidence) / 2))
    within = reach_of(design.mixtures, design.state, quantile, stream(seed, "logs", "weigh"))
    count, total = np.zeros((1, _GROUPS)), np.zeros((1, _GROUPS))
    sums = np.zeros(2)  # of w, and of w y^2
    for used in design.rows():
        weights, y = design.weighed(used)
        weights[weights > within.cap] = 0.0
        groups = (used.users & np.uint64(_GROUPS - 1)).astype(np.int64)
        count[0] += np.bincount(groups, weights, _GROUPS)
        total[0] += np.bincount(groups, weights * y, _GROUPS)
        sums += [weights.sum(), (weights * y * y).sum()]
    rows = design.mixtures.rows
    n = rows.sum()
    expected = float(rows @ within.covered / n)
    effective = float((rows @ within.covered) ** 2 / (rows @ within.square)) if expected > 0 else 0.0
    weight_error = math.sqrt(rows @ (within.square - within.covered**2)) / n
    mean, error, half = 0.0, math.inf, math.inf
    if sums[0] > 0:
        means = clustered_means(count, total)
        mean = float(means.mean[0])
        # Not below the error of independent impressions, from the chances: seen weights alone may hide rare large ones.
        scatter = (max(sums[1] / sums[0] - mean**2, 0.0) * effective + 2) / (effective + 2)
        floor = math.sqrt(scatter / effective)
        error = max(float(means.error[0]), floor) * expected
        half = max(float(reach(means, confidence)[0]), quantile * floor) * expected
    ends = expected * mean - half - within.missing, expected * mean + half + within.missing
    return WeightedOutcome(
        first,
        second,
        int(n),
        design.log_rows,
        len(design.mixtures.lists.query_ptr) - 1,
        design.log_queries,
        effective,
        float(sums[0] / n),
        expected,
        weight_error,
        mean,
        error,
        max(ends[0], -1.0),
        min(ends[1], 1.0),
        _refusal(effective, n, within, float(sums[0] / n - expected), weight_error),
    )


def _refusal(effective: float, n: float, within: Reach, away: float, error: float) -> str:
    """Return why there is no answer, or nothing."""
    if abs(away) > FARTHEST * error + 1e-9:
        return (
            f"the mean weight is {abs(away) / max(error, 1e-12):.1f} standard errors from what the method's chances"
            " imply: the lists were not drawn as the log states"
        )
    if within.missing > MISSING:
        return (
            f"{within.missing:.0%} of what the two would show is out of reach of the log, more than {MISSING:.0%};"
            " the rest says nothing about it"
        )
    if effective < FEWEST:
        return f"the weights leave {effective:.1f} of {n:,.0f} impressions, fewer than {FEWEST:.0f}"
    return ""


def _learnt(log: ClickLog, names: tuple[str, str]) -> tuple[RankedTargets, PageTargets]:
    """Read how the rankers order the documents of each query."""
    targets = RankedTargets(), PageTargets()
    for batch in log.batches(_COLUMNS):
        if not any(rows.any() for rows in rows_with(batch.table).values()) and batch.table.num_rows:
            raise InputError(f"{log.path}: weights need the columns 'rankers' and 'rankings', or page tokens")
        for one in targets:
            one.learn(batch.table)
    for name in names:
        if not any(name in ranks for one in targets for ranks in one.known.values()):
            raise InputError(f"{log.path}: no row ranks documents by '{name}'")
    for one in targets:
        one.keep(names)
    return targets


class Design:
    """What was shown for which rankers: all that the weights depend on."""

    def __init__(self, source: Source, names: tuple[str, str]) -> None:
        self._source, self._only = source, ("", "")
        self.log_rows, distinct = 0, Distinct()
        shown: dict[tuple[int, int, int], Counter[tuple[str, ...]]] = {}  # source, query, length -> rankers
        for part, _, found in self._found(distinct):
            lengths = np.diff(found.clicked.ptr)[found.clicked.rows]
            keys, counts = np.unique(np.stack([found.queries, lengths.astype(np.uint64)]), axis=1, return_counts=True)
            for query, length, n in zip(*keys.tolist(), counts.tolist(), strict=True):
                shown.setdefault((part, query, length), Counter())[tuple(sorted(found.rankers))] += n
        self.log_queries = distinct.number
        if not shown:
            path, (first, second) = source.log.path, names
            raise InputError(f"{path}: no impression is of a query that both '{first}' and '{second}' rank in the log")
        label, self.method, self.params = METHODS.configure(self._only[0])
        if self.method.name != "probabilistic":
            raise InputError(
                f"{source.log.path}: weights need lists of 'probabilistic', whose chances are known; not '{label}'"
            )
        # The mean of all other rules is that of `expectation`.
        self.rule = "marginal_sign" if self._only[1] == "marginal_sign" else "expectation"
        self._cells = {key: c for c, key in enumerate(sorted(shown))}
        self.mixtures = self._mixtures(shown, names)
        longest = int(np.diff(self.mixtures.lists.query_ptr).max())
        self.state = self.method.init(Size(int(self.mixtures.length.max()), longest, 2), self.params, self.rule)

    def _found(self, distinct: Distinct | None = None) -> Iterator[tuple[int, HashVector, Weighable]]:
        """Yield the rows whose query has both rankings, and the users of the batch."""
        log = self._source.log
        for batch in log.batches(_COLUMNS):
            table, wrong = batch.table, dict[int, str]()
            if distinct is not None:
                self.log_rows += table.num_rows
                distinct.add(table.column("query"), hash_texts(table.column("query")))
            users = hash_texts(table.column("impression"))
            if "user" in table.schema.names:
                named = table.column("user").is_valid().to_numpy(zero_copy_only=False)
                users = np.where(named, hash_texts(table.column("user")), users)
            for part, targets in enumerate(self._source.targets):
                try:
                    rows = list(targets.weighable(table, wrong))
                except InputError as error:
                    raise InputError(f"{log.path}: {error}") from None
                for found in rows:
                    if not len(found.queries):
                        continue
                    self._only = self._only if self._only[0] else (found.method, found.outcome)
                    if (found.method, found.outcome) != self._only:
                        raise InputError(
                            f"{log.path}: weights need one method in the whole log, not {[self._only[0], found.method]}"
                        )
                    yield part, users, found
            for row in sorted(wrong):
                log.bad.add(int(batch.lines[row]), wrong[row])

    def _mixtures(
        self, shown: dict[tuple[int, int, int], Counter[tuple[str, ...]]], names: tuple[str, str]
    ) -> Mixtures:
        queries = {key: q for q, key in enumerate(dict.fromkeys((part, query) for part, query, _ in sorted(shown)))}
        known = [self._source.targets[part].known[query] for part, query in queries]
        arms = {name: a for a, name in enumerate(sorted({name for ranks in known for name in ranks}))}
        ptr = np.cumsum([0, *(len(ranks[names[0]]) for ranks in known)])
        order, rank = np.zeros((2, len(arms), int(ptr[-1])), np.int16)
        for start, stop, ranks in zip(ptr[:-1], ptr[1:], known, strict=True):
            for name, values in ranks.items():
                rank[arms[name], start:stop] = values
                order[arms[name], start + values - 1] = np.arange(stop - start)
        cells = [shown[key] for key in sorted(shown)]
        sets = [[arms[name] for name in rankers] for cell in cells for rankers in cell]
        rows = np.array([cell.total() for cell in cells], np.float64)
        return Mixtures(
            Lists(order, rank, ptr),
            np.concatenate([[0.0], np.arange(1.0, np.diff(ptr).max() + 1) ** -self.params.tau]),
            np.array([arms[name] for name in names]),
            np.array([queries[key[:2]] for key in sorted(shown)]),
            np.array([key[2] for key in sorted(shown)]),
            rows,
            np.cumsum([0, *map(len, cells)]),
            np.array([n / cell.total() for cell in cells for n in cell.values()]),
            np.cumsum([0, *map(len, sets)]),
            np.concatenate([np.array(one, np.int64) for one in sets]),
        )

    def rows(self) -> Iterator[Used]:
        """Read the log again."""
        for part, users, found in self._found():
            clicked = found.clicked
            lengths = np.diff(clicked.ptr)[clicked.rows].tolist()
            cell = [self._cells[part, *one] for one in zip(found.queries.tolist(), lengths, strict=True)]
            yield Used(users[clicked.rows], np.array(cell, np.int64), clicked.ptr[clicked.rows], found)

    def weighed(self, used: Used) -> tuple[FloatVector, FloatVector]:
        """Return the weights of rows, and what their clicks mean for the two rankers."""
        clicked, lists = used.found.clicked, self.mixtures.lists
        weights = weights_of(self.mixtures, used.cell, used.begin, clicked.numbers)
        two = self.mixtures.wanted
        wanted = Lists(lists.order[two], lists.rank[two], lists.query_ptr)
        part = clicked._replace(query=self.mixtures.query[used.cell])
        return weights, credit_rows(self.method, self.params, self.rule, wanted, part, 2)[:, 0]


def weighted_lines(found: WeightedOutcome) -> list[str]:
    """Say in sentences what the weights say.

    Parameters
    ----------
    found : WeightedOutcome

    Returns
    -------
    list of str

    Examples
    --------
    >>> known = WeightedOutcome("a", "b", 900, 1000, 9, 10, 12.0, 0.7, 0.7, 0.1, 0.1, 0.2, -0.3, 0.5, "too little")
    >>> for line in weighted_lines(known):
    ...     print(line)
    a against b, over the 9 of 10 queries (900 of 1,000 impressions) of which the log ranks documents by both
    worth 12.0 impressions; mean weight 0.700 +- 0.100 where the chances imply 0.700 (1 if all lists were within reach)
    refused: too little
    """
    lines = [
        f"{found.first} against {found.second}, over the {found.queries:,} of {found.log_queries:,} queries"
        f" ({found.impressions:,} of {found.log_impressions:,} impressions) of which the log ranks documents by both",
        f"worth {found.effective:,.1f} impressions; mean weight {found.weight:.3f} +- {found.weight_error:.3f} where the"
        f" chances imply {found.expected_weight:.3f} (1 if all lists were within reach)",
    ]
    if found.refused:
        return [*lines, f"refused: {found.refused}"]
    ahead = found.first if found.mean >= 0 else found.second
    says = f"{ahead} is ahead" if found.low > 0 or found.high < 0 else "not clear who is ahead"
    return [*lines, f"mean outcome {found.mean:+.4f}, interval {found.low:+.4f} {found.high:+.4f}: {says}"]
