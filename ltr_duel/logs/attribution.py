"""Join exposures and events into the table of a log; its clicks are the list positions with the chosen outcome.

An exposure is one display of a list. An event is a user's action on one item of the list; it may occur days later and
be stored in another table.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ltr_duel.core import InputError, errors
from ltr_duel.logs.engine import NO_RANKER
from ltr_duel.logs.table import NO_RANKERS

EXPOSURE = (
    "impression", "time", "user", "query", "shown", "page", "rankers", "owners", "rankings", "method", "outcome",
    "policy", "propensity",
)  # fmt: skip
EVENT = {
    **dict.fromkeys(("impression", "user", "item"), "string"), "position": "int64", "owner": "string", "kind": "string",
    **dict.fromkeys(("value", "dwell", "time"), "float64"),
}  # fmt: skip
LISTS = {"shown", "owners"}  # exposures have lists if they have at least one of these columns
WHICH = ("last", "first", "all")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


class Outcome(NamedTuple):
    """The condition under which an event counts as a click."""

    name: str
    kind: str  # "" for all events with a value
    dwell: float = 0.0  # minimum dwell time in seconds


class Late(NamedTuple):
    """Rule that credits events without an impression to exposures of the same user and item."""

    within: float = 0.0  # maximum seconds from exposure to event; 0: no event without an impression is credited
    which: str = "last"  # choice among several exposures: last, first or all


def outcome_of(text: str) -> Outcome:
    """Parse an outcome: ``click`` or another kind of event, ``value``, or ``dwell>=30``."""
    if match := re.fullmatch(r"dwell>=(\d+\.?\d*)", text.replace(" ", "")):
        return Outcome(text, "click", float(match[1]))
    if not text or re.search(r"[<>=]", text):
        raise InputError(f"'{text}' is not an outcome: give click or another kind of event, value, or dwell>=30")
    return Outcome(text, "" if text == "value" else text)


def seconds_of(text: str) -> float:
    """Return the seconds of a duration such as 30m, 12h or 7d."""
    match = re.fullmatch(r"(\d+\.?\d*)([smhdw])", text)
    if not match:
        raise InputError(f"'{text}' is not a duration: write 30m, 12h or 7d")
    return float(match[1]) * _UNITS[match[2]]


def completed(events: Any) -> Any:
    """Return events with all columns of `EVENT`; if there is no column ``kind``, all events are clicks."""
    import ibis

    missing = {name: ibis.null(kind) for name, kind in EVENT.items() if name not in events.columns}
    if "kind" in missing:
        missing["kind"] = ibis.literal("click")
    return events.mutate(**missing)


def counts(events: Any, outcome: Outcome) -> Any:
    """Return the condition that an event has the outcome."""
    right = events.kind == outcome.kind if outcome.kind else events.value.notnull()
    return right & (events.dwell >= outcome.dwell) if outcome.dwell else right


def counted(events: Any, outcome: Outcome) -> Any:
    """Return the events with the outcome; ``worth`` (in millionths) is the value, or 1 if the outcome is a kind."""
    events = events.filter(counts(events, outcome))
    worth = (events.value * 1e6).round().cast("int64") if not outcome.kind else 1_000_000
    return events.mutate(worth=worth)


def met(exposures: Any, events: Any) -> Any:
    """Return the events that name an impression, with time and ``row`` of its exposure (null if it has none)."""
    named = events.filter(events.impression.notnull())
    shown = exposures.select("impression", "row", shown_at=exposures.time)
    return named.left_join(shown, "impression").drop("impression", "impression_right")


def attributed(exposures: Any, found: Any, events: Any, outcome: Outcome, late: Late) -> Any:
    """Return the events that have the outcome and belong to an exposure; ``found`` is the result of `met`."""
    import ibis

    errors.require_one_of("exposure", late.which, WHICH)
    columns = ("row", "item", "position", "owner", "worth")
    exact = counted(found.filter(found.row.notnull()), outcome).select(*columns)
    if not late.within:
        return exact
    if not {"shown", "user"} <= set(exposures.columns):
        raise InputError("events without an impression require the columns 'user' and 'shown' of exposures")
    listed = exposures.select("impression", "row", "time", "user", item=exposures.shown.unnest())
    loose = counted(events.filter(events.impression.isnull()).drop("impression"), outcome)
    loose = loose.mutate(event=ibis.row_number().over(order_by=[loose.time, loose.user, loose.item]))
    loose = loose.join(listed, ["user", "item"], rname="{name}_shown")
    loose = loose.filter((loose.time >= loose.time_shown) & (loose.time <= loose.time_shown + late.within))
    if late.which != "all":
        order = [loose.time_shown.desc() if late.which == "last" else loose.time_shown, loose.impression]
        loose = loose.mutate(turn=ibis.row_number().over(group_by="event", order_by=order))
        loose = loose.filter(loose.turn == 0)
    return exact.mutate(event=ibis.null("int64")).union(loose.select(*columns, event=loose.event.cast("int64")))


def numbered(table: Any, *then: str) -> Any:
    """Return the table of a log with line numbers, sorted by time, then by the columns ``then``."""
    import ibis

    order = [table[name] for name in ("time", *then) if name in table.columns]
    return table.mutate(line=ibis.row_number().over(order_by=order) + 1)


def placed(found: Any, exposures: Any, outcome: Outcome, *, items: bool = True) -> Any:
    """Return for each event the ``row`` of its exposure and, as ``clicks``, its list position; positions may repeat."""
    import ibis

    worth = [] if outcome.kind else ["worth"]
    if LISTS & set(exposures.columns):
        at, place = found, found.position
        if items and "shown" in exposures.columns:
            at = found.join(exposures.select("row", "shown"), "row")
            place = at.item.isnull().ifelse(at.position, (at.shown.index(at.item) + 1).nullif(0))
        at = at.mutate(clicks=place.cast("int32"))
        return at.filter(at.clicks.notnull()).select("row", "clicks", *worth)
    if "rankers" not in exposures.columns:
        raise InputError(NO_RANKERS)
    at = found.join(exposures.select("row", "rankers"), "row")
    at = at.mutate(place=at.item.coalesce(at.position.cast("string")))
    at = at.filter(at.owner.notnull() & at.place.notnull())
    each = at.group_by("row", "rankers", "owner", "place").agg(worth=at.worth.sum())
    each = each.mutate(who=each.rankers.index(each.owner).cast("int32"))
    each = each.mutate(owners=ibis.ifelse(each.who < 0, NO_RANKER, each.who).cast("int32"))
    order = [each.place, each.owner]
    each = each.mutate(clicks=(ibis.row_number().over(group_by="row", order_by=order) + 1).cast("int32"))
    return each.select("row", "clicks", "owners", *worth)


def listed(at: Any) -> Any:
    """Collect the result of `placed` into one row of lists per exposure."""
    names = [name for name in at.columns if name not in ("row", "worth")]
    worth = {"worth": at.worth.sum()} if "worth" in at.columns else {}
    each = at.group_by("row", *names).agg(**worth)
    if names == ["clicks"] and not worth:  # sorted, because Spark collects in arbitrary order
        return each.group_by("row").agg(clicks=each.clicks.collect().sort())
    order = each.clicks if worth else None  # without worth, the order does not matter
    return each.group_by("row").agg(**{name: each[name].collect(order_by=order) for name in (*names, *worth)})


def one_table(exposures: Any, clicks: Any) -> Any:
    """Return the table of a log without ``line``: exposures joined to the result of `listed`."""
    import ibis

    table = exposures.left_join(clicks, "row").drop("row_right")
    none = ibis.literal([], type="array<int64>").cast("array<int32>")  # Postgres needs a type
    return table.mutate(**{name: table[name].coalesce(none) for name in ("clicks", "owners") if name in clicks.columns})
