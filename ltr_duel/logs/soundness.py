"""Checks of the experiment behind a log, to be made before its result is used.

Tests fail at p < 0.01, so that each raises an alarm for at most one sound log in a hundred. Other checks compare a rate
with a limit, which is far above the rates of sound logs.

Fabijan et al. Diagnosing Sample Ratio Mismatch in Online Controlled Experiments. KDD 2019.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import IntVector, several
from ltr_duel.logs.adaptive import policies_of
from ltr_duel.logs.coins import owner_findings
from ltr_duel.logs.findings import ERROR, RATE, Finding, limited, seldom, usual_share
from ltr_duel.logs.hashing import hash_texts
from ltr_duel.logs.log import ClickLog
from ltr_duel.logs.loose import loose_sentence, outside, uncounted
from ltr_duel.logs.outcomes import credited
from ltr_duel.logs.rows import repeating
from ltr_duel.logs.sums import sorted_columns

_STEPS = 240  # number of time steps in which gaps are measured
_OUTSIDE = 0.2  # usual maximum share of events on items outside the list, such as advertisements
_OVERTAKEN = 0.05  # usual maximum share of clicked lists with a click after the user's next list, as in an old window
_PAGES, _ROBOT = 50, 0.95  # minimum number of pages of a robot; minimum share of its pages with a click
_NO_OWNERS = (
    "pairs shown; owners by position and over time; A/A"
    " (these checks require the column 'owners' for all shown documents)"
)
_LONELY = 1e-6  # probability that uniform traffic has a gap longer than a quarter of the limit


def check_log(log: ClickLog, rankers: Collection[str] = (), *, planned: str = "") -> list[Finding]:
    """Check whether the experiment behind a log is sound.

    Tests of the draft's coins assume that each list is sampled independently; a list that is cached for a user or query
    repeats its coins. A user may always be shown the same set of rankers, because a test of how often sets are shown
    fails only if it also fails with all pages of a user summed up.

    Parameters
    ----------
    log : ClickLog
        Log opened with ``skip_bad=None``, so that repeated impressions are counted.
    rankers : collection of str
        The permitted rankers; by default, all rankers are permitted.
    planned : {"", "even"}
        Whether all sets of rankers were planned to be shown equally often; by default this is not checked.

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
    found = [_repeated_ids(log, n)]
    if not log.facts(rows, rankers)["clicked"]:
        ids = ", or are the ids of impressions in another form" if log.loaded.events is not None else ""
        said = f"no impression has a counted event ({log.outcome.name}): are events in another column or file{ids}?"
        found.append(Finding("clicks", "fails", 0.0, said))
    if "user" in rows.columns:
        found.append(_same_moment(engine, rows, n, timed=log.loaded.ordered and not log.bad.removed))
        found += _users(engine, rows, n, log.known.get(("users", *rankers)))
    whole = log.loaded.events is None or "owners" in log.loaded.exposures.columns  # owners of all shown items
    coins = list[Finding]()
    if {"owners", "rankers"} <= set(rows.columns) and whole:
        owned = rows.filter(rows.owners.notnull() & rows.rankers.notnull())
        orders = sorted({tuple(kind["rankers"]) for kind in log.kinds(rows) if kind["given"] and kind["rankers"]})
        coins = owner_findings(engine, owned, (first, last), planned, policies_of(engine, rows), orders)
    found += coins or [Finding("coins of the draft", "not checked", np.nan, _NO_OWNERS)]
    found.append(_gaps(engine, rows, first, last, n))
    if log.loaded.events is not None:
        found += _events(log)
    return found


def _repeated_ids(log: ClickLog, impressions: int) -> Finding:
    """Count the rows that were skipped because they repeat an impression."""
    number = log.bad.repeated
    rate = number / max(impressions + number, 1)
    first = "; the first row of each counts" if number else ""
    return limited("repeated impressions", rate, 0.0, f"{number:,} rows repeat an impression of another row{first}")


def _same_moment(engine: Any, rows: Any, n: int, *, timed: bool) -> Finding:
    """Count repeated rows; sorted rows are searched only if two neighbouring rows have the same time."""
    named, number = rows.select("user", "query", "time"), 0
    times = rows.select("time")
    times = times.mutate(before=times.time.lag())
    if not timed or engine.value(times.count(where=times.time == times.before)):
        named = named.filter(named.user.notnull())
        often = named.group_by("user", "query", "time").agg(n=named.count())
        number = engine.value(often.aggregate(n=(often.n - 1).sum().coalesce(0)))
    sentence = f"{number:,} rows have the same user, query and time as another row"
    return limited("repeated rows", number / n, RATE / 10, sentence)


def _users(engine: Any, rows: Any, n: int, known: tuple[int, int] | None) -> list[Finding]:
    if known and known[1] < _PAGES:  # already counted, and no user has enough pages to qualify as a robot
        users, most, robots, pages = *known, 0, 0
    else:
        named = rows.filter(rows.user.notnull())
        each = named.group_by("user").agg(n=named.count(), clicked=(named.clicks.length() > 0).sum().cast("int64"))
        alike = sorted_columns(engine.run(each.group_by("n", "clicked").agg(users=each.count())))
        users, most = int(alike["users"].sum()), int(alike["n"].max(initial=0))
        found = robots_among(alike["n"], alike["clicked"], alike["users"])
        robots, pages = _unlike_their_queries(engine, named, each, alike, found) if found.any() else (0, 0)
    limit = usual_share(users)
    said = f"no user with {_PAGES} or more pages clicks on nearly all of them, much more often than others do"
    if robots:
        of = several(robots, "user")
        said = f"{of} with {_PAGES} or more pages clicked on nearly all of {several(pages, 'page')}"
    usual = f"; up to {limit:.1%} is usual" if limit < 1 else ""
    share = f"{most / n:.1%} of the" if most / n >= 0.0005 else f"{most:,} of the {n:,}"  # avoids "0.0%"
    heavy = f"one of {users:,} users has {share} impressions{usual}"
    return [
        limited("heaviest user", most / n, limit, heavy if users else "no impression has a user"),
        limited("robots", pages / n, RATE / 10, said),
    ]


def robots_among(pages: IntVector, clicked: IntVector, users: IntVector) -> NDArray[np.bool_]:
    """Return which kinds of users are robots: they click on nearly all of their many pages, far more often than others.

    Users of one kind have the same numbers of pages and of pages with a click. The shares of clicked pages of the other
    users are modelled by a Beta distribution with the same mean and variance; p is corrected for the number of users
    with many pages.
    """
    rate, many = clicked / np.maximum(pages, 1), pages >= _PAGES
    found = np.zeros(len(pages), np.bool_)
    for k in np.flatnonzero(many & (rate >= _ROBOT)):
        others = users - (np.arange(len(users)) == k)
        if others.any():
            mean = others @ rate / others.sum()
            chance = mean * (1 - mean)
            beyond = others @ ((rate - mean) ** 2 - chance / pages) / max(others @ (1 - 1 / pages), 1e-9)
            found[k] = _as_often(pages[k], clicked[k], mean, beyond) * users[many].sum() < ERROR
    return found


def _unlike_their_queries(
    engine: Any, named: Any, each: Any, alike: dict[str, IntVector], found: NDArray[np.bool_]
) -> tuple[int, int]:
    """Return the number of robots that click more than other users on the same queries, and the number of their pages.

    If only one user has issued a query, all of this user's pages for it count as one page, so that a favourite query
    does not make its user a robot.
    """
    of_user = named.select("user", "query", clicked=(named.clicks.length() > 0).cast("int64"))
    of_query = of_user.group_by("query").agg(all_n=of_user.count(), all_clicked=of_user.clicked.sum().cast("int64"))
    robots = each.filter((each.n >= _PAGES) & (each.clicked >= _ROBOT * each.n)).select("user")
    own = of_user.semi_join(robots, "user").group_by("user", "query")
    own = own.agg(n=lambda t: t.count(), clicked=lambda t: t.clicked.sum().cast("int64")).join(of_query, "query")
    table = engine.run(own)
    n, clicked, all_n, all_clicked = (
        table.column(name).to_numpy() for name in ("n", "clicked", "all_n", "all_clicked")
    )
    usual = (alike["users"] @ alike["clicked"]) / (alike["users"] @ alike["n"])
    share = np.divide(all_clicked - clicked, all_n - n, out=np.full(len(n), usual), where=all_n > n)
    weight = np.where(all_n > n, 1.0, 1 / n)
    names, user = np.unique(hash_texts(table.column("user").combine_chunks()), return_inverse=True)
    parts = (n, clicked, weight * n, weight * clicked, weight * n * share)
    pages, clicks, trials, hits, expected = (np.bincount(user, part, len(names)) for part in parts)
    kinds = set(zip(alike["n"][found].tolist(), alike["clicked"][found].tolist(), strict=True))
    many = alike["users"][alike["n"] >= _PAGES].sum()
    sure = [
        k
        for k in range(len(names))
        if (pages[k], clicks[k]) in kinds
        and _as_often(np.ceil(trials[k]), np.floor(hits[k]), expected[k] / trials[k], 0) * many < ERROR
    ]
    return len(sure), int(pages[sure].sum())


def _as_often(pages: float, clicked: float, mean: float, variance: float) -> float:
    """Return the probability of at least `clicked` pages with a click, given the mean and variance of users' shares."""
    from scipy import stats

    chance = mean * (1 - mean)
    if variance <= 1e-6 * chance or chance <= 0:
        return float(stats.binom.sf(clicked - 1, pages, mean))
    alike = max(chance / variance - 1, 1e-3)
    return float(stats.betabinom.sf(clicked - 1, pages, mean * alike, (1 - mean) * alike))


def _gaps(engine: Any, rows: Any, first: float, last: float, n: int) -> Finding:
    """Check for long periods without rows, as after an outage or if the clock was set forward."""
    span = max(last - first, 1e-9) * (1 + 1e-9)
    step = ((rows.time - first) / span * _STEPS).floor().cast("int64")
    found = engine.run(rows.group_by(step=step).agg(n=rows.count())).to_pydict()
    seen = np.zeros(_STEPS, np.bool_)
    seen[np.minimum(found["step"], _STEPS - 1)] = True
    longest = int(np.diff(np.flatnonzero(seen)).max(initial=1)) - 1
    quiet = np.log(max(n, 2) / _LONELY) * 4 / max(n, 1)  # four times the gap that uniform traffic rarely exceeds
    share = longest / _STEPS
    sentence = f"the longest gap is {f'{share:.1%}' if longest else f'below {1 / _STEPS:.1%}'} of the log's time"
    return limited("gaps", share, max(quiet, 0.2), sentence)


def _events(log: ClickLog) -> list[Finding]:
    engine, table, events, met = log.engine, log.table, log.loaded.events, log.loaded.met
    about = events.aggregate(last=events.time.max(), timed=events.time.count(), total=events.impression.count())
    last, number, total = engine.run(about).to_pylist()[0].values()
    lost = engine.value(met.count(where=met.row.isnull()))
    if log.bad.repeated:  # an event belongs only to the first row of its impression
        again = repeating(table.filter(table.impression.notnull()))
        table = table.anti_join(again.select("line"), "line")
        met = met.join(table.select("row", first="time"), "row")
        met = met.filter(met.shown_at == met.first)
    about = met.aggregate(early=met.count(where=met.time < met.shown_at), n=met.count(where=met.time >= met.shown_at))
    early, later = engine.run(about).to_pylist()[0].values()
    after = engine.value((table.time > last).sum().coalesce(0)) if number else 0
    shown = max(engine.value(table.count()), 1)
    usual = max(RATE, -np.log(ERROR) / max(number, 1))  # rarely exceeded if events are spread over time like exposures
    to_come = f"{after:,} of {shown:,} exposures are later than the last event"
    unknown = "have no exposure in the log"
    if lost:
        strange = events.filter(events.impression.notnull()).anti_join(log.loaded.exposures, "impression")
        unknown += f", for example the event of impression '{engine.value(strange.impression.min())}'"
    found = [
        limited("events to come", after / shown, usual, to_come)
        if number
        else Finding("events to come", "not checked", np.nan, "no event has a time"),
        _seldom("events without exposure", lost, total, unknown, "event names an impression"),
        _seldom(
            "events before exposure", early, early + later, "are before their exposure", "event has a time and exposure"
        ),
    ]
    if (of_lists := outside(log))[1]:
        lost, total, said = of_lists
        said = said or f"all {total:,} events ({log.outcome.name}) are on an item of their list"
        found.append(seldom("events outside lists", lost, total, _OUTSIDE, said))
    if said := loose_sentence(log):
        found.append(Finding("events without impression", "not checked" if uncounted(log) else "sound", np.nan, said))
    return [*found, _overtaken(engine, table, met)] if "user" in table.columns else found


def _seldom(name: str, number: int, total: int, are: str, what: str) -> Finding:
    """Return the finding for a share of events that should be small."""
    if not total:
        return Finding(name, "not checked", np.nan, f"no {what}")
    return seldom(name, number, total, RATE, f"{number:,} of {total:,} events {are}")


def _overtaken(engine: Any, table: Any, met: Any) -> Finding:
    """Count the clicked lists with a click after the user's next list, for example because a page keeps an old id."""
    import ibis

    named = table.filter(table.user.notnull())
    named = named.select("row", next=named.time.lead().over(ibis.window(group_by="user", order_by="line")))
    clicks = met.filter(met.kind == "click").group_by("row").agg(last=met.time.max())
    both = clicks.join(named, "row")
    (found,) = engine.run(both.aggregate(n=both.count(), late=(both.last > both.next).sum().coalesce(0))).to_pylist()
    if not found["n"]:
        return Finding("events out of order", "not checked", np.nan, "no list of a known user has a click")
    sentence = (
        f"{found['late']:,} of {found['n']:,} clicked lists have a click after the user's next list; up to"
        f" {_OVERTAKEN:.0%} is usual"
    )
    return seldom("events out of order", int(found["late"]), found["n"], _OVERTAKEN, sentence)
