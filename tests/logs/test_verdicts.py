"""One decision: table, last line and page agree for any log, checks, guardrails and day."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

from ltr_duel.logs import (
    Evidence,
    Finding,
    Guardrail,
    column_notes,
    compare_log,
    comparison_table,
    decision_of,
    save_comparison,
    stopping_decisions,
)
from tests.logs.test_page import text_of
from tests.logs.test_slices import written
from tests.logs.written import DAY

MARGIN = 0.4
FAILED = [Finding("robots", "sound", 0.0, "none"), Finding("pairs shown", "fails", 0.0, "half of one is lost")]
CHECKS = {"unchecked": None, "sound": FAILED[:1], "failed": FAILED}
GUARDS = {
    "none": [],
    "kept": [Guardrail("buy", "A", "B", 0.1, 0.05, 0.01)],
    "broken": [Guardrail("buy", "A", "B", 0.1, -0.05, 0.01)],
}
CLEAR, EVEN = [1, 1, 1, -1, 0], [1, -1, 0, 1, -1]


def log_of_three(path, days):
    """Write a log in which A is ahead of B and C, and B is even with C."""
    y = np.array([CLEAR * 60, CLEAR * 60, EVEN * 60]).T.ravel()
    rankers = [["A", "B"], ["A", "C"], ["B", "C"]] * 300
    return written(path, y, np.arange(900), np.linspace(0, days * DAY, 900), rankers=rankers)


LOGS = {  # outcomes of A, users, days
    "decided": (CLEAR * 60, 300, 14),
    "returning": (CLEAR * 60, 60, 14),
    "undecided": (EVEN * 4, 20, 14),
    "tied": (EVEN * 300, 1500, 14),
    "few users": (CLEAR * 8, 4, 3),
    "within a week": (CLEAR * 60, 300, 17),
    "tied within a week": (EVEN * 300, 1500, 17),
}


@pytest.fixture(scope="module")
def comparisons(tmp_path_factory):
    """Return comparisons that are computed once."""
    folder, found = tmp_path_factory.mktemp("verdicts"), {}
    for name, (y, users, days) in LOGS.items():
        n = len(y)
        log = written(folder / "log.jsonl", np.array(y), np.arange(n) % users, np.linspace(0, days * DAY, n))
        found[name] = compare_log(log)
    for name, days in (("three", 14), ("three within a week", 17)):
        found[name] = compare_log(log_of_three(folder / "log.jsonl", days))
    return found


def evidence_of(found, *, stop, any_time=False, checks="sound", guards="none"):
    decisions = stopping_decisions(found, margin=MARGIN) if stop else None
    return Evidence(found, 0.95, decisions, MARGIN, any_time, CHECKS[checks], GUARDS[guards])


def agrees(table, last):
    """Return whether the verdicts of all pairs agree with the last line of the output."""
    verdicts = dict(zip(table["pair"], table["verdict"], strict=True))
    winners = {name for name in "ABC" if any(name in pair for pair in verdicts)}
    winners = {a for a in winners if all(v == f"{a} wins" for pair, v in verdicts.items() if a in pair.split(" > "))}
    if last.startswith("no decision: "):
        return set(verdicts.values()) == {"no decision"}
    if last.startswith("wait "):
        return any(v.startswith("wait: ") for v in verdicts.values()) and not any(
            "wins" in v for v in verdicts.values()
        )
    if "wins" in last.partition(".")[0]:
        return winners == {"A"} and last.startswith(("stop: A wins", "At this look A wins"))
    if last.startswith("no difference"):
        return set(verdicts.values()) == {"no difference"}
    return last.startswith(("go on: ", "At this look no ranker is shown to win")) and not winners


@pytest.mark.parametrize(("checks", "guards"), [*itertools.product(CHECKS, GUARDS)])
@pytest.mark.parametrize(("stop", "any_time"), [(False, False), (True, False), (True, True)])
def test_the_table_and_the_last_line_are_one_verdict(comparisons, stop, any_time, checks, guards):
    seen = set()
    for name, found in comparisons.items():
        evidence = evidence_of(found, stop=stop, any_time=any_time, checks=checks, guards=guards)
        last = decision_of(evidence).lines[-1]
        assert agrees(comparison_table(evidence), last), (name, last)
        seen.add(last.split()[0])
    assert len(seen) >= (1 if checks == "failed" or not stop else 2)  # the logs are not all alike


@pytest.mark.parametrize(
    ("name", "settings", "verdicts", "last"),
    [
        ("decided", {"stop": True}, ["A wins"], "stop: A wins. "),
        ("decided", {"stop": False}, ["A wins"], "At this look A wins "),
        ("decided", {"stop": True, "checks": "failed"}, ["no decision"], "no decision: 1 check "),
        (
            "decided",
            {"stop": True, "guards": "broken"},
            ["no decision"],
            "no decision: A is ahead, but the log does not show ",
        ),
        ("undecided", {"stop": True}, ["open"], "go on: "),
        ("undecided", {"stop": True, "checks": "failed"}, ["no decision"], "no decision: 1 check "),
        ("tied", {"stop": True}, ["no difference"], "no difference: "),
        ("few users", {"stop": True}, ["open"], "go on: "),
        ("within a week", {"stop": True}, ["wait: A ahead"], "wait 4 days until the week is complete"),
        ("within a week", {"stop": True, "any_time": True}, ["A wins"], "stop: A wins. "),
        ("tied within a week", {"stop": True}, ["wait: no difference"], "wait 4 days until the week is complete"),
        ("three", {"stop": True}, ["A wins", "A wins", "no difference"], "stop: A wins against each of the 2 others"),
        ("three", {"stop": True, "guards": "broken"}, ["no decision"] * 3, "no decision: A is ahead"),
        (
            "three within a week",
            {"stop": True},
            ["wait: A ahead", "wait: A ahead", "wait: no difference"],
            "wait 4 days ",
        ),
    ],
)
def test_each_state_of_a_log_has_its_verdict_in_the_table_and_in_the_last_line(
    comparisons, name, settings, verdicts, last
):
    decision = decision_of(evidence_of(comparisons[name], **settings))
    assert decision.pairs == verdicts and decision.lines[-1].startswith(last)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("decided", {"stop": False}),
        ("within a week", {"stop": True}),
        ("three", {"stop": True, "checks": "failed"}),
        ("returning", {"stop": True, "guards": "broken"}),
    ],
)
def test_the_page_has_the_verdicts_of_the_table_and_the_last_line(comparisons, tmp_path, name, settings):
    evidence = evidence_of(comparisons[name], **settings)
    save_comparison(evidence, tmp_path / "page.html")
    text, decision = text_of(tmp_path / "page.html"), decision_of(evidence)
    headline = decision.lines[-1].partition(". ")[0]
    assert headline[0].upper() + headline[1:] in text
    for pair, verdict in zip(comparison_table(evidence)["pair"], comparison_table(evidence)["verdict"], strict=True):
        assert f"{pair} {verdict} " in text
    assert all(note in text for note in column_notes(evidence))


def test_a_pair_whose_guardrail_is_broken_is_not_decided_though_there_is_no_winner(comparisons):
    """The pairs with C count as open, so A does not win against both."""
    found = comparisons["three"]
    decisions = [
        one._replace(verdict="go on", winner="", more=100.0, more_to_win=100.0) if "C" in one[:2] else one
        for one in stopping_decisions(found)
    ]
    evidence = Evidence(found, 0.95, decisions, guards=GUARDS["broken"])
    decision = decision_of(evidence)
    assert decision.winner == "" and decision.lines[-1].startswith("go on: ")
    assert decision.pairs[0] == "no decision" and all(one.startswith("open") for one in decision.pairs[1:])


def test_a_verdict_is_what_the_interval_beside_it_says(comparisons):
    """A ranker wins exactly if 0 is outside the interval, with two or three rankers, at all confidences."""
    seen = set()
    for found in comparisons.values():
        for confidence in (0.5, 0.95, 1 - 1e-6):
            decisions = stopping_decisions(found, confidence)
            pairs = decision_of(Evidence(found, confidence, decisions, any_time=True)).pairs
            for one, verdict in zip(decisions, pairs, strict=True):
                assert (one.low > 0 or one.high < 0) == verdict.endswith("wins"), (one, verdict)
                seen.add(verdict)
    assert {"open", "A wins"} <= seen


def test_which_intervals_share_an_error_is_said_where_there_are_several_pairs(comparisons):
    assert column_notes(evidence_of(comparisons["decided"], stop=False)) == []
    (alone,) = column_notes(evidence_of(comparisons["three"], stop=False))
    assert alone.startswith("interval: each interval holds for its pair alone")
    shared, *_ = column_notes(evidence_of(comparisons["three"], stop=True))
    assert shared.startswith("always within: all 3 pairs share the error, so with probability 0.95 no interval, ")


def test_the_means_per_impression_and_per_user_are_explained_where_both_are_columns(comparisons):
    _, note = column_notes(evidence_of(comparisons["returning"], stop=True))
    assert "each impression so far counts once" in note and "each user counts once, by the first impression" in note
    table = comparison_table(evidence_of(comparisons["returning"], stop=True))
    assert {"mean per impression", "mean per user"} <= set(table)
    for name in ("decided", "returning"):
        assert column_notes(evidence_of(comparisons[name], stop=False)) == []


@pytest.mark.parametrize(("name", "says"), [
    ("decided", "Once the first user returns, a different test is used. If you look"),
    ("returning", "Before the first user returned, a different test was used. If you looked"),
])  # fmt: skip
def test_the_error_of_looks_by_two_tests_is_stated_on_terminal_and_page(comparisons, tmp_path, name, says):
    both = " both before and after this change of test, the error is 0.1, not 0.05."
    assert column_notes(evidence_of(comparisons[name], stop=True))[0] == says + both
    save_comparison(evidence_of(comparisons[name], stop=True), tmp_path / "page.html")
    page = text_of(tmp_path / "page.html")
    assert both in page and "is at most 0.05 (0.1 with looks by both tests, see below the table)" in page
    alone = dataclasses.replace(comparisons[name], cluster="impression")
    assert not any("another test" in one for one in column_notes(evidence_of(alone, stop=True)))


def test_impressions_to_go_are_those_of_the_last_lines_also_where_a_check_fails(comparisons):
    evidence = evidence_of(comparisons["undecided"], stop=True, checks="failed")
    (further,) = comparison_table(evidence)["impressions to go"]
    assert f"By the primary outcome alone, the result would be: go on: about {further} further" in " ".join(
        decision_of(evidence).lines
    )
