"""Sentences on events that do not count: those without an impression or outside its list."""

from __future__ import annotations

from ltr_duel.logs.engine import Relation
from ltr_duel.logs.log import ClickLog
from ltr_duel.logs.table import LISTS

_MANY = 100  # number of impressions of which some are usually without events


def events_without_impression(log: ClickLog) -> str:
    """Return a sentence on events without an impression; "" if there are none."""
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
    """Return a sentence on events whose list lacks their item; "" if there are none, or if the log has no lists."""
    counts = log.loaded.counts
    if counts is None or counts.placed == counts.attributed or not LISTS & set(log.table.columns):
        return ""
    lost = f"{counts.attributed - counts.placed:,} of {counts.attributed:,} events ({log.outcome.name})"
    return f"{lost} are not on an item of their list, and are not counted"


def event_notes(log: ClickLog, rows: Relation, impressions: int) -> list[str]:
    """Return notes on events that do not count, and on a log whose impressions all have events."""
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
