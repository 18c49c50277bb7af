"""Join exposures and events: which events count by an outcome, for which impression, and at which place of its list.

An exposure is one display of a list. An event is a user's action on one item of the list; it may occur days later and
be stored in another table. All outcomes of a log come from one join.

    events --w0, w1, ...--> counted --impression--> joined --> placed: row, place, owner, w0, w1, ...
                               '--user, item, time (within)--'

The SQL is DuckDB's, in a form that other engines get by transpilation: explicit groups, no lambdas.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from ltr_duel.core import InputError, errors
from ltr_duel.logs.engine import Relation, named
from ltr_duel.logs.table import EVENT, LISTS, NO_RANKER, NO_RANKERS

WHICH = ("last", "first", "all")
MICRO: Final = 1_000_000  # integer that represents a value of 1
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
        A duration such as ``7d``: an event without an impression is credited to an exposure of the same user and item
        that was shown at most this long before the event. By default such events do not count.
    which : {"last", "first", "all"}
        The exposure that is credited if such an event matches several.
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
    which: str = "last"
    window: float | None = None

    def __post_init__(self) -> None:
        errors.require_one_of("exposure", self.which, WHICH)
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
        return f"CASE WHEN ({self.where or '1 = 1'}){positive} THEN {worth} END"

    def timely(self, worth: str) -> str:
        """Return the SQL of ``worth`` of an event e of an exposure x; null outside the window."""
        if self.window is None:
            return f"e.{worth}"
        inside = f"coalesce(e.time - x.time BETWEEN 0 AND {self.window!r}, TRUE)"
        return f"CASE WHEN {inside} THEN e.{worth} END AS {worth}"


def outcome_of(given: str | Outcome, within: str = "", which: str = "last") -> Outcome:
    """Return an outcome: ``click`` or another kind of event, ``value``, or ``dwell>=30``, written as text."""
    if isinstance(given, Outcome):
        return given
    if match := re.fullmatch(r"dwell>=(\d+\.?\d*)", given.replace(" ", "")):
        return Outcome(given, f"kind = 'click' AND dwell >= {float(match[1])}", "", within, which)
    if not given or re.search(r"[<>=]", given):
        raise InputError(f"'{given}' is not an outcome: give click or another kind of event, value, or dwell>=30")
    if given == "value":
        return Outcome(given, "value IS NOT NULL", "value", within, which)
    kind = given.replace("'", "''")
    return Outcome(given, f"kind = '{kind}'", "", within, which)


class EventCounts(NamedTuple):
    """Numbers of events of the first outcome."""

    counted: int  # events that count by the outcome
    loose: int  # counted events without an impression
    known: int  # counted events without an impression, but with user and item
    attributed: int  # events that belong to an exposure (once for each)
    placed: int  # events among them that are on an item of the list
    given: int  # events without an impression that were credited to an exposure


class Attributed(NamedTuple):
    """Exposures joined to their events."""

    placed: Relation  # row, place, owner, and the sums w0, w1, ... of the events at this place
    counts: EventCounts


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
    check: Callable[[dict[str, Any]], None],
) -> Attributed:
    """Join exposures to the events that count by the outcomes.

    Parameters
    ----------
    exposures, events : relations
        Exposures have the columns of `EXPOSURE` that exist, and ``row``, an id of the row. Events have all of `EVENT`.
    check : callable
        Raises an error for events that cannot be read, given the times and the first fault of all events.

    Raises
    ------
    InputError
        If the ranker of an item is not known, or events exist, but none of the kind of the first outcome.
    """
    by_event = not {"owners", "page", "rankings"} & set(exposures.columns)  # events name the owners of their items
    if by_event and "rankers" not in exposures.columns:
        raise InputError(NO_RANKERS)
    worths = [f"w{k}" for k in range(len(outcomes))]
    chosen = ["*", *(f"{outcome.worth()} AS {worth}" for outcome, worth in zip(outcomes, worths, strict=True))]
    counted = engine.view(f"SELECT {', '.join(chosen)} FROM events", events=events)
    about = _count(engine, counted, outcomes, check, exposures.columns)
    place, owner = _place(exposures.columns, by_event, items=about.pop("items"))
    sums = ", ".join(worths)
    lists = [f"x.{name}" for name in ("shown", "owners", "rankers") if name in exposures.columns]
    timely = [outcome.timely(worth) for outcome, worth in zip(outcomes, worths, strict=True)]
    event = ", ".join(["e.item", "e.position", *timely])
    names = f"SELECT x.row, {', '.join([*lists, event])}, e.owner AS owner_name FROM events e JOIN exposures x"
    names += " ON e.impression = x.impression"
    at = f"SELECT *, {place} AS place FROM ({names}) AS n"
    sql = f"SELECT row, place, {owner} AS owner, {sums} FROM ({at}) AS p"
    joined = engine.view(sql, events=counted, exposures=exposures)
    relations = {"joined": joined}
    parts = [f"SELECT row, place, owner, {sums} FROM joined"]
    for k, outcome in enumerate(outcomes):
        if outcome.seconds:
            relations[f"late{k}"] = _late(engine, exposures, counted, outcome, worths[k], owner)
            others = ", ".join(w if w == worths[k] else f"CAST(NULL AS BIGINT) AS {w}" for w in worths)
            parts.append(f"SELECT row, place, owner, {others} FROM late{k}")
    each = ", ".join([*(f"CAST(sum({w}) AS BIGINT) AS {w}" for w in worths), "count(w0) AS events"])
    some = " OR ".join(f"{w} IS NOT NULL" for w in worths)
    rows = f"SELECT * FROM ({' UNION ALL '.join(parts)}) AS a WHERE {some}"
    placed = engine.keep(f"SELECT row, place, owner, {each} FROM ({rows}) AS a GROUP BY row, place, owner", **relations)
    numbers = "sum(events) AS attributed, sum(CASE WHEN place IS NOT NULL THEN events ELSE 0 END) AS placed"
    (found,) = engine.rows(f"SELECT {numbers} FROM placed", placed=placed)
    found = {name: int(value or 0) for name, value in found.items()} | {"given": 0}
    if "late0" in relations:
        sql = "SELECT count(DISTINCT event) AS given FROM late0"
        found |= engine.rows(sql, late0=relations["late0"])[0]
    return Attributed(placed, EventCounts(**about, **found))


def _count(
    engine: Any,
    counted: Relation,
    outcomes: Sequence[Outcome],
    check: Callable[[dict[str, Any]], None],
    columns: Sequence[str],
) -> dict[str, int]:
    """Count the events; raise `InputError` if there are events, but none of the kind of the first outcome."""
    outcome = outcomes[0]
    loose = "w0 IS NOT NULL AND impression IS NULL"
    both = f'{loose} AND "user" IS NOT NULL AND item IS NOT NULL'
    sums = {"counted": "count(w0)", "items": "count(item)"} | {
        name: f"count(CASE WHEN {condition} THEN 1 END)" for name, condition in (("loose", loose), ("known", both))
    }
    checked = {"first": "min(time)", "last": "max(time)"}
    if LISTS & set(columns):  # positions of events are places of a list
        some = " OR ".join(f"w{k} IS NOT NULL" for k in range(len(outcomes)))
        placed = f"({some}) AND impression IS NOT NULL" + " AND item IS NULL" * ("shown" in columns)
        checked["lowest"] = f"min(CASE WHEN {placed} THEN position END)"
    if "fault" in counted.columns:
        checked["faulty"] = "min(CASE WHEN fault IS NOT NULL THEN origin END)"
    chosen = ", ".join(f"{value} AS {name}" for name, value in (sums | checked).items())
    (about,) = engine.rows(f"SELECT {chosen} FROM events", events=counted)
    check(about)
    if not about["counted"] and outcome.kind:
        kinds = engine.query("SELECT kind FROM events GROUP BY kind", events=counted)["kind"].to_pylist()
        if kinds and outcome.kind not in kinds:
            raise errors.unknown_name("kind of event", outcome.kind, sorted(kind for kind in kinds if kind is not None))
    return {name: about[name] for name in sums}


def _place(columns: Sequence[str], by_event: bool, *, items: int) -> tuple[str, str]:
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


def _late(engine: Any, exposures: Relation, counted: Relation, outcome: Outcome, worth: str, owner: str) -> Relation:
    """Return the events without an impression that count for an exposure of their user and item."""
    if not {"shown", "user"} <= set(exposures.columns):
        raise InputError("events without an impression require the columns 'user' and 'shown' of exposures")
    lists = [name for name in ("owners", "rankers") if name in exposures.columns]
    place = (
        "x.place" if "owner_name" not in owner else "CASE WHEN e.owner IS NOT NULL THEN CAST(x.place AS VARCHAR) END"
    )
    seconds = outcome.seconds if outcome.window is None else min(outcome.seconds, outcome.window)
    items = engine.unnested(exposures, "shown", ("row", "impression", "time", "user", *lists))
    event = 'row_number() OVER (ORDER BY time, "user", item) AS event'
    loose = f"SELECT *, {event} FROM events WHERE impression IS NULL AND {worth} IS NOT NULL"
    order = "x.time DESC" if outcome.which == "last" else "x.time"
    turn = f"row_number() OVER (PARTITION BY e.event ORDER BY {order}, x.impression) AS turn"
    chosen = ", ".join(["x.row", f"{place} AS place", *(f"x.{name}" for name in lists)])
    matching = (
        f"SELECT {chosen}, e.owner AS owner_name, e.{worth}, e.event, {turn} FROM ({loose}) AS e JOIN items x ON"
        f' e."user" = x."user" AND e.item = x.item'
        f" WHERE e.time >= x.time AND e.time <= x.time + {seconds!r}"
    )
    only = "" if outcome.which == "all" else " WHERE turn = 1"
    sql = f"SELECT row, place, {owner} AS owner, {worth}, event FROM ({matching}) AS j{only}"
    return engine.keep(sql, events=counted, items=items)


def click_lists(engine: Any, placed: Relation, outcomes: Sequence[Outcome], *, by_event: bool) -> Relation:
    """Return for each row with events the clicked places of each outcome, ``clicks``, ``clicks_1``, ...

    If events name the owners of their items, the places are numbers of these items, and ``owners`` has their owners.
    """
    rows, place, made = "SELECT * FROM placed WHERE place IS NOT NULL", "place", []
    if by_event:
        number = "CAST(row_number() OVER (PARTITION BY row ORDER BY place, owner) AS INTEGER) AS number"
        rows, place = f"SELECT *, {number} FROM ({rows}) AS p", "number"
        made = ["array_agg(owner ORDER BY number) AS owners"]
    for k, ending in enumerate(suffixes(outcomes)):
        order = f" ORDER BY {place}" if by_event else ""
        made.append(f"array_agg({place}{order}) FILTER (WHERE w{k} IS NOT NULL) AS clicks{ending}")
    return engine.view(f"SELECT row, {', '.join(made)} FROM ({rows}) AS p GROUP BY row", placed=placed)


def suffixes(outcomes: Sequence[Outcome]) -> list[str]:
    """Return the endings of the columns of each outcome: none for the first, then _1, _2, ..."""
    return [f"_{k}" * (k > 0) for k in range(len(outcomes))]
