"""Check whether the experiment behind a log was carried out correctly, before you use its result.

Some checks are statistical tests. A test fails if its p-value is below 0.01. Other checks compare a rate with a limit.
Experiments without faults have rates far below these limits.

References
----------
Fabijan et al. Diagnosing Sample Ratio Mismatch in Online Controlled Experiments. KDD 2019.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from itertools import combinations
from typing import Any

import numpy as np

from ltr_duel.bandits import POLICIES
from ltr_duel.core import InputError, IntMatrix, errors, several
from ltr_duel.logs.engine import Relation
from ltr_duel.logs.findings import ERROR, RATE, Finding, even, limited, not_checked, robots, seldom, tested, unchanged
from ltr_duel.logs.log import ClickLog
from ltr_duel.logs.outcomes import credited
from ltr_duel.logs.table import LISTS

_STEPS = 240  # number of time steps in which gaps are measured
_BLOCKS = 10  # number of blocks of time between which shares are compared
_POSITIONS = range(1, 11)  # positions whose owners are used
_HEAVY = 0.02  # a user with at most this share of the impressions is usual in any log
_ONE_OWNER = 0.75  # usual maximum share of lists of one ranker only
_EACH = 20  # minimum number of lists per ranker for a test of position 1 of three or more rankers
_LONELY = 1e-6  # probability of a gap longer than a quarter of the limit, if impressions come at random times
_OUTSIDE = 0.2  # usual maximum share of events on items outside the list, such as advertisements
_MANY = 100  # so many impressions usually include some without events
_UNMATCHED = 0.5  # usual maximum share of events without an impression that match no exposure
_NO_OWNERS = "this check requires the column 'owners' for all shown documents"
_OWNERS = ("interleaved lists", "owners of position 1")  # checks
Set = tuple[str, ...]  # a set of rankers, sorted
Members = dict[tuple[str, ...], Set]  # the set of each order of rankers


def check_log(log: ClickLog, rankers: Collection[str] = (), *, planned: str = "") -> list[Finding]:
    """Check whether the experiment behind a log is sound.

    The check ``owners of position 1`` assumes that lists are independent of each other. Ignore this check if your
    search page caches lists for a user or query.

    Parameters
    ----------
    log : ClickLog
        The log. Open the log with ``skip_bad=None``, so that repeated impressions are counted.
    rankers : collection of str
        The names of the rankers of the experiment. A row with another ranker is unusable. By default, all rankers are
        permitted.
    planned : {"", "even"}
        Use "even" if all sets of rankers were planned to be shown equally often. By default, the frequencies are not
        checked.

    Returns
    -------
    list of Finding

    Raises
    ------
    InputError
        If the log cannot be read, or if `rankers` are given and no impression can be credited.

    Examples
    --------
    >>> import pandas as pd
    >>> row = {"time": 0, "query": "q", "shown": ["x", "y"], "clicks": [2], "rankers": ["old", "new"]}
    >>> log = pd.DataFrame([row | {"impression": k, "owners": [k % 2, 1 - k % 2]} for k in range(100)])
    >>> {finding.verdict for finding in check_log(ClickLog(log))} <= {"sound", "not checked"}
    True
    """
    errors.require_one_of("planned frequencies", planned or "even", ("even",))
    try:
        credit = credited(log, rankers, columns=("clicks",))
    except InputError:  # perhaps no line says which ranker gets credit; then the other checks are made
        if rankers:
            raise
        credit = credited(log, columns=("clicks",), needed=False)
    data = log, credit.rows, credit.facts
    return [*_impressions(*data), *_users(*data), *_rankers(*data, planned), *_events(log, credit.rows)]


def policies_of(engine: Any, rows: Relation) -> list[str]:
    """Return the policies in a log that choose rankers by earlier outcomes, or that this package does not know."""

    def reacts(name: str) -> bool:
        try:
            return POLICIES.configure(name).component.adaptive
        except InputError:
            return True

    if "policy" not in rows.columns:
        return []
    sql = "SELECT policy FROM impressions WHERE policy IS NOT NULL GROUP BY policy ORDER BY min(line)"
    return list(filter(reacts, engine.query(sql, impressions=rows)["policy"].to_pylist()))


def _impressions(log: ClickLog, rows: Relation, facts: dict[str, Any]) -> Iterator[Finding]:
    n, repeated = facts["n"], log.bad.repeated
    sentence = f"{repeated:,} rows repeat an impression of another row" + "; the first row counts" * (repeated > 0)
    yield limited("repeated impressions", repeated / max(n + repeated, 1), 0.0, sentence)
    sentence = f"there are impressions with a counted event ({log.outcome.name})"
    if not facts["clicked"]:
        ids = ", or are the ids of impressions in another form" * (log.loaded.events is not None)
        sentence = f"no impression has a counted event ({log.outcome.name}): are events in another column or file{ids}?"
    yield limited("clicks", float(not facts["clicked"]), 0.0, sentence)
    sql = f"SELECT DISTINCT {_period(facts, _STEPS)} AS step FROM impressions"
    steps = log.engine.query(sql, impressions=rows)["step"].to_numpy()
    longest = int(np.diff(np.unique(np.minimum(steps, _STEPS - 1))).max(initial=1)) - 1
    share, quiet = longest / _STEPS, np.log(max(n, 2) / _LONELY) * 4 / max(n, 1)  # 4 times the gap of uniform traffic
    sentence = f"the longest gap is {f'{share:.1%}' if longest else f'below {1 / _STEPS:.1%}'} of the log's time"
    yield limited("gaps", share, max(quiet, 0.2), sentence)


def _period(facts: dict[str, Any], periods: int) -> str:
    span = max(facts["last"] - facts["first"], 1e-9) * (1 + 1e-9)
    return f"CAST(floor((time - {facts['first']!r}) / {span!r} * {periods}) AS BIGINT)"


def _users(log: ClickLog, rows: Relation, facts: dict[str, Any]) -> Iterator[Finding]:
    if not facts["named"]:
        names = ("repeated rows", "heaviest user", "robots")
        yield from (not_checked(name, "no impression has a user") for name in names)
        return
    n, named = facts["n"], 'FROM impressions WHERE "user" IS NOT NULL GROUP BY "user"'
    sql = f'SELECT CAST(sum(n - 1) AS BIGINT) AS n FROM (SELECT count(*) AS n {named}, "query", time) AS r'
    faults = log.loaded.checked  # known for exposures with events; other rows would need a join with clicks
    table = log.without(log.table, faults.lines) if faults else rows
    repeated = log.engine.query(sql, impressions=table)["n"][0].as_py() or 0
    sentence = f"{repeated:,} rows have the same user, query and time as another row"
    yield limited("repeated rows", repeated / n, RATE / 10, sentence)
    each = f'SELECT "user", count(*) AS n, count(CASE WHEN array_length(clicks) > 0 THEN 1 END) AS clicked {named}'
    sql = f'SELECT n, clicked, count(*) AS users, min("user") AS name FROM ({each}) AS u GROUP BY n, clicked'
    groups = log.engine.query(f"{sql} ORDER BY n DESC, clicked", impressions=rows)
    lists, clicked, users = (groups[name].to_numpy().astype(np.int64) for name in ("n", "clicked", "users"))
    number, most, limit = int(users.sum()), int(lists[0]), min(max(_HEAVY, 20 / int(users.sum())), 1.0)
    share = f"{most / n:.1%} of the" if most / n >= 0.0005 else f"{most:,} of the {n:,}"  # avoids "0.0%"
    sentence = f"user '{groups['name'][0]}' has {share} impressions, the most of {several(number, 'user')}"
    usual = f"; up to {limit:.1%} is usual" * (limit < 1)
    yield limited("heaviest user", most / n, limit, errors.in_one_line(sentence) + usual)
    yield robots(n, lists, clicked, users)


def _rankers(log: ClickLog, rows: Relation, facts: dict[str, Any], planned: str) -> Iterator[Finding]:
    engine, sets, members = log.engine, list[Set](), Members()
    if "rankers" in rows.columns:
        where = "rankers IS NOT NULL AND array_length(rankers) > 1"
        sql = f"SELECT *, {_period(facts, _BLOCKS)} AS block FROM impressions WHERE {where}"
        lists = engine.view(sql, impressions=rows)
        orders = engine.query("SELECT rankers FROM lists GROUP BY rankers", lists=lists)["rankers"].to_pylist()
        members = {tuple(names): tuple(sorted(names)) for names in orders}  # the set of each order of rankers
        sets = list(dict.fromkeys(members.values()))
    if not sets:
        reason = "no row has two names in the column 'rankers'"
        yield from (not_checked(name, reason) for name in ("pairs shown", "pairs over time"))
        yield from (not_checked(name, _NO_OWNERS) for name in _OWNERS)
        return
    name = several(len(sets), "set") + " of rankers"
    if planned:
        yield _planned_frequencies(name, sets, _frequencies(engine, lists, members).sum(axis=1).tolist())
    else:
        yield not_checked("pairs shown", name + "; --planned even tests for equal frequencies" * (len(sets) > 1))
    if policies := policies_of(engine, lists):
        reason = f"{' and '.join(policies)} chose the rankers by earlier outcomes, so shares change"
        yield not_checked("pairs over time", reason)
    elif len(sets) < 2:
        yield not_checked("pairs over time", "there is only one set of rankers")
    else:
        p = unchanged(_frequencies(engine, lists, members, ", block"))
        yield tested("pairs over time", p, f"shares of {name}, by tenths of the time")
    if "owners" in rows.columns and "owners" in log.table.columns:  # the log has the owners of all documents
        yield from _owners(_ownership(engine, lists), members)
    else:
        yield from (not_checked(name, _NO_OWNERS) for name in _OWNERS)


def _frequencies(engine: Any, lists: Relation, members: Members, within: str = "") -> IntMatrix:
    # Later lists do not count, because an experiment may show a user the same rankers every time.
    sets = dict.fromkeys(members.values())
    users = 'coalesce("user", CAST(line AS VARCHAR))' if "user" in lists.columns else "line"
    first = f"(SELECT min(line) AS line FROM lists GROUP BY {users}{within}) AS f"
    sql = f"SELECT rankers, block, count(*) AS n FROM lists JOIN {first} ON lists.line = f.line GROUP BY rankers, block"
    number, table = {names: k for k, names in enumerate(sets)}, np.zeros((len(sets), _BLOCKS), np.int64)
    for row in engine.rows(sql, lists=lists):
        table[number[members[tuple(row["rankers"])]], min(row["block"], _BLOCKS - 1)] += row["n"]
    return table


def _planned_frequencies(name: str, sets: list[Set], counts: list[int]) -> Finding:
    missing, sizes = list[Set](), {len(names) for names in sets}
    if len(sizes) == 1:
        missing = sorted(set(combinations(sorted({one for names in sets for one in names}), sizes.pop())) - set(sets))
    sentence = f"{name}, planned to be shown equally often"
    if missing:
        more = f" and {len(missing) - 1:,} more" * (len(missing) > 1)
        sentence += f"; never shown: {' and '.join(missing[0])}{more}"
    return tested("pairs shown", even(np.array(counts + [0] * len(missing))), sentence)


def _ownership(engine: Any, lists: Relation) -> list[dict[str, Any]]:
    """Count lists by their rankers and owners.

    top: owner of position 1, or -1.
    head: owner of the first document that has an owner, or -1.
    mixed: whether the list has documents of several owners.
    two: whether at least two documents have an owner.
    single: whether the list has one document.
    """
    each = (f"coalesce(CASE WHEN array_length(owners) >= {k} THEN owners[{k}] END, -1) AS o{k}" for k in _POSITIONS)
    positions = f"SELECT rankers, owners, {', '.join(each)} FROM lists WHERE owners IS NOT NULL"
    head = f"coalesce({', '.join(f'nullif(o{k}, -1)' for k in _POSITIONS)}, -1) AS head"
    two = f"{' + '.join(f'CASE WHEN o{k} >= 0 THEN 1 ELSE 0 END' for k in _POSITIONS)} > 1 AS two"
    mixed = f"({' OR '.join(f'(o{k} >= 0 AND o{k} <> head)' for k in _POSITIONS)}) AS mixed"
    marks = f"o1 AS top, head, {mixed}, {two}, array_length(owners) = 1 AS single"
    sql = f"SELECT rankers, {marks} FROM (SELECT *, {head} FROM ({positions}) AS p) AS q"
    columns = "rankers, top, head, mixed, two, single"
    return list(engine.rows(f"SELECT {columns}, count(*) AS n FROM ({sql}) AS k GROUP BY {columns}", lists=lists))


def _owners(ownership: list[dict[str, Any]], members: Members) -> Iterator[Finding]:
    # If all rankers begin with the same document, a log may contain no owner of this document. Two rankers are then
    # compared by the first position that has an owner. Sets of more rankers are then not compared.
    lists = sum(row["n"] for row in ownership if row["two"] or row["single"])
    alone = sum(row["n"] for row in ownership if row["single"] or (row["two"] and not row["mixed"]))
    sentence = f"{alone:,} of {lists:,} lists have a single document, or several documents of one ranker only"
    if alone > _ONE_OWNER * lists:
        sentence += "; is this an A/B test (one ranker per list), or a session or time used as impression?"
    if lists:
        yield limited("interleaved lists", alone / lists, _ONE_OWNER, sentence)
    else:
        yield not_checked("interleaved lists", "no list has two documents with an owner, or a single document")
    several_sets, lists_of, heads = len(set(members.values())) > 1, Counter[Set](), Counter[tuple[Set, str]]()
    shared = set[Set]()
    for row in ownership:
        names = members[tuple(row["rankers"])]
        if row["head"] >= 0:
            lists_of[names] += row["n"]
            heads[names, row["rankers"][row["head"]]] += row["n"]
        if len(names) > 2 and row["top"] < 0 and row["two"]:
            shared.add(names)
    tests = list[tuple[float, str]]()
    for names, total in lists_of.items():
        many = len(names) > 2
        if names in shared or (many and total < _EACH * len(names)):
            continue
        count = [heads[names, name] for name in names]
        most = names[np.argmax(count)]
        which = f"the first positions of {len(names)} rankers" if many else "the first owned positions"
        which += "".join(f" against {name}" for name in names if name != most and not many and several_sets)
        tests.append((even(np.array(count)), f"{most} owns {max(count) / total:.2%} of {which}"))
    if tests:
        yield tested("owners of position 1", min(1.0, len(tests) * min(tests)[0]), min(tests)[1])
    else:
        yield not_checked("owners of position 1", "too few lists have an owner at position 1")


def _events(log: ClickLog, rows: Relation) -> Iterator[Finding]:
    events, counts, engine = log.loaded.events, log.loaded.counts, log.engine
    if events is None or counts is None:
        return
    (timed,) = engine.rows("SELECT max(time) AS last, count(time) AS n FROM e", e=events)
    if timed["n"]:
        later = f"count(CASE WHEN time > {timed['last']!r} THEN 1 END) AS later"
        shown, late = engine.rows(f"SELECT count(*) AS n, {later} FROM t", t=rows)[0].values()
        usual = max(RATE, -np.log(ERROR) / timed["n"])  # rarely exceeded if events and exposures spread alike
        sentence = f"{late:,} of {shown:,} exposures are later than the last event"
        yield limited("events to come", late / max(shown, 1), usual, sentence)
    else:
        yield not_checked("events to come", "no event has a time")
    sql = """SELECT (SELECT count(impression) FROM events) AS total, count(e.impression) AS lost,
      min(e.impression) AS name FROM events e LEFT JOIN exposures x ON e.impression = x.impression
      WHERE x.impression IS NULL"""
    (row,) = engine.rows(sql, events=events, exposures=log.table)
    if row["total"]:
        sentence = f"{row['lost']:,} of {row['total']:,} events have no exposure in the log"
        sentence += f", for example the event of impression '{row['name']}'" * (row["lost"] > 0)
        yield seldom("events without exposure", row["lost"], row["total"], RATE, sentence)
    else:
        yield not_checked("events without exposure", "no event names an impression")
    if counts.attributed and LISTS & set(log.table.columns):
        sound = f"all {counts.attributed:,} events ({log.outcome.name}) are on an item of their list"
        lost, sentence = counts.attributed - counts.placed, events_outside_lists(log) or sound
        yield seldom("events outside lists", lost, counts.attributed, _OUTSIDE, sentence)
    else:
        reason = f"no counted event ({log.outcome.name}) belongs to an exposure"
        yield not_checked("events outside lists", reason if LISTS & set(log.table.columns) else "there are no lists")
    if not counts.loose:
        sound = f"all {counts.counted:,} events ({log.outcome.name}) name an impression"
        yield limited("events without impression", 0.0, _UNMATCHED, sound)
    elif not log.outcome.within:
        yield not_checked("events without impression", events_without_impression(log))
    else:
        lost, sentence = counts.loose - counts.given, events_without_impression(log)
        finding = seldom("events without impression", lost, counts.loose, _UNMATCHED, sentence)
        reason = "; do clocks differ, or users or items have another form?" * (finding.verdict == "fails")
        yield finding._replace(sentence=sentence + reason)


def events_without_impression(log: ClickLog) -> str:
    """Return a sentence that says how many events have no impression. It is empty if every event has one."""
    counts = log.loaded.counts
    if counts is None or not counts.loose:
        return ""
    sentence = f"{counts.loose:,} of {counts.counted:,} events ({log.outcome.name}) have no impression"
    if log.outcome.within:
        lost = counts.loose - counts.given
        return f"{sentence}: {counts.given:,} count for an exposure of their user and item, {lost:,} do not count"
    hint = "; --within 7d credits each of them to the last exposure of its user and item"
    return f"{sentence} and are not counted{hint * (counts.known > 0 and {'shown', 'user'} <= set(log.table.columns))}"


def events_outside_lists(log: ClickLog) -> str:
    """Return a sentence that says how many events are on items outside their list. It is empty if none are."""
    counts = log.loaded.counts
    if counts is None or counts.placed == counts.attributed or not LISTS & set(log.table.columns):
        return ""
    lost = f"{counts.attributed - counts.placed:,} of {counts.attributed:,} events ({log.outcome.name})"
    return f"{lost} are not on an item of their list, and are not counted"


def event_notes(log: ClickLog, rows: Relation, impressions: int) -> list[str]:
    """Return warnings about events that do not count, and about a log in which every impression has an event."""
    counts, placed = log.loaded.counts, log.loaded.placed
    notes = [events_without_impression(log)] if counts and counts.loose > counts.given else []
    notes.append(events_outside_lists(log))
    sql = "SELECT count(*) AS n FROM t WHERE array_length(clicks) > 0"
    if placed is not None:
        rows, sql = placed, "SELECT count(DISTINCT row) AS n FROM t WHERE place IS NOT NULL AND w0 IS NOT NULL"
    if impressions >= _MANY and log.engine.rows(sql, t=rows)[0]["n"] >= impressions:
        notes.append(
            f"each of the {impressions:,} impressions has an event ({log.outcome.name}): a log must also contain"
            " impressions without events; without them, means are too far from 0"
        )
    return list(filter(None, notes))
