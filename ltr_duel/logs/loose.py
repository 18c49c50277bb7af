"""Events that are not counted: without an impression, or on items that their list does not contain."""

from __future__ import annotations

from ltr_duel.logs.attribution import LISTS
from ltr_duel.logs.log import ClickLog


def loose_sentence(log: ClickLog) -> str:
    """Return a sentence on the events without an impression and on how many of them count; "" without such events."""
    number = log.loaded.number
    if number is None or not number.loose:
        return ""
    said = f"{number.loose:,} of {number.counted:,} events ({log.outcome.name}) have no impression"
    if log.late.within:
        given = _given(log)
        return f"{said}: {given:,} count for an exposure of their user and item, {number.loose - given:,} do not count"
    said += " and are not counted"
    if number.known and {"shown", "user"} <= set(log.loaded.exposures.columns):
        said += "; --within 7d credits them to the last exposure of their user and item"
    return said


def outside(log: ClickLog) -> tuple[int, int, str]:
    """Return how many events their list does not contain, of how many events, and a sentence; "" without such events.

    Events that name the owner of an item, in a log without lists, are not counted here.
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
