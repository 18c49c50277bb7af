"""Join shown lists and events: which events count, for which impression, and at which place of its list.

An exposure is one display of a list. An event is a user's action on one item of the list, such as a click. Events may
occur days later, and may be stored in another table. The columns w0, w1, ... contain the credits of an event:

    events --w0, w1, ...--> counted --impression--> joined --> placed: row, place, owner, w0, w1, ...
                               '--user, item, time (within)--'

The SQL is written for DuckDB. Each GROUP BY names its columns, so that the SQL can be translated for other engines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from ltr_duel.core import InputError, errors
from ltr_duel.logs.checks import Check, code_rows, event_checks, message
from ltr_duel.logs.engine import Relation, named
from ltr_duel.logs.table import EVENT, LISTS, NO_RANKER, NO_RANKERS

MICRO: Final = 1_000_000  # integer that represents a value of 1
LARGEST: Final = "100000000000"  # largest value of an event, so that sums fit in 64 bits
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_KIND = re.compile(r"kind = '((?:[^']|'')*)'.*", re.DOTALL)


@dataclass(frozen=True)
class Outcome:
    """A rule that decides which ranker wins an impression (one display of a list).

    The rule credits events to rankers, and the ranker with the highest credit wins.

    Parameters
    ----------
    name : str
        The name of the rule in tables and messages.
    where : str
        An SQL condition that selects the events to credit; by default, all events. The condition may use the columns
        ``kind``, ``item``, ``position``, ``value``, ``dwell``, ``time``, ``user`` and ``owner`` of events.
    value : str
        An SQL expression for the credit that a ranker gets for an event, such as ``"value"``. By default, the credit of
        a ranker is the number of its documents that have an event.
    within : str
        The largest age of a display, such as ``7d``, for events that name no impression. An event is then credited to
        the last display of its item to its user. By default, events that name no impression are ignored.
    window : float, optional
        The number of seconds after a display in which its events are credited, as in live experiments. By default, the
        time is not limited. With a window, events with a value of 0 or less are ignored.

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
        """The duration ``within`` in seconds, or 0 if ``within`` is empty."""
        match = re.fullmatch(r"(\d+\.?\d*)([smhdw])|", self.within)
        if not match:
            raise InputError(f"'{self.within}' is not a duration: write 30m, 12h or 7d")
        return float(match[1]) * _UNITS[match[2]] if self.within else 0.0

    @property
    def kind(self) -> str:
        """The kind of event that ``where`` asks for, or an empty text if ``where`` has another form."""
        match = _KIND.fullmatch(self.where)
        return match[1].replace("''", "'") if match else ""

    @property
    def counts(self) -> str:
        """The SQL condition for the events that are credited."""
        return f"({self.where or '1 = 1'})" + " AND (value IS NULL OR value > 0)" * (self.window is not None)

    def millionths(self) -> str:
        """Return SQL for the credit of an event, in millionths. It is null if the event is not credited."""
        if not self.value:
            return f"CASE WHEN {self.counts} THEN CAST({MICRO} AS BIGINT) END"
        rounded = f"CAST(floor(({self.value}) * 1e6 + 0.5) AS BIGINT)"
        return f"CASE WHEN {self.counts} AND abs({self.value}) <= {LARGEST} THEN {rounded} END"


def outcome_of(outcome: str | Outcome, within: str = "") -> Outcome:
    """Return the rule for a text: ``click`` or another kind of event, ``value``, or ``dwell>=30``."""
    if isinstance(outcome, Outcome):
        return outcome
    if match := re.fullmatch(r"dwell>=(\d+\.?\d*)", outcome.replace(" ", "")):
        return Outcome(outcome, f"kind = 'click' AND dwell >= {float(match[1])}", "", within)
    if not outcome or re.search(r"[<>=]", outcome):
        raise InputError(f"'{outcome}' is not an outcome: give click or another kind of event, value, or dwell>=30")
    if outcome == "value":
        return Outcome(outcome, "value IS NOT NULL", "value", within)
    kind = outcome.replace("'", "''")
    return Outcome(outcome, f"kind = '{kind}'", "", within)


class EventCounts(NamedTuple):
    """Numbers of events: how many the first outcome of a log uses, and how many of them belong to an exposure."""

    counted: int  # events that count by the outcome
    loose: int  # counted events without an impression
    known: int  # counted events without an impression that have a user and an item
    attributed: int  # events that belong to an exposure; an event of two exposures counts twice
    placed: int  # attributed events that are on an item of the list
    given: int  # events without an impression that were credited to an exposure


def completed(engine: Any, events: Relation) -> Relation:
    """Add missing columns to a table of events. Without a column ``kind``, all events are clicks."""
    default = {"kind": "'click'"}
    missing = [
        f"CAST({default.get(name, 'NULL')} AS {kind}) AS {named(name)}"
        for name, kind in EVENT.items()
        if name not in events.columns
    ]
    return engine.view(f"SELECT {', '.join(['*', *missing])} FROM events", events=events)


def attribute(
    engine: Any,
    exposures: Relation,
    events: Relation,
    outcomes: Sequence[Outcome],
    find: Callable[[Any], Any] | None = None,
) -> tuple[Relation, EventCounts]:
    """Join events with the lists on which they happened. Return a table, and counts of events.

    The table has one row for each place of a list that has events. The columns are ``row`` (the id of the exposure),
    ``place``, ``owner``, and one sum for each outcome: w0, w1, ... If events name owners, a column ``strange`` contains
    owners that are not rankers of the exposure.
    """
    by_event = not {"owners", "page"} & set(exposures.columns)  # events name the owners of their items
    if by_event and "rankers" not in exposures.columns:
        raise InputError(NO_RANKERS)
    weights = {f"w{k}": outcome for k, outcome in enumerate(outcomes)}
    added = ", ".join(f"{outcome.millionths()} AS {w}" for w, outcome in weights.items())
    events = engine.view(f"SELECT *, {added} FROM events", events=events)
    counts = _counted(engine, exposures, events, weights, find)
    place, owner = _place(exposures, by_event=by_event, items=counts.pop("items") > 0)
    lists = "".join(f", x.{name}" for name in ("shown", "owners", "rankers") if name in exposures.columns)
    both = f"""SELECT x.row{lists}, e.item, e.position, e.owner AS owner_name, {_timely(weights)}
      FROM events e JOIN exposures x ON e.impression = x.impression"""
    at = f"SELECT *, {place} AS place FROM ({both}) AS b"
    joined = engine.view(f"SELECT *, {owner} AS owner FROM ({at}) AS p", events=events, exposures=exposures)
    relations, sums = {"joined": joined}, ", ".join(weights)
    parts = [f"SELECT row, place, owner, owner_name, {sums} FROM joined"]
    for w, outcome in weights.items():
        if outcome.seconds:
            relations[f"late_{w}"] = _late(engine, exposures, events, outcome, w, owner)
            others = ", ".join(v if v == w else f"CAST(NULL AS BIGINT) AS {v}" for v in weights)
            parts.append(f"SELECT row, place, owner, owner_name, {others} FROM late_{w}")
    each = ", ".join(f"CAST(sum({w}) AS BIGINT) AS {w}" for w in weights)
    # DuckDB cannot move groups with a minimum of texts to disk, so this column is added only if it is needed.
    strange = f"min(CASE WHEN owner = {NO_RANKER} THEN owner_name END) AS strange, " * by_event
    placed = engine.keep(
        f"""SELECT row, place, owner, {strange}{each}, count(w0) AS events FROM ({" UNION ALL ".join(parts)}) AS a
          WHERE coalesce({sums}) IS NOT NULL GROUP BY row, place, owner""",
        **relations,
    )
    numbers = "sum(events) AS attributed, sum(CASE WHEN place IS NOT NULL THEN events ELSE 0 END) AS placed"
    counts |= {"given": 0} | engine.rows(f"SELECT {numbers} FROM placed", placed=placed)[0]
    if "late_w0" in relations:
        counts |= engine.rows("SELECT count(DISTINCT event) AS given FROM late", late=relations["late_w0"])[0]
    return placed, EventCounts(**{name: int(number or 0) for name, number in counts.items()})


def _timely(weights: dict[str, Outcome]) -> str:
    chosen = []
    for w, outcome in weights.items():
        inside = f"coalesce(e.time - x.time BETWEEN 0 AND {outcome.window!r}, TRUE)"
        chosen.append(f"e.{w}" if outcome.window is None else f"CASE WHEN {inside} THEN e.{w} END AS {w}")
    return ", ".join(chosen)


def _counted(
    engine: Any,
    exposures: Relation,
    events: Relation,
    weights: dict[str, Outcome],
    find: Callable[[Any], Any] | None,
) -> dict[str, Any]:
    positions = f"coalesce({', '.join(weights)}) IS NOT NULL AND impression IS NOT NULL"
    positions += " AND item IS NULL" * ("shown" in exposures.columns)
    (first,) = engine.rows("SELECT min(time) AS first FROM x", x=exposures)
    checks = event_checks(events, positions if LISTS & set(exposures.columns) else "1 = 0", first["first"])
    for outcome in weights.values():
        if outcome.value:
            text = f"an event's value ({outcome.name}) must be a number up to 1e11, not {{{outcome.value}}}"
            checks.append(Check("", f"({outcome.where or '1 = 1'}) AND abs({outcome.value}) > {LARGEST}", text))
    loose = "w0 IS NOT NULL AND impression IS NULL"
    sql = f"""SELECT code, count(w0) AS counted, count(item) AS items, count(CASE WHEN {loose} THEN 1 END) AS loose,
      count(CASE WHEN {loose} AND "user" IS NOT NULL AND item IS NOT NULL THEN 1 END) AS known FROM t GROUP BY code"""
    coded = code_rows(engine, events, checks)
    rows = engine.rows(sql, t=coded)
    if wrong := [row["code"] for row in rows if row["code"] >= 0]:
        order = " ORDER BY origin" * ("origin" in events.columns)
        row = engine.query(f"SELECT * FROM t WHERE code = {min(wrong)}{order} LIMIT 1", t=coded)
        at = f"{find(row['origin'][0].as_py())}: " if find and order else ""
        raise InputError(errors.in_one_line(f"{at}{message(row, checks[min(wrong)].message)}"))
    counts = {name: sum(row[name] for row in rows) for name in ("counted", "items", "loose", "known")}
    if not counts["counted"] and (wanted := weights["w0"].kind):
        kinds = engine.query("SELECT kind FROM events GROUP BY kind", events=events)["kind"].drop_null().to_pylist()
        if kinds and wanted not in kinds:
            raise errors.unknown_name("kind of event", wanted, sorted(kinds))
    return counts


def _place(exposures: Relation, *, by_event: bool, items: bool) -> tuple[str, str]:
    lists = [name for name in ("shown", "owners") if name in exposures.columns]
    place = "coalesce(item, CAST(position AS VARCHAR))"
    if lists:
        place = f"CASE WHEN position BETWEEN 1 AND array_length({lists[-1]}) THEN CAST(position AS INTEGER) END"
        if items and "shown" in lists:
            at = "CAST(nullif(array_position(shown, item), 0) AS INTEGER)"
            place = f"CASE WHEN item IS NULL THEN {place} ELSE {at} END"
    if by_event:
        number = f"coalesce(CAST(nullif(array_position(rankers, owner_name), 0) - 1 AS INTEGER), {NO_RANKER})"
        return f"CASE WHEN owner_name IS NOT NULL THEN CAST({place} AS VARCHAR) END", number
    return place, "owners[CAST(place AS INTEGER)]" if "owners" in lists else "CAST(NULL AS INTEGER)"


def _late(engine: Any, exposures: Relation, events: Relation, outcome: Outcome, w: str, owner: str) -> Relation:
    if not {"shown", "user"} <= set(exposures.columns):
        raise InputError("events without an impression require the columns 'user' and 'shown' of exposures")
    lists = [name for name in ("owners", "rankers") if name in exposures.columns]
    items = engine.unnested(exposures, "shown", ("row", "impression", "time", "user", *lists))
    place = "CASE WHEN e.owner IS NOT NULL THEN CAST(x.place AS VARCHAR) END" if "owner_name" in owner else "x.place"
    seconds = outcome.seconds if outcome.window is None else min(outcome.seconds, outcome.window)
    matching = f"""SELECT x.row, {place} AS place, e.owner AS owner_name, e.{w}, e.event,
      {"".join(f"x.{name}, " for name in lists)}
      row_number() OVER (PARTITION BY e.event ORDER BY x.time DESC, x.impression) AS turn
      FROM (SELECT *, row_number() OVER (ORDER BY time, "user", item) AS event FROM events
            WHERE impression IS NULL AND {w} IS NOT NULL) AS e
      JOIN items x ON e."user" = x."user" AND e.item = x.item
      WHERE e.time >= x.time AND e.time <= x.time + {seconds!r}"""
    sql = f"SELECT row, place, {owner} AS owner, owner_name, {w}, event FROM ({matching}) AS m WHERE turn = 1"
    return engine.keep(sql, events=events, items=items)


def clicked_places(engine: Any, placed: Relation, number: int, *, by_event: bool) -> Relation:
    """Return for each exposure the places on its list that have events of an outcome, in the column ``clicks``.

    If events name the owners of items, the items with events are numbered from 1. The column ``clicks`` contains these
    numbers, and a column ``owners`` contains the owners.
    """
    rows, place, owners = f"SELECT *, w{number} AS w FROM placed WHERE place IS NOT NULL", "place", ""
    if by_event:
        turn = "CAST(row_number() OVER (PARTITION BY row ORDER BY place, owner) AS INTEGER) AS number"
        rows, place = f"SELECT *, {turn} FROM ({rows}) AS p", "number ORDER BY number"
        owners = ", array_agg(owner ORDER BY number) AS owners"
    clicks = f"array_agg({place}) FILTER (WHERE w IS NOT NULL) AS clicks"
    return engine.keep(f"SELECT row, {clicks}{owners} FROM ({rows}) AS p GROUP BY row", placed=placed)
