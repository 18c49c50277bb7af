"""Sentences below and beside tables are true: guardrails, plans, matrices of logs, values near a limit."""

from __future__ import annotations

import re

import numpy as np
import pytest

from ltr_duel.analysis import property_lines, winner_sentence
from ltr_duel.logs import (
    Evidence,
    Guardrail,
    compare_log,
    decision_of,
    findings,
    save_comparison,
    stopping_decisions,
    stopping_sentence,
)
from ltr_duel.preferences import load_preferences, save_preferences
from tests.logs.test_adaptive import log_of
from tests.logs.test_page import text_of


def outcomes(won, lost, ties):
    return np.random.default_rng(0).permutation(np.repeat([1, -1, 0], [won, lost, ties]))


@pytest.mark.parametrize(("number", "says"), [
    (1, "the guardrail holds"), (2, "both guardrails hold"), (3, "all 3 guardrails hold"),
])  # fmt: skip
def test_a_ranker_that_is_named_by_a_number_is_not_taken_for_one(tmp_path, number, says):
    """Regression: "2 guardrails of 1 hold." """
    found = compare_log(log_of(tmp_path / "log.jsonl", outcomes(90, 10, 20)))
    guards = [Guardrail(f"g{k}", "old", "new", 0.1, 0.05, 0.01) for k in range(number)]
    assert f"{says} for ranker 'old'." in decision_of(Evidence(found, 0.95, guards=guards)).lines


def test_a_matrix_of_a_log_is_undecided_where_the_log_is(tmp_path):
    """Regression: the matrix named a winner with P = 0.957 although p = 0.0853: a one-sided and a two-sided test."""
    found = compare_log(log_of(tmp_path / "log.jsonl", outcomes(42, 26, 60)))
    (p,) = found.p_corrected
    assert 0.06 < p < 0.1
    save_preferences(found.preferences, tmp_path / "m.parquet")
    matrix = load_preferences(tmp_path / "m.parquet")
    sentence = winner_sentence(matrix)
    assert sentence.startswith(f"Not decided by the log: p = {p:.3g}. In this estimate old beats all others; ")
    assert " for users who ask these 128 queries." in sentence
    assert not any("triple" in line or "Random subsets" in line for line in property_lines(matrix))
    clear = compare_log(log_of(tmp_path / "clear.jsonl", outcomes(90, 10, 20))).preferences
    assert winner_sentence(clear).startswith("Condorcet winner: old. It beats ") and "undecided" not in clear.provenance


def test_of_some_rankers_of_a_log_the_matrix_does_not_say_what_the_log_decided(tmp_path):
    y = outcomes(42, 26, 60)
    three = [["old", "new", "other"][k % 3 :: 1][:2] if k % 3 < 2 else ["old", "other"] for k in range(len(y))]
    matrix = compare_log(log_of(tmp_path / "log.jsonl", y, rankers=three)).preferences
    assert re.match(r"Not decided by the log: \d of 3 pairs (is|are) decided\. ", winner_sentence(matrix))
    assert not winner_sentence(matrix[["old", "new"]]).startswith("Not decided by the log")


def test_impressions_to_go_of_a_log_of_a_policy_are_those_of_the_log_at_its_shares(tmp_path):
    y = outcomes(42, 26, 60)
    for given, says in (({}, " further impressions, if the means stay as they are."), (
        {"policy": ["rucb"] * len(y)},
        " in the log, over all pairs, if the means and the pairs' shares of the log stay as they are.",
    )):  # fmt: skip
        found = compare_log(log_of(tmp_path / "log.jsonl", y, **given))
        assert stopping_sentence(found, stopping_decisions(found)).endswith(says)


@pytest.mark.parametrize(("p", "says"), [
    (0.0099999, "fails: (p = 0.0099999)"), (0.00996, "fails: (p = 0.00996)"), (0.01004, "sound: (p = 0.01004)"),
    (0.0123, "sound: (p = 0.012)"), (0.5, "sound: (p = 0.5)"), (1e-13, "fails: (p < 1e-12)"),
])  # fmt: skip
def test_a_p_near_the_limit_is_not_printed_as_the_limit(p, says):
    found = findings.tested("t", p, "")
    assert f"{found.verdict}:{found.sentence}" == says


def test_the_page_names_rankers_as_its_table_does_and_its_times_as_dates(tmp_path):
    found = compare_log(log_of(tmp_path / "log.jsonl", -outcomes(90, 10, 20)))
    for decisions in (None, stopping_decisions(found)):
        save_comparison(Evidence(found, 0.95, decisions), tmp_path / "page.html")
        text = text_of(tmp_path / "page.html")
        assert "Comparison of new, old" in text and "1970-01-01 00:01:59" in text
