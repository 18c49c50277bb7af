"""Advice from end to end, as plain Python on a tiny corpus; most tests look at one advice (`tests.conftest`)."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from ltr_duel.advice import ANSWER, advise
from ltr_duel.advice.answer import CandidateResult, Estimate, Reached, ScreeningResult, WorldResult, reached
from ltr_duel.advice.candidates import candidates_named
from ltr_duel.advice.runs import Sample
from ltr_duel.advice.screening import confirm, finalists_of
from ltr_duel.advice.worlds import make_worlds
from ltr_duel.core import InputError
from ltr_duel.data import make_corpus
from ltr_duel.live import next_plan, read_settings
from ltr_duel.rankers import feature_rankers

SMALL = {"budget": 120, "clicks": "perfect", "simulations": 10, "top": 3, "compiled": False, "jobs": 1}
FOUR = ("random/team_draft", "mdb/sosm", "winner_stays_strong/team_draft", "double_thompson/team_draft")


@pytest.fixture(scope="module")
def rankings():
    return feature_rankers(make_corpus(queries=8, documents=4, features=3, dead=0, constant=0))


def test_every_candidate_is_screened_and_three_get_fresh_runs(advice):
    assert {result.candidate for result in advice.screening} == set(FOUR)
    losses = [result.loss for result in advice.screening]
    assert losses == sorted(losses)
    fresh = [result.candidate for result in advice.candidates]
    first = {result.candidate for result in advice.screening[:3]}
    assert set(fresh[:3]) == first and set(fresh) == first | {"random/team_draft"}
    assert all(world.runs == 10 for result in advice.candidates for world in result.worlds)


def test_numbers_lie_in_their_intervals_and_losses_add_up(advice):
    for world in (world for result in advice.candidates for world in result.worlds):
        for estimate in (world.right, world.lost, world.after, world.loss, *world.curve):
            assert estimate.low <= estimate.value <= estimate.high
        assert world.loss.value == pytest.approx(world.lost.value + world.after.value)
        assert len(world.curve) == len(advice.times) and advice.times[-1] == 120


class FakeSimulator:
    """Samples in which each candidate names a right ranker, or loses, as often as the test says."""

    def __init__(self, right, lost):
        self._right, self._lost = right, lost

    def samples(self, requests, stage, times, label):
        return [self._sample(candidate.label, runs, len(times)) for candidate, _, runs in requests]

    def _sample(self, name, runs, size):
        right = np.repeat(np.arange(runs)[:, None] < self._right[name] * runs, size, axis=1)
        return Sample(right.astype(np.int64), right.astype(np.uint8), np.full(runs, self._lost[name]), np.zeros(runs))


@pytest.mark.parametrize(
    ("right", "advised"),
    [
        ((1.0, 1.0, 1.0), "mdb/sosm"),  # the lowest loss
        ((0.9, 1.0, 1.0), "double_thompson/team_draft"),  # the lowest loss of those that reach 95 %
        ((0.9, 0.9, 0.9), "mdb/sosm"),  # none does: the lowest loss
    ],
)
def test_the_finalist_with_the_lowest_loss_of_those_that_are_sure_is_advised(rankings, right, advised):
    names = ("mdb/sosm", "double_thompson/team_draft", "random/team_draft")
    lost = dict(zip(names, (0.1, 0.2, 0.3), strict=True))
    simulator = FakeSimulator(dict(zip(names, right, strict=True)), lost)
    worlds = make_worlds(rankings, ("perfect",), 3, 0.01)
    results = confirm(simulator, candidates_named(names[::-1]), worlds, np.array([60, 120]), 100, 0.95)
    assert results[0].candidate == advised
    others = [result.candidate for result in results[1:]]
    assert others == [name for name in names if name != advised]


def test_the_baseline_is_a_fourth_finalist():
    candidates = candidates_named(FOUR)
    last = [ScreeningResult(name, 12, 1.0, loss) for loss, name in enumerate((*FOUR[1:], FOUR[0]))]
    assert [one.label for one in finalists_of(last, candidates)] == [*FOUR[1:], FOUR[0]]
    first = [ScreeningResult(name, 12, 1.0, loss) for loss, name in enumerate(FOUR)]
    assert [one.label for one in finalists_of(first, candidates)] == list(FOUR[:3])


def test_random_pairs_cost_the_mean_gap(advice):
    """Each of the three rankers is in two thirds of the lists; a list of two rankers loses about their mean."""
    [row] = [result for result in advice.candidates if result.candidate == "random/team_draft"]
    ndcg = np.array(list(advice.ndcg.values()))
    assert row.worst.lost.low < (ndcg.max() - ndcg).mean() < row.worst.lost.high


def test_the_verdict_comes_first_and_the_assumptions_last(advice):
    lines = advice.lines()
    policy, method = advice.deploy.candidate.split("/")
    assert re.search(rf"eploy the policy {policy} \(.* et al., \w+ \d+\) with the method {method}\.$|and", lines[0])
    assert f"the incumbent '3' to all users costs {max(advice.ndcg.values()) - advice.ndcg['3']:.4f}" in lines[2]
    assert lines[ANSWER].startswith("Runner-up: ") and "depend half as much on the grade" in " ".join(lines)
    assert "click exactly according to 'perfect' and 'navigational', respond at once" in lines[-1]
    assert not re.search(r"\d\s%", " ".join(lines)), "a number and its % stay together"


def estimate(value, reach=0.01):
    return Estimate(value, value - reach, value + reach)


def result(candidate, right, losses, reach=0.01):
    at = Reached(100, 80, None)
    worlds = [
        WorldResult(users, 100, Estimate(right, right - 0.1, 1.0), at, estimate(loss, reach), estimate(0.0),
                    estimate(loss, reach), (Estimate(right, right - 0.1, 1.0),))
        for users, loss in zip(("perfect", "navigational"), losses, strict=True)
    ]  # fmt: skip
    return CandidateResult(candidate, tuple(worlds))


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (result("mdb/sosm", 0.9, (0.5, 0.5)), "which is shown to be lower."),
        (result("mdb/sosm", 0.5, (0.05, 0.05)), "to be advised, a candidate must reach 60% with every click model."),
        (result("mdb/sosm", 0.9, (0.105, 0.105)), "the runs do not show which of them is lower."),
        (result("mdb/sosm", 0.9, (0.05, 0.2)), "If users were known to be 'perfect', mdb with sosm would lose less."),
    ],
)
def test_the_runner_up_is_compared_with_the_advised(advice, other, said):
    advised = result("double_thompson/team_draft", 0.9, (0.1, 0.1))
    assert said in " ".join(replace(advice, candidates=(advised, other)).lines())


def test_a_budget_that_is_too_small_gets_the_one_that_would_do(rankings):
    given = SMALL | {"confidence": 0.999, "clicks": "random", "candidates": ("random/team_draft",)}
    advice = advise(rankings, **given)
    assert advice.verdict == "too small" and advice.sufficient.tried == 960
    assert "120 impressions are too few for 99.9%, and so are 960 (right in" in advice.lines()[0]
    enough = replace(advice, sufficient=advice.sufficient._replace(budget=480, tried=480))
    assert "120 impressions are too few for 99.9%, 480 may be enough (right in" in enough.lines()[0]


def test_fresh_runs_and_threads_do_not_change_a_number(rankings):
    given = SMALL | {"confidence": 0.5, "candidates": FOUR[:2]}
    one = json.dumps(advise(rankings, **given).to_json())
    assert one == json.dumps(advise(rankings, **given | {"jobs": 3}).to_json())
    assert one != json.dumps(advise(rankings, **given | {"seed": 1}).to_json())


def test_the_files_say_the_same_and_the_settings_can_be_deployed(advice, tmp_path):
    files = {path.name: path for path in advice.save(tmp_path)}
    assert set(files) == {"advice.html", "advice.json", "advice.png", "live.toml"}
    answer = json.loads(files["advice.json"].read_text(encoding="utf-8"))
    assert answer["deploy"] == advice.deploy.candidate
    assert answer["candidates"][0]["worlds"][0]["right"] == advice.deploy.worlds[0].right._asdict()
    settings = read_settings(files["live.toml"])
    assert f"{settings.policy}/{settings.method}" == advice.deploy.candidate
    assert settings.rankers == tuple(advice.ndcg) and settings.confidence == 0.6
    assert settings.batch == 1
    assert {name for rankers, _ in next_plan(settings, at=0).sets for name in rankers} <= set(settings.rankers)
    page = files["advice.html"].read_text(encoding="utf-8")
    assert f"<strong>{advice.lines()[0]}</strong>" in page and page.index("<img") < page.index("<details>")
    assert page.count("<table>") == 4 and page.index("Runner-up: ") < page.index("<table>") < page.index("<details>")


def test_a_batch_is_deployed_as_a_plan_and_pairs_by_the_unbiased_rule(rankings, tmp_path):
    """Regression: live.toml named no rule, so the service used the papers' rule, with which random clicks may win."""
    given = SMALL | {"confidence": 0.5, "batch": 50, "budget": 100}
    advice = advise(rankings, candidates=("winner_stays_strong/probabilistic",), **given)
    assert "respond after each 50 impressions" in advice.lines()[-1]
    advice.save(tmp_path)
    settings = read_settings(tmp_path / "live.toml")
    assert settings.outcome == "marginal_bernoulli"
    assert settings.batch == 50


def test_what_was_simulated_is_named_and_deployed_also_for_two_rankers(tmp_path):
    """Regression: the settings named the policy for pairs, so that none were written for a method of sets."""
    two = feature_rankers(make_corpus(queries=8, documents=4, features=2, dead=0, constant=0))
    advice = advise(two, candidates=("auto/sosm",), **SMALL | {"confidence": 0.5})
    advice.save(tmp_path)
    assert read_settings(tmp_path / "live.toml").policy == "auto_sets" and " auto_sets (" in advice.lines()[0]


def test_sure_from_is_the_last_crossing():
    curve = [Estimate(value, value - 0.1, min(1, value + 0.1)) for value in (0.9, 0.7, 0.85, 0.95)]
    assert reached(tuple(curve), np.array([10, 20, 30, 40]), 0.79) == Reached(30, 10, 40)
    assert reached(tuple(curve[:2]), np.array([10, 20]), 0.85) == Reached(None, None, None)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"budget": 99}, "the budget must be between 100 and 1e+09, not 99"),
        ({"incumbent": "5"}, "no ranker '5';"),
        ({"clicks": ()}, "name at least one click model"),
        ({"candidates": ("rucb",)}, "a candidate is written policy/method, for example 'rucb/team_draft'; not 'rucb'"),
        ({"candidates": ("mdb/balanced",)}, "policy 'mdb' compares sets, which method 'balanced' does not; methods"),
        ({"candidates": ("rucb/team_draft",) * 2}, "the candidate 'rucb/team_draft' is named twice"),
    ],
)
def test_a_question_that_cannot_be_answered_is_refused_in_a_sentence(rankings, change, sentence):
    with pytest.raises(InputError) as refused:
        advise(rankings, **SMALL | change)
    assert str(refused.value).startswith(sentence)
