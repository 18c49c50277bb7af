"""The outcomes of a log as a relation: one row for each impression and each pair of its rankers.

Credit by owners is computed by the engine. Other credit requires compiled kernels, so rows are credited in batches, and
the outcomes are stored in a table of the engine. Outcomes are integers, so that sums are exact in any order.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ltr_duel.core import InputError, errors
from ltr_duel.logs.attribution import suffixes
from ltr_duel.logs.bad_lines import Bad
from ltr_duel.logs.credit import Creditor
from ltr_duel.logs.engine import Engine, Relation, named
from ltr_duel.logs.log import ClickLog
from ltr_duel.logs.table import NO_CREDIT

_AT_ONCE = 1 << 19  # number of outcomes that are stored at a time
UNIT = 1 << 30  # integer that represents the outcome 1
_OUTCOMES = 'line BIGINT, time DOUBLE, "user" VARCHAR, query VARCHAR, pair INTEGER, y BIGINT, square BIGINT'
_FORMS = ("page", "rankings")
_NEXT = "CAST(k.{} + 1 AS INTEGER)".format  # a cast, so that sqlglot knows an index, which Spark counts from 0
_VALUES = re.compile(r"(?<!^)'[^']*'|\[.*\]|-?\d[\w.:-]*")  # values that differ between lines with the same fault
Wrong = dict[int, str]


class Credited(NamedTuple):
    """The credited outcomes of a log."""

    outcomes: Any  # line, time, user, query, pair, y and its square (in units of 1 / UNIT); None if nothing is credited
    rows: Relation  # the credited impressions
    creditor: Creditor  # names, pairs, method and outcome rule
    whole: bool  # whether all outcomes are wins, losses and ties


def credited(
    log: ClickLog,
    rankers: Collection[str] = (),
    *,
    columns: Collection[str] = (),
    needed: bool = True,
    outcome: str = "",
) -> Credited:
    """Credit the clicks of a log, by its first outcome or the outcome of this name.

    ``rows`` has the columns that the credit reads, users, queries and policies, and ``columns``. Rows that cannot be
    credited count as bad lines, unless credit is not needed.
    """
    names = [one.name for one in log.outcomes]
    if outcome and outcome not in names:
        how = "name the outcomes also in ClickLog(..., outcome=[...])"
        raise errors.unknown_name("outcome of this log", outcome, names, otherwise=how)
    number = names.index(outcome) if outcome else 0
    key = "credited", tuple(rankers), tuple(sorted(columns)), needed, number
    if key in log.known:
        return log.known[key]
    creditor = Creditor(rankers, needed=needed)
    wanted = {*Creditor.columns, "user", "query", "policy", "propensity", *log.context}
    if not set(_FORMS) & set(log.columns):  # credit by owners needs no documents, and no lists if there are events
        wanted -= {"shown"} | ({"clicks", "owners"} & set(log.columns) if log.loaded.placed is not None else set())
        wanted |= {"owners"} & set(log.loaded.impressions.columns)
    try:
        rows = log.rows(wanted | {*columns})
    except InputError:  # if no line has credit data, the error reports this lack instead of the bad line
        if needed and not _says_how(log):
            raise InputError(f"{log.path}: {NO_CREDIT}") from None
        raise
    if ending := suffixes(log.outcomes)[number]:
        chosen = [name for name in rows.columns if not name.startswith("clicks")]
        own = [f"clicks{ending} AS clicks"] if f"clicks{ending}" in rows.columns else []
        rows = log.engine.view(f"SELECT {', '.join([*map(named, chosen), *own])} FROM t", t=rows)
    by_kernels, wrong = _any(log, rows, _FORMS), Wrong()
    if by_kernels and log.outcomes[number].value:
        raise InputError(
            f"{log.path}: outcome '{names[number]}' is credited by owners; this log has page tokens or rankings"
        )
    if by_kernels and not isinstance(log.engine, Engine):
        raise InputError(f"{log.path}: page tokens and rankings can be credited only from files, not with --connect")
    outcomes, rest = None, rows
    if by_kernels:
        form = " OR ".join(f"{name} IS NOT NULL" for name in _FORMS if name in rows.columns)
        outcomes = _by_kernels(log, log.engine.view(f"SELECT * FROM t WHERE {form}", t=rows), creditor, number, wrong)
        rest = log.engine.view(f"SELECT * FROM t WHERE NOT ({form})", t=rows)
    if not by_kernels or log.engine.rows("SELECT count(*) AS n FROM t", t=rest)[0]["n"]:
        others = _by_owners(log, rest, creditor, number, wrong, part=by_kernels)
        both = {"a": outcomes, "b": others}
        outcomes = (
            log.engine.view("SELECT * FROM a UNION ALL SELECT * FROM b", **both)
            if all(both.values())
            else outcomes or others
        )
    if needed and not creditor.pairs:
        if not _says_how(log):
            raise InputError(f"{log.path}: {NO_CREDIT}")
        first = f"; {log.bad.sentences[0]}" if log.bad.count else ""
        raise InputError(f"{log.path}: no impression can be credited{first}")
    log.known[key] = Credited(outcomes, log.without(rows, wrong), creditor, not by_kernels)
    return log.known[key]


def _any(log: ClickLog, rows: Relation, columns: Collection[str]) -> bool:
    """Return whether any row has a value in one of the columns."""
    counts = " + ".join(f"count({name})" for name in columns if name in rows.columns)
    return bool(counts) and log.engine.rows(f"SELECT {counts} AS n FROM t", t=rows)[0]["n"] > 0


def _says_how(log: ClickLog) -> bool:
    """Return whether any row, usable or not, has credit data."""
    return _any(log, log.loaded.impressions, (*_FORMS, "owners", "rankers", "fault"))


def _by_owners(
    log: ClickLog, rows: Relation, creditor: Creditor, number: int, wrong: Wrong, *, part: bool
) -> Relation | None:
    """Return the outcomes: the ranker whose documents got more clicks wins. Error messages by line go to ``wrong``."""
    engine, sets = log.engine, dict[tuple[str, ...], list[int]]()
    mine = Wrong()
    for kind in log.kinds(rows, part=part):
        try:
            if not kind["given"]:
                if not creditor.needed:
                    continue
                raise InputError(NO_CREDIT)
            creditor.rules("owners", kind.get("method"), kind.get("outcome"), len(kind.get("rankers") or ()))
            sets[tuple(kind.get("rankers") or ())] = creditor.arms_of(kind.get("rankers"))
        except InputError as error:
            mine |= dict.fromkeys(log.lines_of(rows, kind), str(error))
    log.bad.add(_refused(mine))
    wrong |= mine
    if not sets:
        return None
    for size in sorted(set(map(len, sets.values()))):
        creditor.pairs_of(np.array([arms for arms in sets.values() if len(arms) == size]))
    relations = {"t": log.without(rows, mine)}
    texts = [
        f't."{name}"' if name in rows.columns else f"CAST(NULL AS VARCHAR) AS {name}" for name in ("user", "query")
    ]
    columns = f"t.line, t.time, {', '.join(texts)}"
    if len(sets) == 1 and max(map(len, sets)) == 2:
        ((first, second),) = sets.values()
        a, b, pair, sign, source = "0", "1", "0", str(creditor.pair(first, second)[1]), "t"
    else:
        a, b, pair, sign = "k.a", "k.b", "p.pair", "p.sign"
        places = list(combinations(range(max(map(len, sets))), 2))
        relations["k"] = engine.small({"a": [one for one, _ in places], "b": [two for _, two in places]})
        pairs = [(*two, k, 1) for k, two in enumerate(creditor.named_pairs)]
        pairs += [(two, one, k, -1) for one, two, k, _ in pairs]
        relations["p"] = engine.small(
            dict(zip(("first", "second", "pair", "sign"), zip(*pairs, strict=True), strict=True))
        )
        source = f"t CROSS JOIN k JOIN p ON t.rankers[{_NEXT('a')}] = p.first AND t.rankers[{_NEXT('b')}] = p.second"
    if log.loaded.placed is None:
        lead = _lead_in_lists(a, b)
    else:
        relations["c"] = _credits(log, number)
        lead = "coalesce(ca.credit, 0) - coalesce(cb.credit, 0)"
        joins = (f"LEFT JOIN c AS {c} ON t.row = {c}.row AND {c}.owner = {at}" for c, at in (("ca", a), ("cb", b)))
        source = f"{source} {' '.join(joins)}"
    y = f"coalesce(CASE WHEN lead > 0 THEN {UNIT} WHEN lead < 0 THEN -{UNIT} END * sign, 0)"
    each = f"SELECT {columns}, {pair} AS pair, {sign} AS sign, {lead} AS lead FROM {source}"
    outcome = f'SELECT line, time, "user", query, pair, CAST({y} AS BIGINT) AS y FROM ({each}) AS e'
    return engine.view(f"SELECT *, abs(y) AS square FROM ({outcome}) AS o", **relations)


def _lead_in_lists(a: str, b: str) -> str:
    """Return the SQL of ranker a's clicked documents minus ranker b's, from the lists of clicks and owners."""

    def side(place: str) -> str:
        return f"(CASE owners[{place}] WHEN {a} THEN 1 WHEN {b} THEN -1 ELSE 0 END)"

    one, two = side("clicks[1]"), f"{side('clicks[1]')} + {side('clicks[2]')}"
    several = f"list_sum(list_transform(list_distinct(clicks), lambda place: {side('place')}))"
    return (
        f"CASE len(clicks) WHEN 0 THEN 0 WHEN 1 THEN {one} WHEN 2 THEN"
        f" CASE WHEN clicks[1] = clicks[2] THEN {one} ELSE {two} END ELSE {several} END"
    )


def _credits(log: ClickLog, number: int) -> Relation:
    """Return the credit of each ranker for an impression: its documents with events, or the sum of their values."""
    worth = f"sum(w{number})" if log.outcomes[number].value else f"count(w{number})"
    sql = f"SELECT row, owner, {worth} AS credit FROM placed WHERE place IS NOT NULL AND owner >= 0 GROUP BY row, owner"
    return log.engine.view(sql, placed=log.loaded.placed)


def _by_kernels(log: ClickLog, rows: Relation, creditor: Creditor, number: int, wrong: Wrong) -> Relation:
    """Return the outcomes from the kernels of the methods. Error messages by line go to ``wrong``."""
    name = f"outcomes{suffixes(log.outcomes)[number]}"
    log.engine.execute(f"CREATE OR REPLACE TABLE {name} ({_OUTCOMES})")
    some = list[Any]()

    def insert() -> None:
        log.engine.insert(name, pa.concat_tables(some))
        some.clear()

    for batch in log.stream(rows):
        found, unfit = creditor(batch)
        here = {int(batch.lines[row]): sentence for row, sentence in unfit.items()}
        log.bad.add(_refused(here))
        wrong |= here
        at = pa.array(found.row)
        texts = {
            text: batch.table.column(text).take(at)
            if text in batch.table.schema.names
            else pa.nulls(len(at), pa.string())
            for text in ("user", "query")
        }
        columns = {
            "line": batch.lines[found.row],
            "time": batch.table.column("time").take(at),
            **texts,
            "pair": found.pair,
            "y": np.round(found.y * UNIT).astype(np.int64),
            "square": np.round(found.y**2 * UNIT).astype(np.int64),
        }
        some.append(pa.table(columns))
        if sum(map(len, some)) >= _AT_ONCE:
            insert()
    if some:
        insert()
    return log.engine.table(name)


def _refused(wrong: Wrong) -> Bad:
    reasons = [_VALUES.sub("", sentence) for sentence in wrong.values()]
    return Bad(np.array([*wrong], np.int64), reasons, wrong.__getitem__)
