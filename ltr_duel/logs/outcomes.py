"""The outcomes of a log as a relation: one row for each impression and each pair of its rankers.

Credit by owners is computed by the engine. Other credit requires compiled kernels, so rows are credited in batches, and
the outcomes are stored in a table of the engine. Outcomes are integers, so that sums are exact in any order.
"""

from __future__ import annotations

import operator
from collections.abc import Collection
from functools import reduce
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ltr_duel.core import InputError, errors
from ltr_duel.logs.attribution import suffixes
from ltr_duel.logs.bad import refused
from ltr_duel.logs.credit import Creditor
from ltr_duel.logs.engine import Engine
from ltr_duel.logs.log import ClickLog
from ltr_duel.logs.table import NO_CREDIT

_AT_ONCE = 1 << 19  # number of outcomes that are stored at a time
UNIT = 1 << 30  # integer that represents the outcome 1
_OUTCOMES = "line BIGINT, time DOUBLE, user VARCHAR, query VARCHAR, pair INTEGER, y BIGINT, square BIGINT"


class Credited(NamedTuple):
    """The credited outcomes of a log."""

    outcomes: Any  # Ibis table: line, time, user, query, pair, y and its square (both in units of 1 / UNIT)
    rows: Any  # Ibis table: the credited impressions
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

    Rows that cannot be credited count as bad lines, unless credit is not needed.
    """
    names = [one.name for one in log.outcomes]
    if outcome:
        errors.require_one_of("outcome of this log", outcome, names)
    number = names.index(outcome) if outcome else 0
    by_value = bool(log.outcomes[number].value)
    key = "credited", tuple(rankers), tuple(sorted(columns)), needed, number
    if key in log.known:
        return log.known[key]
    creditor = Creditor(rankers, needed=needed)
    have = log.columns
    wanted = {*Creditor.columns, "user", "query", "policy", "propensity", *columns, *log.context}
    if "owners" in have and not {"page", "rankings"} & set(have) and "shown" not in columns:
        wanted.discard("shown")  # credit by owners does not require the documents
    try:
        rows = log.rows(wanted)
    except InputError:  # if no line has credit data, the error reports this lack instead of the bad line
        if needed and not _says_how(log):
            raise InputError(f"{log.path}: {NO_CREDIT}") from None
        raise
    if ending := suffixes(log.outcomes)[number]:
        given = {name: rows[f"{name}{ending}"] for name in ("clicks", "worth") if f"{name}{ending}" in rows.columns}
        rows = rows.mutate(**given)
    by_owners = "owners" in rows.columns
    if forms := [name for name in ("page", "rankings") if by_owners and name in rows.columns]:
        (counts,) = log.engine.run(rows.aggregate(**{name: rows[name].count() for name in forms})).to_pylist()
        by_owners = not any(counts.values())
    if by_value and not by_owners:
        raise InputError(
            f"{log.path}: outcome '{names[number]}' is credited by owners; this log has page tokens or rankings"
        )
    if not by_owners and not isinstance(log.engine, Engine):
        raise InputError(f"{log.path}: page tokens and rankings can be credited only from files, not with --connect")
    wrong, outcomes = (
        _by_owners(log, rows, creditor, by_value) if by_owners else _by_kernels(log, rows, creditor, number)
    )
    if needed and not creditor.pairs:
        if not _says_how(log):
            raise InputError(f"{log.path}: {NO_CREDIT}")
        first = f"; {log.bad.sentences[0]}" if log.bad.count else ""
        raise InputError(f"{log.path}: no impression can be credited{first}")
    log.known[key] = Credited(outcomes, log.without(rows, wrong), creditor, by_owners)
    return log.known[key]


def _says_how(log: ClickLog) -> bool:
    """Return whether any row, usable or not, has credit data."""
    names = ("page", "rankings", "owners", "rankers", "fault")
    forms = [log.table[name].notnull().any() for name in names if name in log.columns]
    return bool(forms) and bool(log.engine.value(reduce(operator.or_, forms)))


def _text(rows: Any, name: str) -> Any:
    import ibis

    return rows[name] if name in rows.columns else ibis.null("string")


def _by_owners(log: ClickLog, rows: Any, creditor: Creditor, by_value: bool) -> tuple[dict[int, str], Any]:
    """Return error messages by line, and the outcomes: the ranker whose documents got more clicks wins."""
    import ibis

    keys = [name for name in ("rankers", "method", "outcome") if name in rows.columns]
    wrong: dict[int, str] = {}
    sets: dict[tuple[str, ...], list[int]] = {}
    for kind in log.kinds(rows):
        about: dict[str, Any] = {name: kind.get(name) for name in ("rankers", "method", "outcome")}
        try:
            if not kind["given"]:
                if not creditor.needed:
                    continue
                raise InputError(NO_CREDIT)
            creditor.rules("owners", about["method"], about["outcome"], len(about["rankers"] or ()))
            sets[tuple(about["rankers"] or ())] = creditor.arms_of(about["rankers"])
        except InputError as error:
            same = rows.filter(rows.owners.notnull() == kind["given"])
            for name in keys:
                same = same.filter(same[name].identical_to(ibis.literal(about[name], rows[name].type())))
            wrong |= dict.fromkeys(log.engine.run(same.select("line"))["line"].to_pylist(), str(error))
    log.bad.add(refused(wrong))
    if not sets:
        return wrong, None
    for size in sorted(set(map(len, sets.values()))):
        creditor.pairs_of(np.array([one for one in sets.values() if len(one) == size]))
    good = log.without(rows, wrong)
    places = [(a, b) for a, b in combinations(range(max(map(len, sets))), 2)]
    if places == [(0, 1)]:
        good = good.mutate(a=0, b=1)
    else:
        table = log.engine.small({"a": [a for a, _ in places], "b": [b for _, b in places]})
        good = good.cross_join(table)
        good = good.filter(good.b < good.rankers.length())
    if len(sets) == 1 and places == [(0, 1)]:
        (only,) = sets
        first, second = (creditor.names.index(name) for name in only)
        pair, sign = ibis.literal(0), creditor.pair(first, second)[1]
    else:
        names = creditor.named_pairs
        rows_of = [(x, y, k, 1) for k, (x, y) in enumerate(names)] + [(y, x, k, -1) for k, (x, y) in enumerate(names)]
        columns = dict(zip(("first", "second", "pair", "sign"), map(list, zip(*rows_of, strict=True)), strict=True))
        known = log.engine.small(columns)
        good = good.mutate(first=good.rankers[good.a], second=good.rankers[good.b]).join(known, ["first", "second"])
        pair, sign = good.pair, good.sign
    lead = _lead(good, by_value)
    side = lead.sign().cast("int8").cast("int64")  # Ibis omits a cast to int64, the type that it assumes for signs
    y = (side * sign * UNIT).coalesce(0)
    columns = {"line": good.line, "time": good.time, "user": _text(good, "user"), "query": good.query, "pair": pair}
    outcomes = good.select(**columns, y=y)
    return wrong, outcomes.mutate(square=outcomes.y.abs())


def _lead(good: Any, by_value: bool) -> Any:
    """Return ranker ``a``'s clicks (or values) minus ranker ``b``'s."""
    import ibis

    def side(place: Any) -> Any:
        owner = good.owners[place - 1]
        return ibis.cases((owner == good.a, 1), (owner == good.b, -1), else_=0)

    clicks = good.clicks
    if by_value:
        return clicks.map(lambda place, k: side(place) * good.worth[k]).sums()
    n, same = clicks.length(), clicks[0] == clicks[1]
    several = clicks.unique().map(side).sums()
    one, two = side(clicks[0]), side(clicks[0]) + side(clicks[1])
    return ibis.cases((n == 0, 0), ((n == 1) | ((n == 2) & same), one), (n == 2, two), else_=several)


def _by_kernels(log: ClickLog, rows: Any, creditor: Creditor, number: int) -> tuple[dict[int, str], Any]:
    """Return error messages by line, and the outcomes from the kernels of the methods."""
    wrong: dict[int, str] = {}
    name = f"outcomes{suffixes(log.outcomes)[number]}"
    log.engine.execute(f"CREATE OR REPLACE TABLE {name} ({_OUTCOMES})")
    some = list[Any]()

    def insert() -> None:
        log.engine.insert(name, pa.concat_tables(some))
        some.clear()

    for batch in log.stream(rows):
        found, unfit = creditor(batch)
        here = {int(batch.lines[row]): sentence for row, sentence in unfit.items()}
        log.bad.add(refused(here))
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
    return wrong, log.engine.table(name)
