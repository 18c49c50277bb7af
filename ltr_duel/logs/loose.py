"""Sentences on events without an impression, and on events whose list does not contain their item."""

from __future__ import annotations

from ltr_duel.logs.attribution import LISTS
from ltr_duel.logs.log import ClickLog


def loose_sentence(log: ClickLog) -> str:
    """Return a sentence on how many events have no impression, and how many of these count; "" if all have one."""
    number = log.loaded.number
    if number is None or not number.loose:
        return ""
    said = f"{number.loose:,} of {number.counted:,} events ({log.outcome.name}) have no impression"
    if log.late.within:
        given = _given(log)
        return f"{said}: {given:,} count for an exposure of their user and item, {number.loose - given:,} do not count"
    said += " and are not counted"
    if number.known and {"shown", "user"} <= set(log.loaded.exposures.columns):
        said += "; --within 7d credits each of them to the last exposure of its user and item"
    return said


def outside(log: ClickLog) -> tuple[int, int, str]:
    """Return the number of events whose list lacks their item, the number of all events, and a sentence (or "").

    The sentence is empty if the first number is 0. In a log without lists, both numbers are 0.
    """
    if log.loaded.events is None or not LISTS & set(log.loaded.exposures.columns):
        return 0, 0, ""
    if "placed" not in log.known:
        log.known["placed"] = log.loaded.placed(), log.engine.value(log.loaded.counting.count())
    placed, total = log.known["placed"]
    lost = total - placed
    said = f"{lost:,} of {total:,} events ({log.outcome.name}) are not on an item of their list, and are not counted"
    return lost, total, said if lost else ""


def uncounted(log: ClickLog) -> str:
    """Return `loose_sentence` if some event without an impression is not counted, else ""."""
    number = log.loaded.number
    lost = number is not None and number.loose - _given(log) > 0
    return loose_sentence(log) if lost else ""


def _given(log: ClickLog) -> int:
    """Return the number of events without an impression that were credited to exposures."""
    if not log.late.within:
        return 0
    if "given" not in log.known:
        log.known["given"] = log.engine.value(log.loaded.counting.event.nunique())
    return int(log.known["given"])
