"""The page of a comparison: decision, checks, outcomes, days and method, in the words of the terminal."""

from __future__ import annotations

import html
import re
from types import SimpleNamespace

import numpy as np
import pytest

from ltr_duel.logs import (
    Evidence,
    Finding,
    Guardrail,
    check_log,
    column_notes,
    compare_log,
    comparison_table,
    decision_of,
    guardrail_lines,
    guardrails,
    method_lines,
    save_comparison,
    sliced,
    stopping_decisions,
)
from ltr_duel.logs.limits import Limits
from ltr_duel.logs.picture import plot_comparison
from ltr_duel.logs.report import picture_caption
from tests.logs.test_slices import drawn, written
from tests.papers.browser import look_at

CLEAR = np.tile([1, 1, 1, -1, 0], 120)


def clear(path, y=CLEAR, **more):
    """Return a log whose users come once; the outcomes determine how often A wins."""
    return written(path, y, np.arange(len(y)), 60.0 * np.arange(len(y)), **more)


def evidence_of(log, *, stop=True, **more):
    found = compare_log(log)
    return Evidence(found, 0.95, stopping_decisions(found) if stop else None, **more)


def text_of(path):
    """Return the words of a page, without marks and pictures."""
    page = re.sub(r"<style>.*?</style>", "", path.read_text(), flags=re.S)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())


def test_the_page_begins_with_the_decision_and_names_failed_checks_first(tmp_path):
    log = clear(tmp_path / "log.jsonl")
    findings = [Finding("robots", "sound", 0.0, "none"), Finding("pairs shown", "fails", 0.0, "half of one is lost")]
    save_comparison(evidence_of(log, findings=findings), tmp_path / "page.html")
    text = text_of(tmp_path / "page.html")
    order = ["errors clustered by user: the answer is for users who ask this query "]
    order += ["No decision: 1 check of the experiment fails (pairs shown).", "stop: A wins."]
    order += ["Is the experiment sound?", "fails: pairs shown: half of one is lost", "sound: robots: none"]
    order += ["Primary outcome: click", "Method and assumptions", "Provenance"]
    places = [text.index(one) for one in order]
    assert places == sorted(places)


def test_a_page_has_one_family_of_intervals(tmp_path):
    """The intervals and tests hold at all looks or at one look; the page shows only one kind."""
    log = clear(tmp_path / "log.jsonl")
    for stop, said, other in (
        (True, "the probability that any decision is ever wrong, at any number of looks, is at most", "p, corrected"),
        (False, "at one planned look, a pair is decided wrongly with probability at most 0.05", "always within"),
    ):
        save_comparison(evidence_of(log, stop=stop), tmp_path / "page.html")
        text = text_of(tmp_path / "page.html")
        assert said in text and other not in text and text.count("Error:") == 1


def test_one_look_decides_by_the_corrected_test_and_says_that_it_is_one(tmp_path):
    evidence = evidence_of(clear(tmp_path / "log.jsonl", CLEAR[:75]), stop=False)
    (line,) = decision_of(evidence).lines
    assert line.startswith("At this look A wins (p ") and "use --stop-at" in line
    (p,) = comparison_table(evidence)["p, corrected"]
    assert f"(p = {p})" in line, "one number has one rounding"
    (line,) = decision_of(evidence_of(clear(tmp_path / "tie.jsonl", np.tile([1, -1], 50)), stop=False)).lines
    assert line.startswith("At this look no ranker is shown to win (p = 1)")


def test_the_page_of_a_log_that_a_bandit_collected_names_what_is_estimated(tmp_path):
    log = written(tmp_path / "log.jsonl", *drawn(), policy=["rucb"] * 600)
    evidence = evidence_of(log, findings=check_log(log))
    save_comparison(evidence, tmp_path / "page.html")
    text = text_of(tmp_path / "page.html")
    assert "The estimand is the mean outcome over users' first impressions of a pair" in text
    assert "rucb chose the rankers by earlier outcomes, so plain means are biased" in text
    assert "mean, first impressions" in text and "over the impressions so far" not in text
    assert "not checked: pairs over time: rucb chose the rankers" in text  # a bandit shifts its traffic by design
    plain = method_lines(evidence_of(written(tmp_path / "plain.jsonl", *drawn())))
    assert "the mean outcome over the impressions so far" in " ".join(plain)


def test_the_caption_of_the_picture_says_of_what_the_curve_is(tmp_path):
    plain = evidence_of(clear(tmp_path / "plain.jsonl"))
    policy = evidence_of(written(tmp_path / "log.jsonl", *drawn(), policy=["rucb"] * 600))
    ways = (plain, "all impressions of a pair up to each time"), (policy, "users' first impressions of a pair")
    for evidence, said in ways:
        save_comparison(evidence, tmp_path / "page.html")
        assert f"The mean outcome of {said}" in text_of(tmp_path / "page.html")
    assert "grey" not in picture_caption(plain)
    assert "The grey band is the margin, 0.02 on either side of 0." in picture_caption(plain._replace(margin=0.02))


def test_a_picture_has_no_band_where_nothing_is_known_and_names_the_margin(tmp_path):
    """Regression: bands from -1 to 1 of several pairs covered each other."""
    found = evidence_of(clear(tmp_path / "log.jsonl")).found
    seen = plot_comparison(found, margin=0.02)
    assert "margin" in seen.get_legend_handles_labels()[1]
    (band, *_) = seen.collections
    assert np.abs(np.concatenate([path.vertices[:, 1] for path in band.get_paths()])).max() < 1 + 1e-9
    few = evidence_of(clear(tmp_path / "few.jsonl", CLEAR[:3])).found
    assert not plot_comparison(few).collections[0].get_paths()


def test_with_several_pairs_the_e_value_that_decides_is_named(tmp_path):
    rankers = [["A", "B"], ["A", "C"], ["B", "C"]] * 200
    found = compare_log(written(tmp_path / "log.jsonl", CLEAR, np.arange(600), np.arange(600), rankers=rankers))
    evidence = Evidence(found, 0.95, stopping_decisions(found))
    said = "e-value: a pair is decided once its e-value reaches 60; 20 would be enough for a single pair"
    assert said in " ".join(column_notes(evidence))
    for one in evidence.decisions:
        assert (one.e_value >= 60) == (one.verdict == "stop")


def test_numbers_are_written_as_people_write_them():
    assert guardrail_lines([Guardrail("buy", "A", "B", -1e-9, -1e-9, 0.01)]) == [
        "guardrail buy holds: the mean of A against B is +0.0000, and at least +0.0000 with confidence (margin 0.01)"
    ]


STOP = "stop: A wins. So far"
ALONE = "By the primary outcome alone, the result would be: "
KEPT = "the guardrail holds for ranker 'A'."
BROKEN = "no decision: A is ahead, but the log does not show that 1 guardrail holds (buy against B)."


@pytest.mark.parametrize(("other", "first", "last"), [(CLEAR, KEPT, STOP), (-CLEAR, ALONE + STOP, BROKEN)])
def test_a_winner_that_breaks_a_guardrail_is_not_decided(tmp_path, other, first, last):
    log = clear(tmp_path / "log.jsonl")
    found, against = compare_log(log), compare_log(clear(tmp_path / "other.jsonl", other))
    guards = guardrails(found, against, "buy", margin=0.01, any_time=True)
    above, decision = decision_of(evidence_of(log, guards=guards)).lines
    assert above.startswith(first) and decision.startswith(last)


def test_a_failed_check_and_a_broken_guardrail_are_one_decision_the_last_line(tmp_path):
    log = clear(tmp_path / "log.jsonl")
    against = compare_log(clear(tmp_path / "other.jsonl", -CLEAR))
    guards = guardrails(compare_log(log), against, "buy", margin=0.01, any_time=True)
    findings = [Finding("robots", "fails", 0.0, "many"), Finding("pairs shown", "fails", 0.0, "half of one is lost")]
    *_, decision = decision_of(evidence_of(log, guards=guards, findings=findings)).lines
    failed = "no decision: 2 checks of the experiment fail (robots, pairs shown); A is ahead, but"
    assert decision == f"{failed} the log does not show that 1 guardrail holds (buy against B)."


def test_the_limit_of_a_guardrail_at_all_looks_is_below_that_of_one(tmp_path):
    found = compare_log(clear(tmp_path / "log.jsonl"))
    once, always = (guardrails(found, found, "click", margin=0.01, any_time=given)[0] for given in (False, True))
    assert always.mean == once.mean and always.low < once.low


def test_the_guardrails_of_many_pairs_are_computed_together(monkeypatch):
    pairs = [(f"a{n}", f"b{n}") for n in range(1000)]
    primary, other = (
        SimpleNamespace(named_pairs=pairs),
        SimpleNamespace(named_pairs=[("b1", "a1"), ("x", "y"), *pairs[2:]]),
    )
    means, calls = np.where(np.arange(1000) % 2, -0.5, 0.5), []
    found = Limits(means, means - 0.2, means + 0.1, np.ones(1000))
    turned = Limits.turned
    monkeypatch.setattr("ltr_duel.logs.limits.limits", lambda *_, **__: found)
    monkeypatch.setattr(Limits, "turned", lambda self, signs: calls.append(1) or turned(self, signs))
    guards = guardrails(primary, other, "buy", margin=0.01)
    assert len(calls) == 1 and len(guards) == 999
    # a1 is behind b1, and the other comparison has b1 as the first ranker; a0 and b0 are not in the other comparison
    assert guards[0] == ("buy", "b1", "a1", 0.5, pytest.approx(0.3), 0.01)
    assert guards[2] == ("buy", "b3", "a3", 0.5, pytest.approx(0.4), 0.01)


def test_days_and_users_are_on_the_page_with_whether_they_differ(tmp_path):
    log = written(tmp_path / "log.jsonl", *drawn())
    found = compare_log(log)
    beside = [sliced(log, found, by, any_time=True) for by in ("day", "new", "heavy")]
    save_comparison(Evidence(found, 0.95, stopping_decisions(found), beside=beside), tmp_path / "page.html")
    text = text_of(tmp_path / "page.html")
    for said in (
        "Day by day",
        "New users: their first 24 hours, and later",
        "Users who come often",
        "first seen",
        "(one look, p = ",
    ):
        assert said in text
    assert (tmp_path / "page.html").read_text().count("<img") == 2


def test_a_page_without_checks_says_so(tmp_path):
    save_comparison(evidence_of(clear(tmp_path / "log.jsonl")), tmp_path / "page.html")
    assert "Is the experiment sound? Not checked." in text_of(tmp_path / "page.html")


@pytest.mark.parametrize(("width", "stop"), [(390, False), (390, True), (1200, True)])
def test_a_browser_shows_every_cell_of_the_page(tmp_path, width, stop):
    """With returning users the table has two means, and was wider than the page before."""
    names = ("LM Jelinek-Mercer title+abstract", "covered_term_ratio document")
    users, times = np.arange(len(CLEAR)) % 250, 60.0 * np.arange(len(CLEAR))
    log = written(tmp_path / "log.jsonl", CLEAR, users, times, rankers=[names] * len(CLEAR))
    evidence = evidence_of(log, stop=stop, findings=check_log(log))
    assert not stop or "per user within" in comparison_table(evidence)
    save_comparison(evidence, tmp_path / "decision.html")
    seen = look_at((tmp_path / "decision.html").read_text(encoding="utf-8"), tmp_path, width)
    assert seen["cut"] == seen["outside"] == seen["loaded"] == [] and seen["page"] <= seen["width"] == width
