"""Compute the outcomes of a log: a table with one row for each impression and each pair of its rankers.

The owner of a document is the ranker that contributed it to the list. If a log names owners, the SQL engine computes
the outcomes. A page token says how a list was made. If a log has page tokens, the comparison method computes the
outcomes. Outcomes are stored as integers, so that their sums are exact.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ltr_duel.core import InputError, errors
from ltr_duel.logs.attribution import Outcome
from ltr_duel.logs.checks import given_owners, kinds_of
from ltr_duel.logs.credit import Creditor, Wrong
from ltr_duel.logs.engine import Engine, Relation, quoted
from ltr_duel.logs.log import ClickLog
from ltr_duel.logs.table import NO_CREDIT

UNIT = 1 << 30  # integer that represents the outcome 1
_OUTCOMES = 'line BIGINT, time DOUBLE, "user" VARCHAR, query VARCHAR, pair INTEGER, y BIGINT, square BIGINT'
_NEXT = "CAST(k.{} + 1 AS INTEGER)".format  # the cast tells sqlglot that this is an index (Spark counts from 0)
_CREDITS = """list_transform(range(len(rankers)), lambda ranker:
  len(list_filter(list_distinct(clicks), lambda place: owners[place] = ranker)))"""
_VALUES = re.compile(r"(?<!^)'[^']*'|\[.*\]|-?\d[\w.:-]*")  # values that differ between lines with the same fault


class Credited(NamedTuple):
    """The outcomes of a log, and the impressions to which they belong."""

    outcomes: Any  # line, time, user, query, pair, y, and its square (as multiples of 1 / UNIT); None if there are none
    rows: Relation  # the credited impressions
    creditor: Creditor  # names, pairs, method and outcome rule
    facts: dict[str, Any]  # see `ClickLog.facts`


def credited(
    log: ClickLog,
    rankers: Collection[str] = (),
    *,
    columns: Collection[str] = (),
    needed: bool = True,
    outcome: str = "",
) -> Credited:
    """Compute who won each impression of a log, by one of its outcomes. The default is the first outcome.

    A row with neither owners nor a page token counts as a bad line, unless ``needed`` is False. ``columns`` are further
    columns to read.
    """
    names = [given.name for given in log.outcomes]
    if outcome and outcome not in names:
        how = "name the outcomes also in ClickLog(..., outcome=[...])"
        raise errors.unknown_name("outcome of this log", outcome, names, otherwise=how)
    number = names.index(outcome) if outcome else 0
    usual = {*Creditor.columns, "user", "query", "policy", "propensity", *log.context}
    if not (by_kernels := _any(log, ("page",))):  # owners suffice, so some lists need not be read
        usual -= {"shown", *["clicks"] * (log.loaded.placed is not None), *["owners"] * log.loaded.by_event}
    key = tuple(rankers), frozenset(usual.union(columns)), needed, number
    if key not in log.credit:
        log.credit[key] = _credited(log, Creditor(rankers, needed=needed), key[1], number, by_kernels=by_kernels)
    return log.credit[key]


def _credited(
    log: ClickLog, creditor: Creditor, columns: Collection[str], number: int, *, by_kernels: bool
) -> Credited:
    wrong, outcome = Wrong(), log.outcomes[number]
    try:
        rows = log.rows(columns, number)
    except InputError:  # if no line has credit data, this is the error, and not the bad line
        if creditor.needed:
            _require_credit(log)
        raise
    if by_kernels and outcome.value:
        raise InputError(f"{log.path}: outcome '{outcome.name}' is credited by owners; this log has page tokens")
    if by_kernels and not isinstance(log.engine, Engine):
        raise InputError(f"{log.path}: page tokens can be credited only from files, not with --connect")
    parts, rest = list[Relation | None](), rows
    if by_kernels:
        some, rest = (log.engine.view(f"SELECT * FROM t WHERE page IS {no}NULL", t=rows) for no in ("NOT ", ""))
        parts.append(_by_kernels(log, some, creditor, number, wrong))
    if not by_kernels or log.engine.rows("SELECT count(*) AS n FROM t", t=rest)[0]["n"]:
        parts.append(_by_owners(log, rest, creditor, number, wrong, part=by_kernels))
    outcomes, *others = filter(None, parts) if any(parts) else [None]
    if outcomes and others:
        outcomes = log.engine.view("SELECT * FROM a UNION ALL SELECT * FROM b", a=outcomes, b=others[0])
    if creditor.needed and not creditor.pairs:
        _require_credit(log)
        first = f"; {log.bad.sentences[0]}" if log.bad.count else ""
        raise InputError(f"{log.path}: no impression can be credited{first}")
    rows = log.without(rows, wrong)
    return Credited(outcomes, rows, creditor, log.facts(rows))


def _any(log: ClickLog, columns: Collection[str]) -> bool:
    counts = " + ".join(f"count({name})" for name in columns if name in log.table.columns)
    return bool(counts) and log.engine.rows(f"SELECT {counts} AS n FROM t", t=log.table)[0]["n"] > 0


def _require_credit(log: ClickLog) -> None:
    if not log.engine.rows("SELECT count(*) AS n FROM t", t=log.table)[0]["n"]:
        raise InputError(f"{log.path}: the log has no rows")
    if not _any(log, ("page", "owners", "rankers", "fault")):
        raise InputError(f"{log.path}: {NO_CREDIT}") from None


def _refuse(log: ClickLog, sentences: Wrong, wrong: Wrong) -> None:
    log.bad.add({line: _VALUES.sub("", sentence) for line, sentence in sentences.items()}, sentences.__getitem__)
    wrong |= sentences


def _by_owners(
    log: ClickLog, rows: Relation, creditor: Creditor, number: int, wrong: Wrong, *, part: bool
) -> Relation | None:
    # The ranker whose documents got more clicks wins. Messages on rows that cannot be credited are added to `wrong`.
    refused, engine, given = Wrong(), log.engine, given_owners(rows.columns, by_event=log.loaded.by_event)
    sets: dict[tuple[str, ...], list[int]] = {}
    for kind in kinds_of(engine, rows, given) if part or log.bad.count or log.bad.equal else log.kinds:
        if not kind["given"] and not creditor.needed:
            continue
        try:
            if not kind["given"]:
                raise InputError(NO_CREDIT)
            creditor.start_owners(kind.get("method"), kind.get("outcome"))
            sets[tuple(kind.get("rankers") or ())] = creditor.arms_of(kind.get("rankers"))
        except InputError as error:
            keys = [key for key in ("rankers", "method", "outcome") if key in kind]
            same = [f"({given}) = {kind['given']}", *(f"{key} IS NOT DISTINCT FROM {_sql(kind[key])}" for key in keys)]
            lines = engine.query(f"SELECT line FROM t WHERE {' AND '.join(same)}", t=rows)["line"].to_pylist()
            refused |= dict.fromkeys(lines, str(error))
    _refuse(log, refused, wrong)
    if not sets:
        return None
    for size in sorted(set(map(len, sets.values()))):
        creditor.pairs_of(np.array([arms for arms in sets.values() if len(arms) == size]))
    relations, listed = {"t": log.without(rows, refused)}, log.loaded.placed is None
    if len(sets) == 1 and max(map(len, sets)) == 2:
        ((first, second),) = sets.values()
        a, b, pair, sign, source = "0", "1", "0", "1" if first < second else "-1", "t"
        lead = _lead_in_lists()
    else:
        a, b, pair, sign = "k.a", "k.b", "p.pair", "p.sign"
        places = zip(*combinations(range(max(map(len, sets))), 2), strict=True)
        relations["k"] = engine.small(dict(zip("ab", places, strict=True)))
        pairs = [(*two, k, 1) for k, two in enumerate(creditor.named_pairs)]
        pairs += [(two, one, k, -1) for one, two, k, _ in pairs]
        columns = zip(("first", "second", "pair", "sign"), zip(*pairs, strict=True), strict=True)
        relations["p"] = engine.small(dict(columns))
        source = f"t CROSS JOIN k JOIN p ON t.rankers[{_NEXT('a')}] = p.first AND t.rankers[{_NEXT('b')}] = p.second"
        if listed:  # count the clicks of a row once, not for each pair
            relations["t"] = engine.view(f"SELECT *, {_CREDITS} AS credits FROM t", t=relations["t"])
        lead = f"t.credits[{_NEXT('a')}] - t.credits[{_NEXT('b')}]"
    if not listed:
        worth = f"sum(w{number})" if log.outcomes[number].value else f"count(w{number})"
        credit = f"SELECT row, owner, {worth} AS credit FROM placed WHERE place IS NOT NULL AND owner >= 0"
        relations["c"] = engine.view(f"{credit} GROUP BY row, owner", placed=log.loaded.placed)
        lead = "coalesce(ca.credit, 0) - coalesce(cb.credit, 0)"
        source += f""" LEFT JOIN c AS ca ON t.row = ca.row AND ca.owner = {a}
          LEFT JOIN c AS cb ON t.row = cb.row AND cb.owner = {b}"""
    user, query = (
        f't."{name}"' if name in rows.columns else f"CAST(NULL AS VARCHAR) AS {name}" for name in ("user", "query")
    )
    sql = f"""SELECT *, abs(y) AS square FROM (
      SELECT line, time, "user", query, pair,
        CAST(CASE WHEN lead > 0 THEN sign WHEN lead < 0 THEN -sign ELSE 0 END AS BIGINT) * {UNIT} AS y
      FROM (SELECT t.line, t.time, {user}, {query}, {pair} AS pair, {sign} AS sign, {lead} AS lead
            FROM {source}) AS e) AS o"""
    return engine.view(sql, **relations)


def _sql(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_sql, value))}]"
    return "NULL" if value is None else quoted(value)


def _lead_in_lists() -> str:
    # the number of clicked documents of the first ranker, minus the number of the second ranker

    def side(place: str) -> str:
        return f"(CASE owners[{place}] WHEN 0 THEN 1 WHEN 1 THEN -1 ELSE 0 END)"

    one, two = side("clicks[1]"), f"{side('clicks[1]')} + {side('clicks[2]')}"
    several = f"list_sum(list_transform(list_distinct(clicks), lambda place: {side('place')}))"
    return (
        f"CASE len(clicks) WHEN 0 THEN 0 WHEN 1 THEN {one} WHEN 2 THEN"
        f" CASE WHEN clicks[1] = clicks[2] THEN {one} ELSE {two} END ELSE {several} END"
    )


def _by_kernels(log: ClickLog, rows: Relation, creditor: Creditor, number: int, wrong: Wrong) -> Relation:
    name = f"outcomes_{number}"
    log.engine.execute(f"CREATE OR REPLACE TABLE {name} ({_OUTCOMES})")
    rows = log.engine.view("SELECT * REPLACE (list_sort(list_distinct(clicks)) AS clicks) FROM t", t=rows)
    for batch in log.stream(rows):
        credit, refused = creditor(batch)
        _refuse(log, {int(batch.lines[row]): sentence for row, sentence in sorted(refused.items())}, wrong)
        table, at = batch.table, pa.array(credit.row)
        columns = {"line": pa.array(batch.lines[credit.row]), "time": table.column("time").take(at)}
        for text in ("user", "query"):
            has = text in table.schema.names
            columns[text] = table.column(text).take(at) if has else pa.nulls(len(at), pa.string())
        columns["pair"] = credit.pair
        for column, value in (("y", credit.y), ("square", credit.y**2)):
            columns[column] = np.round(value * UNIT).astype(np.int64)
        log.engine.insert(name, pa.table(columns))
    return log.engine.table(name)


class Ratio(NamedTuple):
    """A ratio of two outcomes, such as purchases for each click. Its text is ``purchase/click``.

    Count the impressions that the first ranker of a pair wins by purchases, and subtract the impressions that it loses
    by purchases. The ratio is this number, divided by the number of impressions that have a winner by clicks.

    Examples
    --------
    >>> Ratio("purchase", "click").name
    'purchase/click'
    """

    numerator: str  # name of an outcome of the log
    denominator: str

    @property
    def name(self) -> str:
        """The ratio as text."""
        return f"{self.numerator}/{self.denominator}"


AnyOutcome = str | Outcome | Ratio


def ratio_in(outcome: AnyOutcome, names: Collection[str] = ()) -> AnyOutcome:
    """Convert a text such as ``purchase/click`` to a `Ratio`, unless an outcome has this name (in ``names``)."""
    if isinstance(outcome, str) and outcome not in names and outcome.strip("/").count("/") == 1:
        return Ratio(*outcome.split("/"))
    return outcome


def single_outcomes(outcomes: Collection[AnyOutcome]) -> list[str | Outcome]:
    """Return all outcomes, with each ratio replaced by its numerator and its denominator."""
    singles = [given if isinstance(given, Ratio) else (given,) for given in map(ratio_in, outcomes)]
    return list(dict.fromkeys(name for pair in singles for name in pair))


def outcome_name(outcome: AnyOutcome) -> str:
    """Return the name of an outcome."""
    return outcome if isinstance(outcome, str) else outcome.name


def credited_outcome(log: ClickLog, outcome: AnyOutcome, rankers: Collection[str] = ()) -> Credited:
    """Compute the outcomes of a log. For a ratio, the column ``weight`` has the denominator."""
    if not isinstance(outcome, Ratio):
        return credited(log, rankers, outcome=outcome_name(outcome))
    numerator, denominator = (credited(log, rankers, outcome=name) for name in outcome)
    sql = "SELECT n.*, abs(d.y) AS weight FROM numerator n JOIN denominator d ON n.line = d.line AND n.pair = d.pair"
    both = log.engine.keep(sql, numerator=numerator.outcomes, denominator=denominator.outcomes)
    return numerator._replace(outcomes=both)
