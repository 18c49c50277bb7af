"""Join exposures and events: which events count by an outcome, for which impression, and at which place of its list.

An exposure is one display of a list. An event is a user's action on one item of the list; it may occur days later and
be stored in another table. All outcomes of a log come from one join.

    events --w0, w1, ...--> counted --impression--> joined --> placed: row, place, owner, w0, w1, ...
                               '--user, item, time (within)--'

The SQL is DuckDB's, in a form that other engines get by transpilation: explicit groups, no lambdas.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from ltr_duel.core import InputError, errors
from ltr_duel.logs.checks import Check, code_rows, event_checks, message
from ltr_duel.logs.engine import Relation, named
from ltr_duel.logs.table import EVENT, LISTS, NO_RANKER, NO_RANKERS

MICRO: Final = 1_000_000  # integer that represents a value of 1
LARGEST: Final = "100000000000"  # value of an event; 64 bits contain millionths of the sum of 92 such values
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_KIND = re.compile(r"kind = '((?:[^']|'')*)'.*", re.DOTALL)


@dataclass(frozen=True)
class Outcome:
    """What decides an impression: the ranker whose documents got more of it wins.

    Parameters
    ----------
    name : str
        Name in tables and messages.
    where : str
        SQL condition on the columns of events (``kind``, ``item``, ``position``, ``value``, ``dwell``, ``time``,
        ``user``, ``owner``): which events count. All events by default.
    value : str
        SQL expression of the same columns, which is added up, such as ``"value"``. By default, each document with an
        event counts once.
    within : str
        A duration such as ``7d``: an event without an impression is credited to the last exposure of the same user and
        item, if it was at most this long before the event. By default such events do not count.
    window : float, optional
        Only events from 0 to this many seconds after their exposure count, and of events with a value only positive
        ones: the rule of live experiments. Clicks in one table, and events without a time, all count.

    Examples
    --------
    >>> Outcome("revenue", where="kind = 'order'", value="value", within="7d").seconds
    604800.0
    """

    name: str
    where: str = ""
    value: str = ""
    within: str = ""
    window: float | None = None

    def __post_init__(self) -> None:
        _ = self.seconds

    @property
    def seconds(self) -> float:
        """``within`` in seconds; 0 if events without an impression do not count."""
        match = re.fullmatch(r"(\d+\.?\d*)([smhdw])", self.within) if self.within else None
        if self.within and not match:
            raise InputError(f"'{self.within}' is not a duration: write 30m, 12h or 7d")
        return float(match[1]) * _UNITS[match[2]] if match else 0.0

    @property
    def kind(self) -> str:
        """The kind of event in the condition; "" if the condition does not begin with a kind."""
        match = _KIND.fullmatch(self.where)
        return match[1].replace("''", "'") if match else ""

    def worth(self) -> str:
        """Return the SQL of what an event adds, in millionths; null if it does not count."""
        worth = f"CAST(floor(({self.value}) * 1e6 + 0.5) AS BIGINT)" if self.value else f"CAST({MICRO} AS BIGINT)"
        positive = "" if self.window is None else " AND (value IS NULL OR value > 0)"
        exact = f" AND abs({self.value}) <= {LARGEST}" * bool(self.value)
        return f"CASE WHEN ({self.where or '1 = 1'}){positive}{exact} THEN {worth} END"

    def timely(self, worth: str) -> str:
        """Return the SQL of ``worth`` of an event e of an exposure x; null outside the window."""
        if self.window is None:
            return f"e.{worth}"
        inside = f"coalesce(e.time - x.time BETWEEN 0 AND {self.window!r}, TRUE)"
        return f"CASE WHEN {inside} THEN e.{worth} END AS {worth}"


def outcome_of(given: str | Outcome, within: str = "") -> Outcome:
    """Return an outcome: ``click`` or another kind of event, ``value``, or ``dwell>=30``, written as text."""
    if isinstance(given, Outcome):
        return given
    if match := re.fullmatch(r"dwell>=(\d+\.?\d*)", given.replace(" ", "")):
        return Outcome(given, f"kind = 'click' AND dwell >= {float(match[1])}", "", within)
    if not given or re.search(r"[<>=]", given):
        raise InputError(f"'{given}' is not an outcome: give click or another kind of event, value, or dwell>=30")
    if given == "value":
        return Outcome(given, "value IS NOT NULL", "value", within)
    kind = given.replace("'", "''")
    return Outcome(given, f"kind = '{kind}'", "", within)


class EventCounts(NamedTuple):
    """Numbers of events of the first outcome."""

    counted: int  # events that count by the outcome
    loose: int  # counted events without an impression
    known: int  # counted events without an impression, but with user and item
    attributed: int  # events that belong to an exposure (once for each)
    placed: int  # events among them that are on an item of the list
    given: int  # events without an impression that were credited to an exposure


def completed(engine: Any, events: Relation) -> Relation:
    """Return events with all columns of `EVENT`; if there is no column ``kind``, all events are clicks."""
    missing = [
        f"CAST({'NULL' if name != 'kind' else chr(39) + 'click' + chr(39)} AS {kind}) AS {named(name)}"
        for name, kind in EVENT.items()
        if name not in events.columns
    ]
    return engine.view(f"SELECT {', '.join(['*', *missing])} FROM events", events=events) if missing else events


def attribute(
    engine: Any,
    exposures: Relation,
    events: Relation,
    outcomes: Sequence[Outcome],
    find: Callable[[Any], Any] | None = None,
) -> tuple[Relation, EventCounts]:
    """Join exposures to the events that count: ``row``, ``place``, ``owner``, and the sums w0, w1, ... of each outcome.

    ``strange`` is the name of an owner that is not a ranker of its exposure, whose number is `NO_RANKER`.

    Parameters
    ----------
    exposures, events : relations
        Exposures have the columns of `EXPOSURE` that exist, and ``row``, an id of the row. Events have all of `EVENT`.
    find : callable, optional
        Returns the file and row of an event, given its ``origin``.

    Raises
    ------
    InputError
        If an event cannot be read, exposures lack rankers, or no event is of the kind of the first outcome.
    """
    by_event = not {"owners", "page"} & set(exposures.columns)  # events name the owners of their items
    if by_event and "rankers" not in exposures.columns:
        raise InputError(NO_RANKERS)
    worths = [f"w{k}" for k in range(len(outcomes))]
    chosen = ", ".join(f"{outcome.worth()} AS {worth}" for outcome, worth in zip(outcomes, worths, strict=True))
    events = engine.view(f"SELECT *, {chosen} FROM events", events=events)
    about = _counted(engine, exposures, events, outcomes, find)
    place, owner = _place(exposures.columns, by_event, items=about.pop("items") > 0)
    timely = ", ".join(outcome.timely(worth) for outcome, worth in zip(outcomes, worths, strict=True))
    lists = "".join(f", x.{name}" for name in ("shown", "owners", "rankers") if name in exposures.columns)
    both = f"""SELECT x.row{lists}, e.item, e.position, e.owner AS owner_name, {timely}
      FROM events e JOIN exposures x ON e.impression = x.impression"""
    at = f"SELECT *, {place} AS place FROM ({both}) AS b"
    joined = engine.view(f"SELECT *, {owner} AS owner FROM ({at}) AS p", events=events, exposures=exposures)
    relations, sums = {"joined": joined}, ", ".join(worths)
    parts = [f"SELECT row, place, owner, owner_name, {sums} FROM joined"]
    for k, outcome in enumerate(outcomes):
        if outcome.seconds:
            relations[f"late{k}"] = _late(engine, exposures, events, outcome, worths[k], owner)
            others = ", ".join(w if w == worths[k] else f"CAST(NULL AS BIGINT) AS {w}" for w in worths)
            parts.append(f"SELECT row, place, owner, owner_name, {others} FROM late{k}")
    each = ", ".join(f"CAST(sum({w}) AS BIGINT) AS {w}" for w in worths)
    strange = f"min(CASE WHEN owner = {NO_RANKER} THEN owner_name END) AS strange"
    placed = engine.keep(
        f"""SELECT row, place, owner, {strange}, {each}, count(w0) AS events FROM ({" UNION ALL ".join(parts)}) AS a
          WHERE coalesce({sums}) IS NOT NULL GROUP BY row, place, owner""",
        **relations,
    )
    numbers = "sum(events) AS attributed, sum(CASE WHEN place IS NOT NULL THEN events ELSE 0 END) AS placed"
    (found,) = engine.rows(f"SELECT {numbers} FROM placed", placed=placed)
    if "late0" in relations:
        found |= engine.rows("SELECT count(DISTINCT event) AS given FROM late0", late0=relations["late0"])[0]
    return placed, EventCounts(**about, **{"given": 0} | {name: int(value or 0) for name, value in found.items()})


def _counted(
    engine: Any, exposures: Relation, events: Relation, outcomes: Sequence[Outcome], find: Callable[[Any], Any] | None
) -> dict[str, Any]:
    """Check and count the events in one scan; raise `InputError` for the first that cannot be read."""
    some = " OR ".join(f"w{k} IS NOT NULL" for k in range(len(outcomes)))
    positions = f"({some}) AND impression IS NOT NULL{' AND item IS NULL' * ('shown' in exposures.columns)}"
    (first,) = engine.rows("SELECT min(time) AS first FROM x", x=exposures)
    checks = event_checks(events, positions if LISTS & set(exposures.columns) else "1 = 0", first["first"])
    for outcome in outcomes:
        if outcome.value:
            sentence = f"an event's value ({outcome.name}) must be a number up to 1e11, not {{{outcome.value}}}"
            checks.append(Check("", f"({outcome.where or '1 = 1'}) AND abs({outcome.value}) > {LARGEST}", sentence))
    loose = "w0 IS NOT NULL AND impression IS NULL"
    counts = {"counted": "count(w0)", "items": "count(item)"} | {
        name: f"count(CASE WHEN {condition} THEN 1 END)"
        for name, condition in (("loose", loose), ("known", f'{loose} AND "user" IS NOT NULL AND item IS NOT NULL'))
    }
    coded = code_rows(engine, events, checks)
    chosen = ", ".join(f"{value} AS {name}" for name, value in counts.items())
    found = engine.rows(f"SELECT code, {chosen} FROM t GROUP BY code", t=coded)
    if wrong := [row["code"] for row in found if row["code"] >= 0]:
        order = " ORDER BY origin" * ("origin" in events.columns)
        row = engine.query(f"SELECT * FROM t WHERE code = {min(wrong)}{order} LIMIT 1", t=coded)
        _refuse(row, checks[min(wrong)].message, find)
    about = {name: sum(row[name] for row in found) for name in counts}
    if not about["counted"] and (wanted := outcomes[0].kind):
        kinds = engine.query("SELECT kind FROM events GROUP BY kind", events=events)["kind"].to_pylist()
        if kinds and wanted not in kinds:
            raise errors.unknown_name("kind of event", wanted, sorted(kind for kind in kinds if kind is not None))
    return about


def _refuse(row: Any, sentence: str, find: Callable[[Any], Any] | None) -> None:
    """Raise `InputError` if a table has a row; ``sentence``: SQL of the message."""
    if len(row):
        at = f"{find(row['origin'][0].as_py())}: " if find and "origin" in row.column_names else ""
        raise InputError(errors.in_one_line(f"{at}{message(row, sentence)}"))


def _place(columns: Collection[str], by_event: bool, *, items: bool) -> tuple[str, str]:
    """Return the SQL of an event's place in the list of its exposure (null if it is not on the list), and its owner.

    Without lists, any item with an owner has a place: its id or its position, as text.
    """
    lists = [name for name in ("shown", "owners") if name in columns]
    place = "coalesce(item, CAST(position AS VARCHAR))"
    if lists:
        place = f"CASE WHEN position BETWEEN 1 AND array_length({lists[-1]}) THEN CAST(position AS INTEGER) END"
        if items and "shown" in columns:
            at = "CAST(nullif(array_position(shown, item), 0) AS INTEGER)"
            place = f"CASE WHEN item IS NULL THEN {place} ELSE {at} END"
    if by_event:
        number = f"coalesce(CAST(nullif(array_position(rankers, owner_name), 0) - 1 AS INTEGER), {NO_RANKER})"
        return f"CASE WHEN owner_name IS NOT NULL THEN CAST({place} AS VARCHAR) END", number
    return place, "owners[CAST(place AS INTEGER)]" if "owners" in columns else "CAST(NULL AS INTEGER)"


def _late(engine: Any, exposures: Relation, events: Relation, outcome: Outcome, worth: str, owner: str) -> Relation:
    """Return the events without an impression that count for an exposure of their user and item."""
    if not {"shown", "user"} <= set(exposures.columns):
        raise InputError("events without an impression require the columns 'user' and 'shown' of exposures")
    lists = [name for name in ("owners", "rankers") if name in exposures.columns]
    items = engine.unnested(exposures, "shown", ("row", "impression", "time", "user", *lists))
    place = "CASE WHEN e.owner IS NOT NULL THEN CAST(x.place AS VARCHAR) END" if "owner_name" in owner else "x.place"
    seconds = outcome.seconds if outcome.window is None else min(outcome.seconds, outcome.window)
    matching = f"""SELECT x.row, {place} AS place, e.owner AS owner_name, e.{worth}, e.event,
      {"".join(f"x.{name}, " for name in lists)}
      row_number() OVER (PARTITION BY e.event ORDER BY x.time DESC, x.impression) AS turn
      FROM (SELECT *, row_number() OVER (ORDER BY time, "user", item) AS event FROM events
            WHERE impression IS NULL AND {worth} IS NOT NULL) AS e
      JOIN items x ON e."user" = x."user" AND e.item = x.item
      WHERE e.time >= x.time AND e.time <= x.time + {seconds!r}"""
    sql = f"SELECT row, place, {owner} AS owner, owner_name, {worth}, event FROM ({matching}) AS m WHERE turn = 1"
    return engine.keep(sql, events=events, items=items)


def clicked_places(engine: Any, placed: Relation, number: int, *, by_event: bool) -> Relation:
    """Return for each row its ``clicks``, the places with events of an outcome.

    If events name the owners of their items, the places are numbers of these items, and ``owners`` has their owners.
    """
    rows, place, owners = f"SELECT *, w{number} AS w FROM placed WHERE place IS NOT NULL", "place", ""
    if by_event:
        turn = "CAST(row_number() OVER (PARTITION BY row ORDER BY place, owner) AS INTEGER) AS number"
        rows, place = f"SELECT *, {turn} FROM ({rows}) AS p", "number"
        owners = ", array_agg(owner ORDER BY number) AS owners"
    clicks = f"array_agg({place}{' ORDER BY number' * by_event}) FILTER (WHERE w IS NOT NULL) AS clicks"
    return engine.keep(f"SELECT row, {clicks}{owners} FROM ({rows}) AS p GROUP BY row", placed=placed)
