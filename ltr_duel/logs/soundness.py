"""Is the experiment sound? Questions that a log answers before anyone reads its result.

Each check ends in a sentence, a number and a verdict. Tests fail at p < 0.01, so that each alarms on one sound log of a
hundred; limits on rates are far above what sound logs have. Fabijan et al. Diagnosing Sample Ratio Mismatch in Online
Controlled Experiments. KDD 2019.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from ltr_duel.core import IntMatrix, IntVector
from ltr_duel.logs.adaptive import policies_of
from ltr_duel.logs.log import ClickLog
from ltr_duel.logs.outcomes import credited

ERROR = 0.01  # chance of a false alarm of a test
_BLOCKS = 10  # of time, for what should not change
_STEPS = 240  # of time, for gaps
_PLACES = 10
_RATE = 0.01  # of rows or events, from which on a fault is more than an accident
_HEAVY, _PAGES, _ROBOT = 0.02, 50, 0.95  # share of a user; pages from which one is judged; share of pages with a click
_LONELY = 1e-6  # chance of a gap in a day of even traffic


class Finding(NamedTuple):
    """What a check found.

    Examples
    --------
    >>> Finding("repeated rows", "sound", 0.0, "0 rows are there twice").verdict
    'sound'
    """

    name: str
    verdict: str  # "sound", "fails", or "not checked"
    number: float  # p-value of a test, or a rate
    sentence: str


def check_log(log: ClickLog, rankers: Collection[str] = (), *, planned: str = "") -> list[Finding]:
    """Check whether the experiment behind a log is sound.

    Tests of the coins assume that each list was drawn anew: where lists are kept for a user or query, so are their
    coins.

    Parameters
    ----------
    log : ClickLog
        Made with ``skip_bad=None``, so that repeated impressions are counted.
    rankers : collection of str
        The only legal ones, or none for any.
    planned : {"", "even"}
        Whether all sets of rankers were to be shown alike; by default that is not checked.

    Returns
    -------
    list of Finding

    Raises
    ------
    InputError
        If the log cannot be read or credited.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from ltr_duel.data import make_corpus
    >>> from ltr_duel.logs import ClickLog, simulate_log
    >>> from ltr_duel.rankers import feature_rankers
    >>> rankings = feature_rankers(make_corpus(queries=20, documents=8, features=2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "clicks.parquet"
    ...     _ = simulate_log(path, rankings, pairs="team_draft", horizon=400)
    ...     found = check_log(ClickLog(path))
    >>> {one.verdict for one in found} <= {"sound", "not checked"}
    True
    """
    rows = credited(log, rankers).rows
    engine = log.engine
    first, last, n = (log.facts(rows, rankers)[name] for name in ("first", "last", "n"))
    found = [repeated_ids(log, n)]
    if "user" in rows.columns:
        found += [_same_moment(engine, rows, n), *_users(engine, rows, n, log.known.get(("users", *rankers)))]
    whole = log.loaded.events is None or "owners" in log.loaded.exposures.columns  # not of clicked items only
    if {"owners", "rankers"} <= set(rows.columns) and whole:
        owned = rows.filter(rows.owners.notnull() & rows.rankers.notnull())
        found += _owners(engine, owned, first, last, planned, policies_of(engine, rows)[1])
    found.append(_gaps(engine, rows, first, last, n))
    if log.loaded.events is not None:
        found += _events(engine, log.loaded.exposures, log.loaded.events)
    return found


def tested(name: str, p: float, sentence: str) -> Finding:
    """Return the finding of a test."""
    return Finding(
        name, "fails" if p < ERROR else "sound", p, f"{sentence} (p {'< 1e-12' if p < 1e-12 else f'= {p:.2g}'})"
    )


def limited(name: str, rate: float, most: float, sentence: str) -> Finding:
    """Return the finding of a rate that may be at most so large."""
    return Finding(name, "fails" if rate > most else "sound", rate, sentence)


def even(counts: IntVector) -> float:
    """Return the p-value of "all were equally likely"; 1 if there is one only."""
    return float(stats.chisquare(counts).pvalue) if len(counts) > 1 else 1.0


def fair(heads: IntVector, tosses: IntVector) -> float:
    """Return the p-value of "all these coins are fair", exact for each and corrected for their number (Bonferroni)."""
    p = [stats.binomtest(int(h), int(n)).pvalue for h, n in zip(heads, tosses, strict=True) if n]
    return min(1.0, len(p) * min(p)) if p else 1.0


def unchanged(table: IntMatrix) -> float:
    """Return the p-value of "rows have the same shares in each column"; rows expected below 5 are put together."""
    table = table[:, table.sum(axis=0) > 0]
    if not table.size:
        return 1.0
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0).min() / max(table.sum(), 1)
    rare = expected[:, 0] < 5
    table = np.concatenate([table[~rare], table[rare].sum(axis=0, keepdims=True)])
    table = table[table.sum(axis=1) > 0]
    if min(table.shape) < 2 or (table.sum(axis=1) * table.sum(axis=0).min() / table.sum()).min() < 5:
        return 1.0
    return float(stats.chi2_contingency(table, correction=False).pvalue)


def repeated_ids(log: ClickLog, impressions: int) -> Finding:
    """Count the rows that were left out because their impression had been there before."""
    number = log.bad.repeated
    rate = number / max(impressions + number, 1)
    return limited("repeated impressions", rate, 0.0, f"{number:,} rows repeat an impression of another row")


def _same_moment(engine: Any, rows: Any, n: int) -> Finding:
    named = rows.filter(rows.user.notnull())
    often = named.group_by("user", "query", "time").agg(n=named.count())
    number = 0
    if not engine.all_differ(named, "user", "time"):
        number = engine.value(often.aggregate(n=(often.n - 1).sum().coalesce(0)))
    sentence = f"{number:,} rows have user, query and time of another row"
    return limited("repeated rows", number / n, _RATE / 10, sentence)


def _users(engine: Any, rows: Any, n: int, known: tuple[int, int] | None) -> list[Finding]:
    named = rows.filter(rows.user.notnull())
    each = named.group_by("user").agg(n=named.count(), clicked=(named.clicks.length() > 0).sum())
    robot = (each.n >= _PAGES) & (each.clicked >= _ROBOT * each.n)
    about = each.aggregate(
        users=each.count(), most=each.n.max().coalesce(0), robots=robot.sum().coalesce(0),
        pages=robot.ifelse(each.n, 0).sum().coalesce(0),
    )  # fmt: skip
    if known and known[1] < _PAGES:  # the comparison has counted users, and there is no robot among them
        found = {"users": known[0], "most": known[1], "robots": 0, "pages": 0}
    else:
        (found,) = engine.run(about).to_pylist()
    most, limit = found["most"] / n, min(max(_HEAVY, 20 / max(found["users"], 1)), 1.0)
    robots = (
        f"{found['robots']:,} users with {_PAGES} pages or more click on nearly all; they have {found['pages']:,} pages"
    )
    usual = f"; up to {limit:.1%} is usual" if limit < 1 else ""
    heavy = f"one of {found['users']:,} users has {most:.1%} of the impressions{usual}"
    return [
        limited("heaviest user", most, limit, heavy if found["users"] else "no impression names its user"),
        limited("robots", found["pages"] / n, _RATE / 10, robots),
    ]


def _owners(engine: Any, rows: Any, first: float, last: float, planned: str, policies: list[str]) -> list[Finding]:
    """Check the coins of the draft and the sets of rankers, together and over time."""
    import ibis

    span = max(last - first, 1e-9) * (1 + 1e-9)
    two = rows.mutate(
        block=((rows.time - first) / span * _BLOCKS).floor().cast("int64"),
        owned=ibis.ifelse(rows.owners[0] >= 0, rows.owners[0], rows.owners.filter(lambda owner: owner >= 0)[0]),
        lower=ibis.ifelse(rows.rankers[0] < rows.rankers[1], 0, 1),
    )
    two = two.mutate(first=ibis.cases((two.owned.isnull(), -1), (two.owned == two.lower, 1), else_=0))
    places = range(1, _PLACES)
    two = two.mutate(**{f"p{k}": ibis.ifelse(two.owners.length() > k, two.owners[k], -1) for k in places})
    sums = {f"h{k}": (two[f"p{k}"] == two.lower).sum() for k in places}
    sums |= {f"n{k}": (two[f"p{k}"] >= 0).sum() for k in places}
    table = engine.run(two.group_by("rankers", "block", "first").agg(n=two.count(), **sums)).to_pylist()
    if not table:  # page tokens or rankings say how to credit
        return []
    names = sorted({tuple(sorted(row["rankers"])) for row in table})
    shown = np.zeros((len(names), _BLOCKS), np.int64)
    heads, tosses, idle = np.zeros((3, len(names), _BLOCKS), np.int64)
    for row in table:
        at = names.index(tuple(sorted(row["rankers"]))), min(row["block"], _BLOCKS - 1)
        shown[at] += row["n"]
        idle[at] += row["n"] * (row["first"] < 0)
        if len(row["rankers"]) == 2 and row["first"] >= 0:
            tosses[at] += row["n"]
            heads[at] += row["n"] * (row["first"] == 1)
    found = []
    kinds = f"{len(names)} set{'s' if len(names) > 1 else ''} of rankers"
    if planned == "even":
        found.append(tested("pairs shown", even(shown.sum(axis=1)), f"{kinds}, planned to be shown alike"))
    elif len(names) > 1:
        found.append(
            Finding("pairs shown", "not checked", np.nan, f"{kinds}; --planned even checks that all were alike")
        )
    if policies:
        shifts = f"{' and '.join(policies)} chose the rankers by earlier outcomes, so that shares change"
        found.append(Finding("pairs over time", "not checked", np.nan, shifts))
    else:
        found.append(tested("pairs over time", unchanged(shown), f"{kinds}, in tenths of the time"))
    if len(names) > 1:
        empty = np.stack([idle.sum(axis=1), (shown - idle).sum(axis=1)])
        found.append(tested("empty pages", unchanged(empty), f"pages without an owned place, of {kinds}"))
    first_places = fair(heads.sum(axis=1), tosses.sum(axis=1))
    share = heads.sum() / max(tosses.sum(), 1)
    sentence = f"the ranker whose name comes first owns {share:.2%} of the first owned places"
    found.append(tested("owners of place 1", first_places, sentence))
    coins = np.stack([heads.sum(axis=0), (tosses - heads).sum(axis=0)])
    found.append(tested("owners over time", unchanged(coins), "who owns the first owned place, in tenths of the time"))
    pairs = [row for row in table if len(row["rankers"]) == 2]
    by_place = np.array([[sum(row[f"{kind}{k}"] for row in pairs) for k in range(1, _PLACES)] for kind in "hn"])
    found.append(tested("owners by place", fair(*by_place), f"who owns places 2 to {_PLACES}"))
    return found


def _gaps(engine: Any, rows: Any, first: float, last: float, n: int) -> Finding:
    """Look for steps of the clock, and for time in which nothing was logged."""
    span = max(last - first, 1e-9) * (1 + 1e-9)
    step = ((rows.time - first) / span * _STEPS).floor().cast("int64")
    found = engine.run(rows.group_by(step=step).agg(n=rows.count())).to_pydict()
    seen = np.zeros(_STEPS, np.bool_)
    seen[np.minimum(found["step"], _STEPS - 1)] = True
    longest = int(np.diff(np.flatnonzero(seen)).max(initial=1)) - 1
    quiet = np.log(max(n, 2) / _LONELY) * 4 / max(n, 1)  # four times the longest gap of even traffic
    share = longest / _STEPS
    sentence = f"the longest time without an impression is about {share:.1%} of the whole"
    return limited("gaps and clock steps", share, max(quiet, 0.2), sentence)


def _events(engine: Any, exposures: Any, events: Any) -> list[Finding]:
    exact = events.filter(events.impression.notnull())
    total = max(engine.value(exact.count()), 1)
    lost = engine.value(exact.anti_join(exposures, "impression").count())
    met = exact.join(exposures.select("impression", shown_at=exposures.time), "impression")
    early = engine.value(met.filter(met.time < met.shown_at).count())
    last, number = engine.run(events.aggregate(last=events.time.max(), n=events.time.count())).to_pylist()[0].values()
    after = engine.value((exposures.time > last).sum().coalesce(0)) if number else 0
    shown = max(engine.value(exposures.count()), 1)
    usual = max(_RATE, -np.log(ERROR) / max(number, 1))  # where events are spread as the exposures are
    return [
        limited(
            "events to come", after / shown, usual, f"{after:,} of {shown:,} exposures are later than the last event"
        ),
        limited(
            "events without exposure", lost / total, _RATE, f"{lost:,} of {total:,} events name no exposure of the log"
        ),
        limited(
            "events before exposure", early / total, _RATE, f"{early:,} of {total:,} events are before their exposure"
        ),
    ]


def finding_lines(found: list[Finding], *, only_failures: bool = False) -> list[str]:
    """Say what the checks found, failures first.

    Parameters
    ----------
    found : list of Finding
    only_failures : bool

    Returns
    -------
    list of str

    Examples
    --------
    >>> finding_lines([Finding("robots", "sound", 0.0, "0 users click on nearly all")])
    ['sound: robots: 0 users click on nearly all']
    """
    order = ("fails", "sound", "not checked")
    chosen = [one for one in found if one.verdict == "fails" or not only_failures]
    return [
        f"{one.verdict}: {one.name}: {one.sentence}" for one in sorted(chosen, key=lambda one: order.index(one.verdict))
    ]
