"""Join exposures and events: which events count by an outcome, for which impression, and at which place of its list.

An exposure is one display of a list. An event is a user's action on one item of the list; it may occur days later and
be stored in another table.

    events --w--> counted --impression--> exposures --place--> clicks (lists by impression) --> impressions
                     '--user, item, time (within)--'

The SQL is DuckDB's, in a form that other engines get by transpilation: explicit groups, no lambdas.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from ltr_duel.core import InputError, errors
from ltr_duel.logs.engine import NO_RANKER
from ltr_duel.logs.table import NO_RANKERS

EXPOSURE = (
    "impression", "time", "user", "query", "shown", "page", "rankers", "owners", "rankings", "method", "outcome",
    "policy", "propensity",
)  # fmt: skip
EVENT = {
    **dict.fromkeys(("impression", "user", "item"), "VARCHAR"), "position": "BIGINT", "owner": "VARCHAR",
    "kind": "VARCHAR", **dict.fromkeys(("value", "dwell", "time"), "DOUBLE"),
}  # fmt: skip
LISTS = {"shown", "owners"}  # exposures have lists if they have at least one of these columns
WHICH = ("last", "first", "all")
MICRO: Final = 1_000_000  # integer that represents a value of 1
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_NUMBERS = "sum(events) AS attributed", "sum(CASE WHEN place IS NOT NULL THEN events ELSE 0 END) AS placed"
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
        worth = f"CAST(round(({self.value}) * 1e6) AS BIGINT)" if self.value else f"CAST({MICRO} AS BIGINT)"
        return f"CASE WHEN {self.where or '1 = 1'} THEN {worth} END"


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

    impressions: str  # SQL of the impressions, with the columns of exposures, ``clicks``... and ``line``
    relations: dict[str, Any]  # the relations in this SQL
    met: Any  # relation of the events that name an impression: row (null if it is unknown), shown_at, time, kind
    counts: EventCounts


def suffixes(outcomes: Sequence[Outcome]) -> list[str]:
    """Return the endings of the columns of each outcome: none for the first, then _1, _2, ..."""
    return [f"_{k}" * (k > 0) for k in range(len(outcomes))]


def completed(engine: Any, events: Any) -> Any:
    """Return events with all columns of `EVENT`; if there is no column ``kind``, all events are clicks."""
    missing = [
        f"CAST({'NULL' if name != 'kind' else chr(39) + 'click' + chr(39)} AS {kind}) AS {_q(name)}"
        for name, kind in EVENT.items()
        if name not in events.columns
    ]
    return engine.view(f"SELECT {', '.join(['*', *missing])} FROM events", events=events) if missing else events


def attribute(
    engine: Any, exposures: Any, events: Any, outcomes: Sequence[Outcome], line: str, more: dict[str, Any]
) -> Attributed:
    """Join exposures to the events that count by the outcomes.

    Parameters
    ----------
    exposures, events : relations
        Exposures have the columns of `EXPOSURE` that exist, and ``row``, an id of the row. Events have all of `EVENT`.
    line : str
        SQL of the number of a row in the order of time, given ``x``, the exposures, and the relations ``more``.

    Raises
    ------
    InputError
        If the ranker of an item is not known, or events exist, but none of the kind of the first outcome.
    """
    columns = exposures.columns
    worths = [f"w{k}" for k in range(len(outcomes))]
    given = [f"{outcome.worth()} AS {worth}" for outcome, worth in zip(outcomes, worths, strict=True)]
    kept = [*EVENT, *(name for name in ("origin",) if name in events.columns)]
    counted = engine.view(f"SELECT {', '.join([*map(_q, kept), *given])} FROM events", events=events)
    about = _count(engine, counted, events, outcomes[0])
    by_event = not {"owners", "page", "rankings"} & set(columns)  # events name the owners of their items
    if by_event and "rankers" not in columns:
        raise InputError(NO_RANKERS)
    place = _place(engine, columns, counted, by_event)
    chosen = (
        f"x.row, x.time AS shown_at, e.time, e.kind, {place} AS place, e.owner, {', '.join(f'e.{w}' for w in worths)}"
    )
    joined = "FROM events e LEFT JOIN exposures x ON e.impression = x.impression WHERE e.impression IS NOT NULL"
    sql = f"SELECT {chosen} {joined}"
    met = engine.view(sql, events=counted, exposures=exposures)
    relations, parts = (
        {"met": met},
        [f"SELECT row, place, owner, {', '.join(worths)}, NULL AS event FROM met WHERE row IS NOT NULL"],
    )
    for k, outcome in enumerate(outcomes):
        if outcome.seconds:
            relations[f"late{k}"] = _late(engine, exposures, counted, outcome, worths[k])
            others = ", ".join(one if one == worths[k] else f"CAST(NULL AS BIGINT) AS {one}" for one in worths)
            parts.append(f"SELECT row, place, owner, {others}, event FROM late{k}")
    any_worth = " OR ".join(f"{one} IS NOT NULL" for one in worths)
    attributed = engine.view(f"SELECT * FROM ({' UNION ALL '.join(parts)}) AS a WHERE {any_worth}", **relations)
    lists = (_owned_lists if by_event else _lists)(engine, attributed, exposures, outcomes, worths)
    numbers = "sum(attributed) AS attributed, sum(placed) AS placed"
    (found,) = engine.query(f"SELECT {numbers} FROM clicks", clicks=lists).to_pylist()
    found = {name: int(value or 0) for name, value in found.items()}
    found["given"] = (
        engine.query("SELECT count(DISTINCT event) AS n FROM late0", late0=relations["late0"])["n"][0].as_py()
        if "late0" in relations
        else 0
    )
    dropped = {"row", *(["shown"] if by_event else []), *lists.columns}
    own = [f"x.{_q(name)}" for name in columns if name not in dropped]
    empty = [f"coalesce(c.{name}, CAST([] AS {kind}[])) AS {name}" for name, kind in _kinds(lists).items()]
    select = f"SELECT {', '.join([*own, 'x.row', *empty, f'{line} AS line'])}"
    joined = "FROM exposures x LEFT JOIN clicks c ON x.row = c.row" + "".join(
        f" JOIN {one} ON x.row = {one}.row" for one in more
    )
    counts = EventCounts(**about, **found)
    return Attributed(f"{select} {joined}", {"exposures": exposures, "clicks": lists} | more, met, counts)


def _count(engine: Any, counted: Any, events: Any, outcome: Outcome) -> dict[str, int]:
    """Count the events; raise `InputError` if there are events, but none of the kind of the outcome."""
    loose = "w0 IS NOT NULL AND impression IS NULL"
    both = f"{loose} AND {_q('user')} IS NOT NULL AND item IS NOT NULL"
    sums = {"counted": "count(w0)"} | {
        name: f"count(CASE WHEN {condition} THEN 1 END)" for name, condition in (("loose", loose), ("known", both))
    }
    chosen = ", ".join(f"{value} AS {name}" for name, value in sums.items())
    (about,) = engine.query(f"SELECT {chosen} FROM events", events=counted).to_pylist()
    if not about["counted"] and outcome.kind:
        kinds = engine.query("SELECT kind FROM events GROUP BY kind", events=counted)["kind"].to_pylist()
        if kinds and outcome.kind not in kinds:
            raise errors.unknown_name("kind of event", outcome.kind, sorted(kind for kind in kinds if kind is not None))
    return about


def _place(engine: Any, columns: Collection[str], counted: Any, by_event: bool) -> str:
    """Return the SQL of the place of an event ``e`` in the list of an exposure ``x``; null if it is not on the list.

    Without lists, any item has a place: its id or its position, as text.
    """
    lists = [name for name in ("shown", "owners") if name in columns]
    if not lists:
        return "CASE WHEN e.owner IS NOT NULL THEN coalesce(e.item, CAST(e.position AS VARCHAR)) END"
    place = f"CASE WHEN e.position BETWEEN 1 AND array_length(x.{lists[-1]}) THEN CAST(e.position AS INTEGER) END"
    items = "shown" in columns and engine.query("SELECT count(item) AS n FROM events", events=counted)["n"][0].as_py()
    if items:
        at = "CAST(nullif(array_position(x.shown, e.item), 0) AS INTEGER)"
        place = f"CASE WHEN e.item IS NULL THEN {place} ELSE {at} END"
    return f"CASE WHEN e.owner IS NOT NULL THEN CAST({place} AS VARCHAR) END" if by_event else place


def _late(engine: Any, exposures: Any, counted: Any, outcome: Outcome, worth: str) -> Any:
    """Return the events without an impression that count for an exposure of their user and item."""
    if not {"shown", "user"} <= set(exposures.columns):
        raise InputError("events without an impression require the columns 'user' and 'shown' of exposures")
    items = engine.unnested(exposures, "shown", ("row", "impression", "time", "user"))
    event = f"row_number() OVER (ORDER BY time, {_q('user')}, item) AS event"
    loose = f"SELECT *, {event} FROM events WHERE impression IS NULL AND {worth} IS NOT NULL"
    order = "x.time DESC" if outcome.which == "last" else "x.time"
    turn = f"row_number() OVER (PARTITION BY e.event ORDER BY {order}, x.impression) AS turn"
    joined = (
        f"SELECT x.row, x.place, e.owner, e.{worth}, e.event, {turn} FROM ({loose}) AS e JOIN items x ON"
        f" e.{_q('user')} = x.{_q('user')} AND e.item = x.item"
        f" WHERE e.time >= x.time AND e.time <= x.time + {outcome.seconds!r}"
    )
    only = "" if outcome.which == "all" else " WHERE turn = 1"
    return engine.keep(
        f"SELECT row, place, owner, {worth}, event FROM ({joined}) AS j{only}", events=counted, items=items
    )


def _lists(engine: Any, attributed: Any, exposures: Any, outcomes: Sequence[Outcome], worths: Sequence[str]) -> Any:
    """Return for each row the clicked places of each outcome, and what they are worth; each place counts once."""
    sums = ", ".join([*(f"CAST(sum({worth}) AS BIGINT) AS {worth}" for worth in worths), "count(w0) AS events"])
    each = f"(SELECT row, place, {sums} FROM attributed GROUP BY row, place) AS p"
    lists = ", ".join([*_collected("place", outcomes, worths), *_NUMBERS])
    return engine.keep(f"SELECT row, {lists} FROM {each} GROUP BY row", attributed=attributed)


def _owned_lists(
    engine: Any, attributed: Any, exposures: Any, outcomes: Sequence[Outcome], worths: Sequence[str]
) -> Any:
    """Return for each row the owners of the items with events, and the numbers of these items for each outcome."""
    sums = ", ".join([*(f"CAST(sum(a.{worth}) AS BIGINT) AS {worth}" for worth in worths), "count(a.w0) AS events"])
    each = (
        f"SELECT a.row, x.rankers, a.owner, a.place, {sums} FROM attributed a JOIN exposures x ON a.row = x.row"
        " GROUP BY a.row, x.rankers, a.owner, a.place"
    )
    owner = f"coalesce(CAST(nullif(array_position(rankers, owner), 0) - 1 AS INTEGER), {NO_RANKER})"
    unplaced = "CASE WHEN place IS NULL THEN 1 ELSE 0 END"
    number = f"CAST(row_number() OVER (PARTITION BY row ORDER BY {unplaced}, place, owner) AS INTEGER) AS number"
    numbered = f"(SELECT row, place, events, {owner} AS owners, {number}, {', '.join(worths)} FROM ({each}) AS e) AS n"
    owners = "array_agg(owners ORDER BY number) FILTER (WHERE place IS NOT NULL) AS owners"
    lists = ", ".join([owners, *_collected("number", outcomes, worths), *_NUMBERS])
    return engine.keep(f"SELECT row, {lists} FROM {numbered} GROUP BY row", attributed=attributed, exposures=exposures)


def _collected(place: str, outcomes: Sequence[Outcome], worths: Sequence[str]) -> list[str]:
    lists = []
    for outcome, worth, ending in zip(outcomes, worths, suffixes(outcomes), strict=True):
        of = f"FILTER (WHERE place IS NOT NULL AND {worth} IS NOT NULL)"
        order = f" ORDER BY {place}" if place == "number" or outcome.value else ""  # slow, and needed by a second list
        lists.append(f"array_agg({place}{order}) {of} AS clicks{ending}")
        if outcome.value:
            lists.append(f"array_agg({worth} ORDER BY {place}) {of} AS worth{ending}")
    return lists


def _kinds(lists: Any) -> dict[str, str]:
    kinds = {"clicks": "INTEGER", "owners": "INTEGER", "worth": "BIGINT"}
    return {name: kinds[name.split("_")[0]] for name in lists.columns if name.split("_")[0] in kinds}


def _q(name: str) -> str:
    return f'"{name}"'
