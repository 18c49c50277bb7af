"""One decision: the library, the table, the last line and the page agree for any log, checks, guardrails and day."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from ltr_duel.logs import (
    ClickLog,
    Finding,
    column_notes,
    compare_log,
    comparison_table,
    confidence_sequence,
    decide,
    impressions_to_go,
    pair_decisions,
    running_sentence,
    standing_lines,
)
from tests.logs.written import DAY, log_of

MARGIN = 0.4
CHECKS = {"sound": [Finding("robots", "sound", 0.0, "none")], "failed": [Finding("pairs shown", "fails", 0.0, "lost")]}
GUARDS = {"none": 0, "kept": 1, "broken": -1}  # the sign of the further outcome
CLEAR, EVEN = [1, 1, 1, -1, 0], [1, -1, 0, 1, -1]
LOGS = {  # outcomes of old, users, days
    "decided": (CLEAR * 60, 300, 14),
    "undecided": (EVEN * 8, 40, 14),
    "tied": (EVEN * 300, 1500, 14),
    "few users": (CLEAR * 8, 4, 3),
}


@pytest.fixture(scope="module")
def comparisons(tmp_path_factory):
    """Return comparisons that are computed once."""
    folder, found = tmp_path_factory.mktemp("decisions"), {}
    for name, (y, users, days) in LOGS.items():
        n = len(y)
        found[name] = compare_log(log_of(folder / "log.jsonl", y, np.linspace(0, days * DAY, n), np.arange(n) % users))
    y = np.array([CLEAR * 60, CLEAR * 60, EVEN * 60]).T.ravel()
    pairs = [["old", "new"], ["old", "third"], ["new", "third"]]
    log = log_of(folder / "log.jsonl", y, np.linspace(0, 14 * DAY, 900), rankers=pairs * 300)
    found["three"] = compare_log(log)
    return found


def decided(found, *, stop=True, checks="sound", guards="none"):
    """Decide on a comparison with given checks, and with the primary outcome, or its negative, as a guardrail."""
    means = [part._replace(mean=GUARDS[guards] * part.mean) for part in (found.means, found.cautious)]
    other = replace(found, means=means[0], cautious=means[1])
    guarded = {"buy": other} if guards != "none" else {}
    found = replace(found, check=lambda: CHECKS[checks], guarded=guarded, margins=dict.fromkeys(guarded, 0.01))
    return decide(found, 0.95 if stop else None, margin=MARGIN)


STATES = [  # log, settings, verdict, labels, beginning of the sentence
    ("decided", {}, "stop", {"old wins"}, "stop: ranker old wins. So far its mean outcome is ahead; a later change"),
    ("decided", {"stop": False}, "stop", {"old wins"}, "ranker old wins (p "),
    ("decided", {"checks": "failed"}, "no decision", {"no decision"}, "no decision: checks of the experiment fail ("),
    ("decided", {"guards": "kept"}, "stop", {"old wins"}, "stop: ranker old wins. So far its mean outcome is ahead;"),
    ("undecided", {"guards": "broken"}, "go on", {"open"}, "go on: "),
    ("decided", {"guards": "broken"}, "no decision", {"no decision"}, "no decision: old is ahead, but the log does"),
    ("undecided", {}, "go on", {"open"}, "go on: "),
    ("tied", {}, "no difference", {"no difference"}, "no difference: the mean outcome of every pair is within 0.4 of"),
    ("few users", {}, "go on", {"open"}, "go on: too few users so far, or a few of them have too large a share of"),
    ("three", {}, "stop", {"old wins", "no difference"}, "stop: ranker old wins against each of the 2 others. So far"),
]


@pytest.mark.parametrize(("name", "settings", "verdict", "labels", "sentence"), STATES)
def test_each_state_of_a_log_has_its_verdict(comparisons, name, settings, verdict, labels, sentence):
    decision = decided(comparisons[name], **settings)
    assert (decision.verdict, set(decision.labels)) == (verdict, labels) and decision.sentence.startswith(sentence)
    assert set(comparison_table(comparisons[name], decision)["verdict"]) == labels


def test_the_library_decides_as_the_command_with_the_checks_of_the_log(tmp_path):
    """Every list shows old on top, so the coin of the first position is no coin."""
    found = compare_log(log_of(tmp_path / "log.jsonl", CLEAR * 60))
    assert found.decision.verdict == "no decision" and "owners of position 1" in found.decision.sentence
    assert found.decision.notes[-1].startswith("By the primary outcome alone, the result would be: ranker old wins (p ")
    assert decide(found, checks=False).winner == "old" and decide(found, checks=False).findings is None


def test_a_verdict_is_what_the_interval_beside_it_says(comparisons):
    seen = set()
    for found, confidence in itertools.product(comparisons.values(), (0.5, 0.95, 1 - 1e-6)):
        for one in decide(found, confidence, checks=False).pairs:
            assert (one.low > 0 or one.high < 0) == (one.verdict == "stop") == (one.p < 1 - confidence), one
            seen.add(one.verdict)
    assert seen == {"stop", "go on"}


def test_a_winner_whose_mean_has_drifted_is_not_to_be_trusted(tmp_path):
    rng = np.random.default_rng(5)
    for mean, drifted in ((np.where(np.arange(4000) < 1000, 0.3, 0.0), True), (np.full(4000, 0.1), False)):
        u = rng.random(4000)
        y = (u < (0.5 + mean) / 2) * 1 - ((u >= (0.5 + mean) / 2) & (u < 0.5))
        decision = decide(compare_log(log_of(tmp_path / "log.jsonl", y)), 0.95, checks=False)
        assert decision.winner == "old" and ("is not ruled out." in decision.sentence) != drifted
        assert decision.sentence.endswith("so do not trust that the means stay as they are.") == drifted


def test_of_several_rankers_the_leader_and_its_strongest_rival_are_named(comparisons):
    found, others = comparisons["three"], "against each of the 2 others; 2 of 3 pairs are decided"
    decision = decided(found, stop=False)
    old, third, rest = decision.pairs

    def standing(mean):
        return standing_lines(found, decision._replace(pairs=(old, third._replace(mean=mean), rest)))

    assert standing(-0.1) == (f"no ranker leads {others} (--explain lists them).", "")
    assert standing(0.1)[0] == f"old leads {others}. Its strongest rival is third."
    assert standing(0.1)[1].startswith("old > third: mean +0.1000, ")
    assert "; 1 of 3 pairs" in standing_lines(found, decision._replace(pairs=(old, rest)))[0], "one was never shown"


def three(ab, ac, bc, confidence=0.95):
    """Decide on three pairs from wins, losses and ties."""
    now = confidence_sequence(*np.array([ab, ac, bc], float).T, confidence=confidence, tests=3)
    named, n = [("a", "b"), ("a", "c"), ("b", "c")], int(np.sum([ab, ac, bc]))
    return pair_decisions(now, named, 3, n, confidence=confidence), n


def test_a_winner_does_not_wait_for_a_pair_of_losers():
    pairs, n = three((200, 150, 50), (200, 150, 50), (150, 150, 100))
    assert np.isinf(pairs[2].more)
    further = impressions_to_go("abc", pairs)
    assert further == max(pair.more_to_win for pair in pairs[:2]) < 3000
    assert running_sentence("abc", pairs, 0.0, n) == (
        f"go on: about {further:,.0f} further pages of several rankers until ranker a wins against all others, if the"
        " means stay as they are (still open: 3 of 3 pairs)."
    )


@pytest.mark.parametrize("n", [19, 20])
def test_how_long_to_go_on_is_not_said_after_a_handful_of_impressions(n):
    pairs, total = three((n, 0, 0), (n, 0, 0), (0, 0, n), confidence=0.999999)
    assert np.isinf(impressions_to_go("abc", pairs)) == (n < 20), "sentence and number agree"
    said = running_sentence("abc", pairs, 0.0, total)
    assert said.startswith("go on: about" if n == 20 else "go on: too few pages of several rankers so far to project")


def test_a_pair_that_was_never_shown_is_named_and_shares_the_error(tmp_path):
    log = log_of(tmp_path / "log.jsonl", [1] * 200, rankers=[["A", "B"], ["B", "C"]] * 100)
    found, unseen = compare_log(log), "A and C have no impression that counts, so they cannot be compared."
    assert decide(found, 0.95, checks=False).sentence == f"go on: {unseen}"
    assert decide(found, checks=False).sentence.endswith(unseen)
    assert found.p_corrected == pytest.approx(3 * found.p) and found.tests == 3  # Bonferroni
    (note,) = column_notes(found, decide(found, checks=False))
    assert note.startswith("With probability 0.95 no interval, verdict or winner is wrong at this look: all 3 pairs")


def test_where_queries_are_clusters_further_impressions_have_more_queries(tmp_path):
    y = [1 if k % 60 * 7 % 60 < 40 else -1 for k in range(2400)]
    query, user = [f"t{k % 60}" for k in range(2400)], [f"o{k // 60 % 200}" for k in range(2400)]
    found = compare_log(log_of(tmp_path / "log.jsonl", y, user=user, query=query), cluster="query")
    assert " further impressions, of more queries, if the means" in decide(found, 0.99999, checks=False).sentence


def test_a_guardrail_holds_if_its_one_sided_limit_is_within_the_margin(tmp_path):
    """By clicks, old always wins; by orders, it loses 10 of 100 users. Without an order, the guardrail is in doubt."""
    log_of(tmp_path / "log.jsonl", [1] * 100)
    for orders, low, high in ((10, 0.14, 0.16), (0, 0.01, 0.1)):
        events = [f'{{"impression": "{k}", "position": 1, "kind": "click"}}\n' for k in range(100)]
        events += [f'{{"impression": "{k}", "position": 2, "kind": "order"}}\n' for k in range(orders)]
        events += ['{"impression": "0", "position": 9, "kind": "order"}\n']
        (tmp_path / "events.jsonl").write_text("".join(events))
        given = {"events": tmp_path / "events.jsonl", "outcome": ["click", "order"]}
        for margin, holds in ((low, False), (high, True)):
            found = compare_log(ClickLog(tmp_path / "log.jsonl", **given), guardrails={"order": margin})
            (once,), (always,) = (decide(found, stop_at, checks=False).guardrails for stop_at in (None, 0.95))
            assert (once.ahead, once.behind, once.mean, once.holds) == ("old", "new", -orders / 100, holds)
            limit = -0.1 - stats.t.ppf(0.95, 99) * np.sqrt(0.1 * 0.9 / 99)
            assert once.low == pytest.approx(limit, rel=0.02) or not orders
            assert always.mean == once.mean and always.low < once.low
