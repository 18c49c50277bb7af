"""Sentences on events without an impression, and on events whose list does not contain their item."""

from __future__ import annotations

from ltr_duel.logs.log import ClickLog
from ltr_duel.logs.table import LISTS


def loose_sentence(log: ClickLog) -> str:
    """Return a sentence on how many events have no impression, and how many of these count; "" if all have one."""
    counts = log.loaded.counts
    if counts is None or not counts.loose:
        return ""
    said = f"{counts.loose:,} of {counts.counted:,} events ({log.outcome.name}) have no impression"
    if log.outcome.within:
        lost = counts.loose - counts.given
        return f"{said}: {counts.given:,} count for an exposure of their user and item, {lost:,} do not count"
    said += " and are not counted"
    if counts.known and {"shown", "user"} <= set(log.loaded.impressions.columns):
        said += "; --within 7d credits each of them to the last exposure of its user and item"
    return said


def outside(log: ClickLog) -> tuple[int, int, str]:
    """Return the number of events whose list lacks their item, the number of all events, and a sentence (or "").

    The sentence is empty if the first number is 0. In a log without lists, both numbers are 0.
    """
    counts = log.loaded.counts
    if counts is None or not LISTS & set(log.loaded.impressions.columns):
        return 0, 0, ""
    lost, total = counts.attributed - counts.placed, counts.attributed
    said = f"{lost:,} of {total:,} events ({log.outcome.name}) are not on an item of their list, and are not counted"
    return lost, total, said if lost else ""


def uncounted(log: ClickLog) -> str:
    """Return `loose_sentence` if some event without an impression is not counted, else ""."""
    counts = log.loaded.counts
    return loose_sentence(log) if counts and counts.loose > counts.given else ""
