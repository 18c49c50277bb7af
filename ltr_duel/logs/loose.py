"""Sentences on events without an impression, and on events whose list does not contain their item."""

from __future__ import annotations

from ltr_duel.logs.engine import Relation
from ltr_duel.logs.findings import Finding, seldom
from ltr_duel.logs.log import ClickLog
from ltr_duel.logs.table import LISTS

_OUTSIDE = 0.2  # usual maximum share of events on items outside the list, such as advertisements
_UNMATCHED = 0.5  # usual maximum share of events without an impression that match no exposure
_MANY = 100  # number of impressions of which some are usually without events


def _loose_sentence(log: ClickLog) -> str:
    """Return a sentence on how many events have no impression, and how many of these count; "" if all have one."""
    counts = log.loaded.counts
    if counts is None or not counts.loose:
        return ""
    said = f"{counts.loose:,} of {counts.counted:,} events ({log.outcome.name}) have no impression"
    if log.outcome.within:
        lost = counts.loose - counts.given
        return f"{said}: {counts.given:,} count for an exposure of their user and item, {lost:,} do not count"
    hint = "; --within 7d credits each of them to the last exposure of its user and item"
    return f"{said} and are not counted{hint * (counts.known > 0 and {'shown', 'user'} <= set(log.table.columns))}"


def uncounted(log: ClickLog) -> str:
    """Return a sentence on events without an impression that are not counted; "" if there are none."""
    counts = log.loaded.counts
    return _loose_sentence(log) if counts and counts.loose > counts.given else ""


def outside(log: ClickLog) -> tuple[int, int, str]:
    """Return the number of events whose list lacks their item, the number of all events, and a sentence (or "").

    The sentence is empty if the first number is 0. In a log without lists, both numbers are 0.
    """
    counts = log.loaded.counts
    if counts is None or not LISTS & set(log.table.columns):
        return 0, 0, ""
    lost, total = counts.attributed - counts.placed, counts.attributed
    said = f"{lost:,} of {total:,} events ({log.outcome.name}) are not on an item of their list, and are not counted"
    return lost, total, said if lost else ""


def lost_events(log: ClickLog) -> list[Finding]:
    """Return the checks for events outside the list of their exposure, and for late events that match no exposure."""
    findings, counts, (lost, total, sentence) = list[Finding](), log.loaded.counts, outside(log)
    if total:
        sentence = sentence or f"all {total:,} events ({log.outcome.name}) are on an item of their list"
        findings.append(seldom("events outside lists", lost, total, _OUTSIDE, sentence))
    if counts and counts.loose and log.outcome.within:
        lost, sentence = counts.loose - counts.given, _loose_sentence(log)
        finding = seldom("events without impression", lost, counts.loose, _UNMATCHED, sentence)
        reason = "; do clocks differ, or users or items have another form?" * (finding.verdict == "fails")
        findings.append(finding._replace(sentence=sentence + reason))
    return findings


def all_have_events(log: ClickLog, rows: Relation, impressions: int) -> str:
    """Return a note if each of many impressions has an event, as if the others had not been logged; else ""."""
    sql, placed = "SELECT count(*) AS n FROM t WHERE array_length(clicks) > 0", log.loaded.placed
    if placed is not None:
        rows, sql = placed, "SELECT count(DISTINCT row) AS n FROM t WHERE place IS NOT NULL AND w0 IS NOT NULL"
    if impressions < _MANY or log.engine.rows(sql, t=rows)[0]["n"] < impressions:
        return ""
    return (
        f"each of the {impressions:,} impressions has an event ({log.outcome.name}): a log must also contain"
        " impressions without events; without them, means are too far from 0"
    )
