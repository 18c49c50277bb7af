"""Checks of the experiment behind a log, to be made before its result is used.

Tests fail at p < 0.01, so that each raises an alarm for at most one sound log in a hundred. Other checks compare a rate
with a limit, which is far above the rates of sound logs.

An experiment may show a user the same set of rankers every time, so that the lists of a user are no independent
samples. The frequencies of sets are therefore those of the first list of each user (for changes over time, of the first
list in each tenth of the time).

Fabijan et al. Diagnosing Sample Ratio Mismatch in Online Controlled Experiments. KDD 2019.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from ltr_duel.bandits import POLICIES
from ltr_duel.core import InputError, IntMatrix, errors, several
from ltr_duel.logs.findings import ERROR, RATE, Finding, even, limited, not_checked, seldom, tested, unchanged
from ltr_duel.logs.log import ClickLog
from ltr_duel.logs.loose import lost_events
from ltr_duel.logs.outcomes import credited

_STEPS = 240  # number of time steps in which gaps are measured
_BLOCKS = 10  # number of blocks of time between which shares are compared
_POSITIONS = 10  # number of positions whose owners are used
_HEAVY = 0.02  # share of the impressions up to which a user is usual, however many users there are
_ROBOT, _CLICKED = 50, 0.95  # minimum number of lists of a robot; minimum share of its lists with a click
_UNUSUAL = 4.0  # standard deviations by which a robot clicks more often than other users
_ONE_OWNER = 0.75  # usual maximum share of lists of one ranker only
_EACH = 20  # minimum number of lists per ranker for a test of position 1 of three or more rankers
_LONELY = 1e-6  # probability that uniform traffic has a gap longer than a quarter of the limit
_NO_OWNERS = "these checks require the column 'owners' for all shown documents"
Sets = list[tuple[str, ...]]  # sets of rankers, each sorted


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
    >>> import pandas as pd
    >>> row = {"time": 0, "query": "q", "shown": ["x", "y"], "clicks": [2], "rankers": ["old", "new"]}
    >>> log = pd.DataFrame([row | {"impression": k, "owners": [k % 2, 1 - k % 2]} for k in range(100)])
    >>> {finding.verdict for finding in check_log(ClickLog(log))} <= {"sound", "not checked"}
    True
    """
    errors.require_one_of("planned frequencies", planned or "even", ("even",))
    found = credited(log, rankers, columns=("clicks",))
    rows, facts, repeated = found.rows, found.facts, log.bad.repeated
    first = "; the first row of each counts" * (repeated > 0)
    sentence = f"{repeated:,} rows repeat an impression of another row{first}"
    findings = [limited("repeated impressions", repeated / max(facts["n"] + repeated, 1), 0.0, sentence)]
    if not facts["clicked"]:
        ids = ", or are the ids of impressions in another form" * (log.loaded.events is not None)
        sentence = f"no impression has a counted event ({log.outcome.name}): are events in another column or file{ids}?"
        findings.append(Finding("clicks", "fails", 0.0, sentence))
    findings += [*_users(log.engine, rows, facts), *_rankers(log, rows, facts, planned)]
    findings.append(_gaps(log.engine, rows, facts))
    if log.loaded.events is not None:
        findings += [_events_to_come(log), _events_without_exposure(log), *lost_events(log)]
    return findings


def policies_of(engine: Any, rows: Any) -> list[str]:
    """Return the policies of the log that react to outcomes; unregistered policies are assumed to react."""
    if "policy" not in rows.columns:
        return []
    sql = "SELECT policy FROM impressions WHERE policy IS NOT NULL GROUP BY policy ORDER BY min(line)"
    return [name for name in engine.query(sql, impressions=rows)["policy"].to_pylist() if _reacts(name)]


def _reacts(name: str) -> bool:
    try:
        return POLICIES.configure(name).component.adaptive
    except InputError:
        return True


def _users(engine: Any, rows: Any, facts: dict[str, Any]) -> list[Finding]:
    """Check for rows that were written twice, heavy users, and robots."""
    if not facts["named"]:
        return [not_checked(name, "no impression has a user") for name in ("repeated rows", "heaviest user", "robots")]
    n = facts["n"]
    named = 'FROM impressions WHERE "user" IS NOT NULL GROUP BY "user"'
    sql = f'SELECT CAST(sum(n - 1) AS BIGINT) AS n FROM (SELECT count(*) AS n {named}, "query", time) AS r'
    repeated = engine.query(sql, impressions=rows)["n"][0].as_py()
    sentence = f"{repeated:,} rows have the same user, query and time as another row"
    findings = [limited("repeated rows", repeated / n, RATE / 10, sentence)]
    each = f'SELECT "user", count(*) AS n, count(CASE WHEN array_length(clicks) > 0 THEN 1 END) AS clicked {named}'
    sql = f'SELECT n, clicked, count(*) AS users, min("user") AS name FROM ({each}) AS u GROUP BY n, clicked'
    kinds = engine.query(f"{sql} ORDER BY n DESC, clicked", impressions=rows)
    lists, clicked, users = (kinds[name].to_numpy().astype(np.int64) for name in ("n", "clicked", "users"))
    number, most, name = int(users.sum()), int(lists[0]), kinds["name"][0].as_py()
    limit = min(max(_HEAVY, 20 / number), 1.0)
    share = f"{most / n:.1%} of the" if most / n >= 0.0005 else f"{most:,} of the {n:,}"  # avoids "0.0%"
    usual = f"; up to {limit:.1%} is usual" if limit < 1 else ""
    sentence = errors.in_one_line(f"user '{name}' has {share} impressions, the most of {several(number, 'user')}")
    findings.append(limited("heaviest user", most / n, limit, sentence + usual))
    often, rate = (lists >= _ROBOT) & (clicked >= _CLICKED * lists), clicked / lists
    others = users * ~often
    mean = others @ rate / max(others.sum(), 1)
    chance = max(mean * (1 - mean), 1e-9)
    between = max(others @ ((rate - mean) ** 2 - chance / lists) / max(others @ (1 - 1 / lists), 1e-9), 0.0)
    unusual = rate - mean > _UNUSUAL * np.sqrt(between + chance / lists)  # unlike a user with easy queries
    often &= unusual & others.any()
    robots, theirs = int(users[often].sum()), int((lists * users)[often].sum())
    sentence = f"{several(robots, 'user')} with {_ROBOT} or more lists clicked on nearly all of {theirs:,} lists"
    return [*findings, limited("robots", theirs / n, RATE, sentence)]


def _rankers(log: ClickLog, rows: Any, facts: dict[str, Any], planned: str) -> list[Finding]:
    """Check how often each set of rankers was shown, and which ranker owns the positions of the lists."""
    engine, sets = log.engine, list[tuple[str, ...]]()
    if "rankers" in rows.columns:
        span = max(facts["last"] - facts["first"], 1e-9) * (1 + 1e-9)
        block = f"CAST(floor((time - {facts['first']!r}) / {span!r} * {_BLOCKS}) AS BIGINT) AS block"
        sql = f"SELECT *, {block} FROM impressions WHERE rankers IS NOT NULL AND array_length(rankers) > 1"
        lists = engine.view(sql, impressions=rows)
        named = engine.query("SELECT rankers FROM lists GROUP BY rankers", lists=lists)["rankers"].to_pylist()
        sets = sorted({tuple(sorted(names)) for names in named})
    if not sets:
        return [not_checked("rankers and owners", _NO_OWNERS)]
    findings = [_pairs_shown(engine, lists, sets, planned), _pairs_over_time(engine, lists, sets)]
    if "owners" not in rows.columns or "owners" not in log.table.columns:  # owners of all documents
        return [*findings, not_checked("owners of position 1, interleaved lists", _NO_OWNERS)]
    kinds = _ownership(engine, lists)
    return [*findings, _interleaved_lists(kinds), _owners_of_position_1(kinds, sets)]


def _shown(engine: Any, lists: Any, sets: Sets, within: str = "") -> IntMatrix:
    """Return how often each set of rankers was on the first list of a user (in each ``within``), by block of time."""
    users = 'coalesce("user", CAST(line AS VARCHAR))' if "user" in lists.columns else "line"
    keys = ", ".join(filter(None, [users, within]))
    first = f"(SELECT min(line) AS line FROM lists GROUP BY {keys}) AS f"
    sql = f"SELECT rankers, block, count(*) AS n FROM lists JOIN {first} ON lists.line = f.line GROUP BY rankers, block"
    index, shown = {names: k for k, names in enumerate(sets)}, np.zeros((len(sets), _BLOCKS), np.int64)
    for row in engine.query(sql, lists=lists).to_pylist():
        shown[index[tuple(sorted(row["rankers"]))], min(row["block"], _BLOCKS - 1)] += row["n"]
    return shown


def _pairs_shown(engine: Any, lists: Any, sets: Sets, planned: str) -> Finding:
    """Test whether all sets of rankers were shown equally often; a set that was never shown counts with 0 lists."""
    kinds = several(len(sets), "set") + " of rankers"
    if planned != "even":
        how = "; --planned even tests for equal frequencies" * (len(sets) > 1)
        return not_checked("pairs shown", f"{kinds}{how}")
    missing, sizes = Sets(), {len(names) for names in sets}
    if len(sizes) == 1:
        missing = sorted(set(combinations(sorted({name for names in sets for name in names}), sizes.pop())) - set(sets))
    sentence = f"{kinds}, planned to be shown equally often"
    if missing:
        more = f" and {len(missing) - 1:,} more" * (len(missing) > 1)
        sentence += f"; never shown: {' and '.join(missing[0])}{more}"
    counts = np.append(_shown(engine, lists, sets).sum(axis=1), np.zeros(len(missing), np.int64))
    return tested("pairs shown", even(counts), sentence)


def _pairs_over_time(engine: Any, lists: Any, sets: Sets) -> Finding:
    """Test whether the shares of the sets of rankers stay the same."""
    name, policies = "pairs over time", policies_of(engine, lists)
    if policies:
        return not_checked(name, f"{' and '.join(policies)} chose the rankers by earlier outcomes, so shares change")
    if len(sets) < 2:
        return not_checked(name, "there is only one set of rankers")
    if "propensity" in lists.columns:
        each = "SELECT count(DISTINCT propensity) AS n FROM lists GROUP BY rankers"
        if engine.query(f"SELECT max(n) AS n FROM ({each}) AS p", lists=lists)["n"][0].as_py() > 1:
            return not_checked(name, "propensities of the same rankers differ, so shares change")
    shown = _shown(engine, lists, sets, "block")
    p, some = unchanged(shown), shown > 0
    sentence = f"shares of {several(len(sets), 'set')} of rankers, by tenths of the time"
    parts = [(some[:, :k].any(axis=1), some[:, k:].any(axis=1)) for k in range(1, _BLOCKS)]
    if p < ERROR and any(a.any() and b.any() and not (a & b).any() for a, b in parts):
        sentence += "; the sets shown first are never shown again later: use a separate folder for each experiment"
    return tested(name, p, sentence)


def _ownership(engine: Any, lists: Any) -> list[dict[str, Any]]:
    """Count lists by rankers, owner of position 1 (``top``), first owner (``head``; -1: none) and numbers of owners.

    ``two``: two documents have an owner; ``mixed``: they differ; ``single``: the list has one document.
    """
    numbers = range(1, _POSITIONS + 1)
    each = (f"coalesce(CASE WHEN array_length(owners) >= {k} THEN owners[{k}] END, -1) AS o{k}" for k in numbers)
    positions = f"SELECT rankers, owners, {', '.join(each)} FROM lists WHERE owners IS NOT NULL"
    head = f"coalesce({', '.join(f'nullif(o{k}, -1)' for k in numbers)}, -1) AS head"
    two = f"{' + '.join(f'CASE WHEN o{k} >= 0 THEN 1 ELSE 0 END' for k in numbers)} > 1 AS two"
    mixed = f"({' OR '.join(f'(o{k} >= 0 AND o{k} <> head)' for k in numbers)}) AS mixed"
    marks = f"o1 AS top, head, {mixed}, {two}, array_length(owners) = 1 AS single"
    columns = "rankers, top, head, mixed, two, single"
    sql = f"SELECT rankers, {marks} FROM (SELECT *, {head} FROM ({positions}) AS p) AS q"
    kinds = engine.query(f"SELECT {columns}, count(*) AS n FROM ({sql}) AS k GROUP BY {columns}", lists=lists)
    return list(kinds.to_pylist())


def _interleaved_lists(kinds: Sequence[dict[str, Any]]) -> Finding:
    """Check that lists have documents of several rankers."""
    name, lists = "interleaved lists", sum(row["n"] for row in kinds if row["two"] or row["single"])
    if not lists:
        return not_checked(name, "no list has two documents with an owner")
    alone = sum(row["n"] for row in kinds if row["single"] or (row["two"] and not row["mixed"]))
    sentence = f"{alone:,} of {lists:,} lists have a single document, or several documents of one ranker only"
    if alone > _ONE_OWNER * lists:
        sentence += "; is this an A/B test (one ranker per list), or a session or time used as impression?"
    return limited(name, alone / lists, _ONE_OWNER, sentence)


def _owners_of_position_1(kinds: Sequence[dict[str, Any]], sets: Sets) -> Finding:
    """Test whether each ranker owns the first position equally often.

    A log may omit the owners of documents that rankers share, such as a common top. Of two rankers, either is as likely
    to own the first position with an owner; of more rankers, only if all their lists have an owner at position 1.
    """
    p = list[tuple[float, str]]()
    rows = dict[tuple[str, ...], list[dict[str, Any]]]()
    for row in kinds:
        rows.setdefault(tuple(sorted(row["rankers"])), []).append(row)
    for names in sets:
        own, many = rows.get(names, []), len(names) > 2
        heads = np.zeros(len(names), np.int64)
        for row in own:
            if row["head"] >= 0:
                heads[names.index(row["rankers"][row["head"]])] += row["n"]
        total, most = int(heads.sum()), int(heads.argmax())
        unowned = many and any(row["top"] < 0 and row["two"] for row in own)
        if not total or unowned or (many and total < _EACH * len(names)):
            continue
        which = f"the first positions of {len(names)} rankers" if many else "the first owned positions"
        which += f" against {names[1 - most]}" if not many and len(sets) > 1 else ""
        p.append((even(heads), f"{names[most]} owns {heads[most] / total:.2%} of {which}"))
    name = "owners of position 1"
    if not p:
        return not_checked(name, "too few lists have an owner at position 1")
    return tested(name, min(1.0, len(p) * min(p)[0]), min(p)[1])


def _gaps(engine: Any, rows: Any, facts: dict[str, Any]) -> Finding:
    """Check for long periods without rows, as after an outage or if the clock was set forward."""
    span = max(facts["last"] - facts["first"], 1e-9) * (1 + 1e-9)
    step = f"CAST(floor((time - {facts['first']!r}) / {span!r} * {_STEPS}) AS BIGINT)"
    steps = engine.query(f"SELECT DISTINCT {step} AS step FROM impressions", impressions=rows)["step"].to_numpy()
    longest = int(np.diff(np.unique(np.minimum(steps, _STEPS - 1))).max(initial=1)) - 1
    quiet = np.log(max(facts["n"], 2) / _LONELY) * 4 / max(facts["n"], 1)  # 4 times the gap of uniform traffic
    share = longest / _STEPS
    sentence = f"the longest gap is {f'{share:.1%}' if longest else f'below {1 / _STEPS:.1%}'} of the log's time"
    return limited("gaps", share, max(quiet, 0.2), sentence)


def _events_to_come(log: ClickLog) -> Finding:
    """Check for exposures that are later than all events."""
    (events,) = log.engine.rows("SELECT max(time) AS last, count(time) AS timed FROM e", e=log.loaded.events)
    if not events["timed"]:
        return not_checked("events to come", "no event has a time")
    first = "(SELECT min(line) FROM log WHERE impression IS NOT NULL GROUP BY impression)"
    where = f" WHERE impression IS NULL OR line IN {first}" * (log.bad.repeated > 0)  # events belong to first rows
    sql = f"SELECT count(*) AS shown, count(CASE WHEN time > {events['last']!r} THEN 1 END) AS later FROM log{where}"
    shown, later = log.engine.rows(sql, log=log.table)[0].values()
    usual = max(RATE, -np.log(ERROR) / events["timed"])  # rarely exceeded if events are spread over time like exposures
    sentence = f"{later:,} of {shown:,} exposures are later than the last event"
    return limited("events to come", later / max(shown, 1), usual, sentence)


def _events_without_exposure(log: ClickLog) -> Finding:
    """Check for events whose impression is not in the log."""
    sql = "SELECT (SELECT count(impression) FROM events) AS total, count(e.impression) AS lost,"
    sql += " min(e.impression) AS name FROM events e LEFT JOIN exposures x ON e.impression = x.impression"
    sql += " WHERE x.impression IS NULL"
    (row,) = log.engine.rows(sql, events=log.loaded.events, exposures=log.table)
    if not row["total"]:
        return not_checked("events without exposure", "no event names an impression")
    sentence = f"{row['lost']:,} of {row['total']:,} events have no exposure in the log"
    sentence += f", for example the event of impression '{row['name']}'" * (row["lost"] > 0)
    return seldom("events without exposure", row["lost"], row["total"], RATE, sentence)
