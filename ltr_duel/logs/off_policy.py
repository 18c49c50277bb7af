"""Rankers that were never shown together, compared by weights on what others showed.

Probabilistic interleaving can show every list, each with a probability that is known. So an impression that rankers r
produced stands for what rankers t would have produced, with weight P(list | t) / P(list | r): the user's clicks
depend on the list alone. The outcome is what the clicks would mean had the list been drawn for t. The estimate is the
weighted mean.

Hofmann, Schuth, Whiteson, de Rijke. Reusing Historical Interaction Data for Faster Online Learning to Rank for IR. WSDM
2013.

The weights are the limit: where t shows lists that r hardly ever shows, a few impressions have most of the weight. The
effective sample size (sum w)^2 / sum w^2 says how many impressions are left; with few, nothing is said.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ltr_duel.core import FloatVector, InputError, MarkVector, errors, kernel
from ltr_duel.interleaving import METHODS, Lists
from ltr_duel.logs.clusters import clustered_means, reach
from ltr_duel.logs.crediting import Clicked, credit_rows
from ltr_duel.logs.hashing import HashVector, hash_texts
from ltr_duel.logs.log import ClickLog
from ltr_duel.logs.targets import PageTargets, RankedTargets, Weighable, rows_with

_GROUPS = 4096  # clusters, see `ltr_duel.logs.clusters`
FEWEST, LARGEST = 100.0, 0.05  # effective impressions, and share of one impression, that are still believed
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
    impressions: int  # that could be weighed
    effective: float  # sample size
    largest: float  # share of the weight that one impression has
    mean: float  # outcome, -1 to 1
    error: float
    low: float
    high: float
    refused: str  # why nothing should be made of it; empty if it may be believed


def weigh_outcomes(log: ClickLog, first: str, second: str, *, confidence: float = 0.95) -> WeightedOutcome:
    """Estimate the outcome of two rankers from impressions that other rankers made by probabilistic interleaving.

    The log is read twice: first for the rankings of the two, which may stand in any row of the same query.

    Parameters
    ----------
    log : ClickLog
        With the columns ``rankers`` and ``rankings``, or page tokens, and the method ``probabilistic``.
    first, second : str
        Names of rankers in the log.
    confidence : float
        Of the interval.

    Returns
    -------
    WeightedOutcome
        With ``refused`` where the effective sample size is below 100, or one impression has over 5 % of the weight.

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
    >>> found.refused, 0 < found.effective < found.impressions
    ('', True)
    """
    errors.require_between("the confidence", confidence, 1e-9, 1 - 1e-9)
    if first == second:
        raise InputError("give two different rankers")
    sources = _learnt(log, (first, second))
    count, total = np.zeros((1, _GROUPS)), np.zeros((1, _GROUPS))
    impressions, sums = 0, np.zeros(3)  # of w, w^2, and the largest w
    for users, weights, y in _weighed(log, sources):
        groups = (users & np.uint64(_GROUPS - 1)).astype(np.int64)
        count[0] += np.bincount(groups, weights, _GROUPS)
        total[0] += np.bincount(groups, weights * y, _GROUPS)
        impressions += len(weights)
        sums += [weights.sum(), (weights**2).sum(), 0.0]
        sums[2] = max(sums[2], weights.max(initial=0))
    if impressions == 0 or sums[0] == 0:
        raise InputError(f"{log.path}: no impression is of a query that both '{first}' and '{second}' rank in the log")
    means = clustered_means(count, total)
    mean, error, half = float(means.mean[0]), float(means.error[0]), float(reach(means, confidence)[0])
    effective, largest = float(sums[0] ** 2 / sums[1]), float(sums[2] / sums[0])
    refused = ""
    if effective < FEWEST:
        refused = f"the weights leave {effective:.1f} of {impressions:,} impressions, fewer than {FEWEST:.0f}"
    elif largest > LARGEST:
        refused = f"one impression has {largest:.0%} of all weight, more than {LARGEST:.0%}"
    ends = max(mean - half, -1.0), min(mean + half, 1.0)
    return WeightedOutcome(first, second, impressions, effective, largest, mean, error, *ends, refused)


def _learnt(log: ClickLog, names: tuple[str, str]) -> tuple[RankedTargets, PageTargets]:
    """Read how the two order the documents of each query."""
    sources = RankedTargets(names), PageTargets(names)
    for batch in log.batches(_COLUMNS):
        if not any(rows.any() for rows in rows_with(batch.table).values()) and batch.table.num_rows:
            raise InputError(f"{log.path}: weights need the columns 'rankers' and 'rankings', or page tokens")
        for source in sources:
            source.learn(batch.table)
    for name in names:
        if not any(name in source.met for source in sources):
            raise InputError(f"{log.path}: no row ranks documents by '{name}'")
    for source in sources:
        source.close()
    return sources


def _weighed(
    log: ClickLog, sources: tuple[RankedTargets, PageTargets]
) -> Iterator[tuple[HashVector, FloatVector, FloatVector]]:
    """Yield users, weights and outcomes of the rows whose query has the rankings."""
    only: tuple[str, str] | None = None
    for batch in log.batches(_COLUMNS):
        table, wrong = batch.table, dict[int, str]()
        users = hash_texts(table.column("impression"))
        if "user" in table.schema.names:
            named = table.column("user").is_valid().to_numpy(zero_copy_only=False)
            users = np.where(named, hash_texts(table.column("user")), users)
        for source in sources:
            try:
                rows = list(source.weighable(table, wrong))
            except InputError as error:
                raise InputError(f"{log.path}: {error}") from None
            for found in rows:
                only = only or (found.method, found.outcome)
                if (found.method, found.outcome) != only:
                    raise InputError(
                        f"{log.path}: weights need one method in the whole log, not {[only[0], found.method]}"
                    )
                yield users[found.clicked.rows], *_weights(log, found)
        for row in sorted(wrong):
            log.bad.add(int(batch.lines[row]), wrong[row])


def _weights(log: ClickLog, found: Weighable) -> tuple[FloatVector, FloatVector]:
    """Return the weights of rows, and what their clicks mean for the two rankers."""
    label, method, params = METHODS.configure(found.method)
    if method.name != "probabilistic":
        raise InputError(f"{log.path}: weights need lists of 'probabilistic', whose chances are known; not '{label}'")
    rule = "marginal_sign" if found.outcome == "marginal_sign" else "expectation"  # the mean of all other rules
    y = credit_rows(method, params, rule, found.wanted, found.clicked, 2)[:, 0]
    longest = int(np.diff(found.own.query_ptr).max(initial=1))
    decay = np.concatenate([[0.0], np.arange(1.0, longest + 1) ** -params.tau])
    logs = np.zeros((2, len(y)))
    for lists, out in zip((found.wanted, found.own), logs, strict=True):
        list_chances(decay, lists, found.clicked, np.zeros(longest, np.uint8), out)
    return np.exp(logs[0] - logs[1]), y


@kernel
def list_chances(decay: FloatVector, lists: Lists, clicked: Clicked, used: MarkVector, out: FloatVector) -> None:
    """Write the logarithm of the chance that probabilistic interleaving of the rankers shows each row's list.

    ``decay[r]`` is the weight of rank r; ``used`` (documents,) is scratch, all zero.
    """
    rankers = lists.rank.shape[0]
    for n in range(clicked.rows.shape[0]):
        row, query = clicked.rows[n], clicked.query[n]
        start = lists.query_ptr[query]
        documents = lists.query_ptr[query + 1] - start
        chance = 0.0
        for k in range(clicked.ptr[row], clicked.ptr[row + 1]):
            here = 0.0
            for a in range(rankers):
                left = 0.0
                for d in range(documents):
                    if used[d] == 0:
                        left += decay[lists.rank[a, start + d]]
                here += decay[lists.rank[a, start + clicked.numbers[k]]] / left
            chance += math.log(here / rankers)
            used[clicked.numbers[k]] = 1
        for k in range(clicked.ptr[row], clicked.ptr[row + 1]):
            used[clicked.numbers[k]] = 0
        out[n] = chance


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
    >>> found = WeightedOutcome("a", "b", 900, 12.0, 0.3, 0.1, 0.2, -0.3, 0.5, "the weights leave 12.0")
    >>> weighted_lines(found)[1]
    'refused: the weights leave 12.0'
    """
    lines = [f"{found.impressions:,} impressions, worth {found.effective:,.1f} of {found.first} against {found.second}"]
    if found.refused:
        return [*lines, f"refused: {found.refused}"]
    ahead = found.first if found.mean >= 0 else found.second
    says = f"{ahead} is ahead" if found.low > 0 or found.high < 0 else "not clear who is ahead"
    return [*lines, f"mean outcome {found.mean:+.4f}, interval {found.low:+.4f} {found.high:+.4f}: {says}"]
