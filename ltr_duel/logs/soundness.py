"""Checks of the experiment behind a log, to be made before its result is used.

Tests fail at p < 0.01, so that each raises an alarm for at most one sound log in a hundred. Other checks compare a rate
with a limit, which is far above the rates of sound logs.

An experiment may show a user the same set of rankers every time, so that the lists of a user are no independent
samples. The frequencies of sets are therefore those of the first list of each user (for changes over time, of the first
list in each tenth of the time).

Fabijan et al. Diagnosing Sample Ratio Mismatch in Online Controlled Experiments. KDD 2019.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import combinations
from typing import Any

import numpy as np
from scipy import stats

from ltr_duel.core import IntMatrix, IntVector, errors, several
from ltr_duel.logs.adaptive import policies_of
from ltr_duel.logs.findings import (
    ERROR,
    RATE,
    Finding,
    even,
    fair,
    least_p,
    limited,
    not_checked,
    seldom,
    tested,
    unchanged,
    usual_share,
)
from ltr_duel.logs.log import ClickLog
from ltr_duel.logs.loose import outside
from ltr_duel.logs.outcomes import credited
from ltr_duel.logs.rows import repeating
from ltr_duel.logs.sums import sorted_columns

_STEPS = 240  # number of time steps in which gaps are measured
_BLOCKS = 10  # number of blocks of time between which shares are compared
_PLACES = 10  # number of positions whose owners are used
_OUTSIDE = 0.2  # usual maximum share of events on items outside the list, such as advertisements
_ROBOT, _CLICKED = 50, 0.95  # minimum number of lists of a robot; minimum share of its lists with a click
_ONE_OWNER = 0.75  # usual maximum share of lists of one ranker only
_EACH = 20  # minimum number of lists per ranker for a test of position 1 of three or more rankers
_LONELY = 1e-6  # probability that uniform traffic has a gap longer than a quarter of the limit
_NO_OWNERS = "these checks require the column 'owners' for all shown documents"


def check_log(log: ClickLog, rankers: Collection[str] = (), *, planned: str = "") -> list[Finding]:
    """Check whether the experiment behind a log is sound.

    Tests of the first position assume that each list is sampled independently; a list that is cached for a user or
    query repeats its order.

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
    errors.require_one_of("planned frequencies", planned or "even", ("even",))
    rows = credited(log, rankers).rows
    about = log.facts(rows, rankers)
    number = log.bad.repeated
    said = f"{number:,} rows repeat an impression of another row" + "; the first row of each counts" * bool(number)
    found = [limited("repeated impressions", number / max(about["n"] + number, 1), 0.0, said)]
    if not about["clicked"]:
        ids = ", or are the ids of impressions in another form" if log.loaded.events is not None else ""
        said = f"no impression has a counted event ({log.outcome.name}): are events in another column or file{ids}?"
        found.append(Finding("clicks", "fails", 0.0, said))
    found += _users(log, rows, about["n"])
    found += _rankers(log, rows, (about["first"], about["last"]), planned)
    found.append(_gaps(log.engine, rows, about["first"], about["last"], about["n"]))
    return found + (_events(log) if log.loaded.events is not None else [])


def _users(log: ClickLog, rows: Any, n: int) -> list[Finding]:
    """Check for rows that were written twice, heavy users, and robots."""
    engine = log.engine
    named = rows.filter(rows.user.notnull()) if "user" in rows.columns else None
    if named is None or not engine.value(named.count()):
        said = "no impression has a user"
        return [not_checked(name, said) for name in ("repeated rows", "heaviest user", "robots")]
    often = named.group_by("user", "query", "time").agg(n=named.count())
    repeated = engine.value(often.aggregate(n=(often.n - 1).sum().coalesce(0)))
    sentence = f"{repeated:,} rows have the same user, query and time as another row"
    found = [limited("repeated rows", repeated / n, RATE / 10, sentence)]
    each = named.group_by("user").agg(n=named.count(), clicked=(named.clicks.length() > 0).sum().cast("int64"))
    alike = sorted_columns(engine.run(each.group_by("n", "clicked").agg(users=each.count())))
    lists, clicked, users = alike["n"], alike["clicked"], alike["users"]
    number, most = int(users.sum()), int(lists.max())
    limit = usual_share(number)
    share = f"{most / n:.1%} of the" if most / n >= 0.0005 else f"{most:,} of the {n:,}"  # avoids "0.0%"
    usual = f"; up to {limit:.1%} is usual" if limit < 1 else ""
    said = f"one of {number:,} users has {share} impressions{usual}"
    found.append(limited("heaviest user", most / n, limit, said))
    many = lists >= _ROBOT
    often = many & (clicked >= _CLICKED * lists)
    p = np.array([_as_often(int(k), lists, clicked, users) for k in np.flatnonzero(often)])
    robot = np.zeros(len(lists), np.bool_)
    robot[often] = p * users[many].sum() < ERROR
    pages = int((lists * users)[robot].sum())
    said = f"no user with {_ROBOT} or more lists clicks on nearly all of them, much more often than others do"
    if pages:
        of = several(int(users[robot].sum()), "user")
        said = f"{of} with {_ROBOT} or more lists clicked on nearly all of {several(pages, 'list')}"
    return [*found, limited("robots", pages / n, RATE, said)]


def _as_often(k: int, lists: IntVector, clicked: IntVector, users: IntVector) -> float:
    """Return the probability that a user like kind k clicks on so many lists, if this user is like the others.

    The shares of clicked lists of the other users have a Beta distribution with the same mean and variance.
    """
    others, rate = users - (np.arange(len(users)) == k), clicked / lists
    if not others.any():
        return 1.0
    mean = others @ rate / others.sum()
    chance = max(mean * (1 - mean), 1e-9)
    variance = others @ ((rate - mean) ** 2 - chance / lists) / max(others @ (1 - 1 / lists), 1e-9)
    if variance <= 1e-6 * chance:
        return float(stats.binom.sf(clicked[k] - 1, lists[k], mean))
    alike = max(chance / variance - 1, 1e-3)
    return float(stats.betabinom.sf(clicked[k] - 1, lists[k], mean * alike, (1 - mean) * alike))


def _rankers(log: ClickLog, rows: Any, ends: tuple[float, float], planned: str) -> list[Finding]:
    """Check how often each set of rankers was shown, and which ranker owns the positions of the lists."""
    engine, have = log.engine, set(rows.columns)
    if "rankers" not in have:
        return [not_checked("rankers and owners", _NO_OWNERS)]
    t = rows.filter(rows.rankers.notnull()).filter(lambda one: one.rankers.length() > 1)
    span = max(ends[1] - ends[0], 1e-9) * (1 + 1e-9)
    t = t.mutate(block=((t.time - ends[0]) / span * _BLOCKS).floor().cast("int64"))
    sets = sorted({tuple(sorted(one)) for one in engine.run(t.select("rankers").distinct())["rankers"].to_pylist()})
    if not sets:
        return [not_checked("rankers and owners", _NO_OWNERS)]
    once, by_time = (_shown(engine, t, sets, by_block=by_block) for by_block in (False, True))
    found = [_pairs_shown(sets, once, planned), _pairs_over_time(engine, t, sets, by_time, policies_of(engine, rows))]
    whole = log.loaded.events is None or "owners" in log.loaded.exposures.columns  # owners of all shown documents
    if "owners" not in have or not whole:
        return [*found, not_checked("owners of position 1, interleaved lists", _NO_OWNERS)]
    return [*found, *_owners(engine, t.filter(t.owners.notnull()), sets)]


def _shown(engine: Any, t: Any, sets: list[tuple[str, ...]], *, by_block: bool) -> IntMatrix:
    """Return how often each set of rankers was on the first list of a user (in each tenth of the time)."""
    if "user" in t.columns:
        key = t.user.coalesce(t.line.cast("string"))
        lines = t.group_by(key=key, **({"block": t.block} if by_block else {})).agg(line=t.line.min())
        t = t.semi_join(lines, "line")
    counted = engine.run(t.group_by("rankers", "block").agg(n=t.count())).to_pydict()
    index, shown = {one: k for k, one in enumerate(sets)}, np.zeros((len(sets), _BLOCKS), np.int64)
    for names, block, n in zip(*(counted[name] for name in ("rankers", "block", "n")), strict=True):
        shown[index[tuple(sorted(names))], min(block, _BLOCKS - 1)] += n
    return shown


def _pairs_shown(sets: list[tuple[str, ...]], shown: IntMatrix, planned: str) -> Finding:
    """Test whether all sets of rankers were shown equally often; a set that was never shown counts with 0 lists."""
    kinds = several(len(sets), "set") + " of rankers"
    if planned != "even":
        said = f"{kinds}; --planned even tests for equal frequencies"
        return not_checked("pairs shown", said) if len(sets) > 1 else Finding("pairs shown", "sound", 1.0, kinds)
    counts, sizes = shown.sum(axis=1), {len(one) for one in sets}
    missing: list[tuple[str, ...]] = []
    if len(sizes) == 1:
        names = sorted({name for one in sets for name in one})
        missing = sorted(set(combinations(names, sizes.pop())) - set(sets))
    said = f"{kinds}, planned to be shown equally often"
    if missing:
        said += f"; never shown: {' and '.join(missing[0])}" + f" and {len(missing) - 1:,} more" * (len(missing) > 1)
    return tested("pairs shown", even(np.append(counts, np.zeros(len(missing), np.int64))), said)


def _pairs_over_time(
    engine: Any, t: Any, sets: list[tuple[str, ...]], shown: IntMatrix, policies: list[str]
) -> Finding:
    """Test whether the shares of the sets of rankers stay the same."""
    if policies:
        names = " and ".join(policies)
        return not_checked("pairs over time", f"{names} chose the rankers by earlier outcomes, so shares change")
    if len(sets) < 2:
        return Finding("pairs over time", "sound", 1.0, "there is only one set of rankers")
    if "propensity" in t.columns:
        known = t.filter(t.propensity.notnull())
        kinds = known.select("rankers", "propensity").distinct().count(), known.select("rankers").distinct().count()
        if engine.value(kinds[0]) > engine.value(kinds[1]):
            return not_checked("pairs over time", "propensities of the same rankers differ, so shares change")
    p, said = unchanged(shown), f"shares of {several(len(sets), 'set')} of rankers, by tenths of the time"
    some = shown > 0
    parts = [(some[:, :k].any(axis=1), some[:, k:].any(axis=1)) for k in range(1, _BLOCKS)]
    if p < ERROR and any(a.any() and b.any() and not (a & b).any() for a, b in parts):
        said += "; the sets shown first are never shown again later: use a separate folder for each experiment"
    return tested("pairs over time", p, said)


def _owners(engine: Any, t: Any, sets: list[tuple[str, ...]]) -> list[Finding]:
    """Check that lists have documents of several rankers, and that each ranker owns the first position equally often.

    A log may omit the owners of documents that rankers share, such as a common top. Of two rankers, either is as likely
    to own the first position with an owner; of more rankers, only if all their lists have an owner at position 1.
    """
    import ibis

    places = [t.owners[k].coalesce(-1) for k in range(_PLACES)]
    first = ibis.coalesce(*(place.nullif(-1) for place in places), -1)
    others = sum(ibis.ifelse((place >= 0) & (place != first), 1, 0) for place in places)
    owned = sum(ibis.ifelse(place >= 0, 1, 0) for place in places)
    keys = {"first": first, "top": places[0], "several": others > 0, "long": owned > 1}
    counted = engine.run(t.group_by("rankers", **keys).agg(n=t.count())).to_pylist()
    long = sum(row["n"] for row in counted if row["long"])
    alone = sum(row["n"] for row in counted if row["long"] and not row["several"])
    name = "interleaved lists"
    if long:
        said = f"{alone:,} of {long:,} lists of two or more documents with an owner have documents of one ranker only"
        if alone > _ONE_OWNER * long:
            said += "; is this an A/B test (one ranker per list), or a session or time used as impression?"
        found = [limited(name, alone / long, _ONE_OWNER, said)]
    else:
        found = [not_checked(name, "no list has two documents with an owner")]
    p: list[tuple[float, str]] = []
    for one in sets:
        lists = [row for row in counted if tuple(sorted(row["rankers"])) == one and row["first"] >= 0]
        lacks = len(one) > 2 and any(
            row["top"] < 0 for row in counted if tuple(sorted(row["rankers"])) == one and row["long"]
        )
        heads = np.zeros(len(one), np.int64)
        for row in lists:
            heads[one.index(row["rankers"][row["first"]])] += row["n"]
        total = int(heads.sum())
        if not total or (len(one) > 2 and (lacks or total < _EACH * len(one))):
            continue
        most = int(heads.argmax())
        of = "the first owned positions" if len(one) == 2 else f"the first positions of {len(one)} rankers"
        of += f" against {one[1 - most]}" if len(one) == 2 and len(sets) > 1 else ""
        said = f"{one[most]} owns {heads[most] / total:.2%} of {of}"
        p.append((fair(int(heads[0]), total) if len(one) == 2 else even(heads), said))
    name = "owners of position 1"
    if not p:
        return [*found, not_checked(name, "too few lists have an owner at position 1")]
    return [*found, tested(name, least_p([one for one, _ in p]), min(p)[1])]


def _gaps(engine: Any, rows: Any, first: float, last: float, n: int) -> Finding:
    """Check for long periods without rows, as after an outage or if the clock was set forward."""
    span = max(last - first, 1e-9) * (1 + 1e-9)
    step = ((rows.time - first) / span * _STEPS).floor().cast("int64")
    found = engine.run(rows.group_by(step=step).agg(n=rows.count())).to_pydict()
    steps = np.unique(np.minimum(found["step"], _STEPS - 1))
    longest = int(np.diff(steps).max(initial=1)) - 1
    quiet = np.log(max(n, 2) / _LONELY) * 4 / max(n, 1)  # four times the gap that uniform traffic rarely exceeds
    share = longest / _STEPS
    sentence = f"the longest gap is {f'{share:.1%}' if longest else f'below {1 / _STEPS:.1%}'} of the log's time"
    return limited("gaps", share, max(quiet, 0.2), sentence)


def _events(log: ClickLog) -> list[Finding]:
    """Check for events that belong to no exposure or list, and for exposures later than all events."""
    engine, table, events, met = log.engine, log.table, log.loaded.events, log.loaded.met
    about = events.aggregate(last=events.time.max(), timed=events.time.count(), total=events.impression.count())
    last, timed, total = engine.run(about).to_pylist()[0].values()
    if log.bad.repeated:  # an event belongs only to the first row of its impression
        again = repeating(table.filter(table.impression.notnull()))
        table = table.anti_join(again.select("line"), "line")
    name = "events to come"
    found = [not_checked(name, "no event has a time")]
    if timed:
        shown = max(engine.value(table.count()), 1)
        after = engine.value((table.time > last).sum().coalesce(0))
        usual = max(RATE, -np.log(ERROR) / timed)  # rarely exceeded if events are spread over time like exposures
        found = [limited(name, after / shown, usual, f"{after:,} of {shown:,} exposures are later than the last event")]
    name = "events without exposure"
    if total:
        lost = engine.value(met.count(where=met.row.isnull()))
        said = f"{lost:,} of {total:,} events have no exposure in the log"
        if lost:
            strange = events.filter(events.impression.notnull()).anti_join(log.loaded.exposures, "impression")
            said += f", for example the event of impression '{engine.value(strange.impression.min())}'"
        found.append(seldom(name, lost, total, RATE, said))
    else:
        found.append(not_checked(name, "no event names an impression"))
    lost, total, said = outside(log)
    if total:
        said = said or f"all {total:,} events ({log.outcome.name}) are on an item of their list"
        found.append(seldom("events outside lists", lost, total, _OUTSIDE, said))
    return found
