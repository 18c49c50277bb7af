"""Rankers that were never shown together: the probability of a list, the estimate, and the refusals."""

from __future__ import annotations

import json
from itertools import permutations

import numpy as np
import pytest

from benchmarks.studies.errors_off_policy import DEMONSTRATION, Case, answers
from ltr_duel.core import InputError, stream
from ltr_duel.interleaving import METHODS, Lists, Size
from ltr_duel.logs import ClickLog, WeightedOutcome, simulate_log, weigh_outcomes, weighted_lines
from ltr_duel.logs.designs import Design
from ltr_duel.logs.doubly_robust import Rows, clicked_rows, residuals
from ltr_duel.logs.mixtures import LARGEST, Mixtures, reach_of, weights_of
from ltr_duel.preferences import estimate_preferences
from tests.conftest import random_rankings

CASE = Case(tau=1.0, top=5, agree=0.5, noise=3.0)


def mixture(orders, sets, shares, wanted=(0, 1), tau=3.0, length=3):
    """Return one query's mixture of sets of rankers, each with its share of the rows."""
    order = np.array(orders, np.int16)
    rank = (np.argsort(order, axis=1) + 1).astype(np.int16)
    documents = order.shape[1]
    return Mixtures(
        Lists(order, rank, np.array([0, documents])),
        np.concatenate([[0.0], np.arange(1.0, documents + 1) ** -tau]),
        np.array(wanted),
        np.zeros(1, np.int64),
        np.array([length]),
        np.array([100.0]),
        np.array([0, len(sets)]),
        np.array(shares, np.float64),
        np.cumsum([0, *map(len, sets)]),
        np.concatenate([np.array(one) for one in sets]),
    )


def chance(ranks, shown, tau=3.0):
    """Return the probability of a list by definition: the mean softmax over the remaining documents."""
    weight = [[r**-tau for r in ranker] for ranker in ranks]
    product, left = 1.0, set(range(len(ranks[0])))
    for d in shown:
        product *= np.mean([w[d] / sum(w[e] for e in left) for w in weight])
        left -= {d}
    return product


def test_weights_are_the_chance_wanted_over_that_of_the_mixture():
    orders = [[0, 1, 2, 3], [3, 1, 0, 2], [2, 3, 1, 0]]
    shown = np.array(list(permutations(range(4), 3)))
    found = weights_of(
        mixture(orders, [(0, 1), (1, 2), (0, 1, 2)], [0.2, 0.5, 0.3], wanted=(0, 2)),
        np.zeros(len(shown), np.int64),
        3 * np.arange(len(shown)),
        shown.ravel(),
    )
    ranks = np.argsort(orders, axis=1) + 1
    of = {arms: np.array([chance(ranks[list(arms)], one) for one in shown]) for arms in [(0, 1), (1, 2), (0, 1, 2)]}
    wanted = np.array([chance(ranks[[0, 2]], one) for one in shown])
    mixed = 0.2 * of[0, 1] + 0.5 * of[1, 2] + 0.3 * of[0, 1, 2]
    assert wanted.sum() == pytest.approx(1) and mixed.sum() == pytest.approx(1)
    assert np.allclose(found, wanted / mixed, rtol=1e-12)
    assert (found * mixed).sum() == pytest.approx(1)  # the mean weight


def test_what_is_within_reach_is_known_without_any_weight_of_the_log():
    orders = [[0, 1, 2, 3], [3, 1, 0, 2], [2, 3, 1, 0]]
    given = mixture(orders, [(0, 1)], [1.0], wanted=(0, 2), tau=2.0)
    state = METHODS["probabilistic"].init(Size(3, 4, 2), METHODS["probabilistic"].params(2.0), "expectation")
    within = reach_of(given, state, 1.96, stream(1, "reach"))
    shown, ranks = np.array(list(permutations(range(4), 3))), np.argsort(orders, axis=1) + 1
    wanted = np.array([chance(ranks[[0, 2]], one, 2.0) for one in shown])
    weight = wanted / [chance(ranks[[0, 1]], one, 2.0) for one in shown]
    inside = weight <= within.cap
    assert 1 < within.cap <= LARGEST * 100 and not inside.all()
    for found, expected in ((within.covered, wanted[inside].sum()), (within.square, (wanted * weight)[inside].sum())):
        assert found[0] == pytest.approx(expected, abs=4 * expected / np.sqrt(2000))
    assert within.missing > 1 - within.covered[0]  # with two standard errors of the draws


def log_of(tmp_path, rankings, horizon, seed, tau=1.0, outcome=""):
    path = tmp_path / f"{seed}.parquet"
    simulate_log(path, rankings, pairs=f"probabilistic:tau={tau:g}", outcome=outcome, top=5, horizon=horizon, seed=seed)
    return path


def test_weights_find_the_preference_of_a_pair_that_was_left_out(tmp_path):
    rankings = random_rankings(3, 30, 6)
    truth = estimate_preferences(
        rankings, method="probabilistic:tau=1", outcome="marginal_sign", comparisons=40_000, top=5
    )
    path = log_of(tmp_path, rankings, 30_000, 1)
    rows = [row for batch in ClickLog(path).batches() for row in batch.table.to_pylist()]
    kept = [row for row in rows if set(row["rankers"]) != {"ranker 0", "ranker 2"}]
    assert len(kept) < 0.7 * len(rows)
    left = tmp_path / "left.jsonl"
    left.write_text("\n".join(json.dumps({k: v for k, v in row.items() if v is not None}) for row in kept[:12_000]))
    found = weigh_outcomes(ClickLog(left), "ranker 0", "ranker 2")
    expected = 2 * truth.p[0, 2] - 1
    assert not found.refused and found.effective < found.impressions
    assert abs(found.mean - expected) < 3.5 * found.error
    assert abs(expected) > 3 * found.error  # the estimate is informative


def test_weights_of_the_pair_itself_are_one(tmp_path):
    rankings = random_rankings(2, 10, 6)
    path = log_of(tmp_path, rankings, 500, 2)
    found = weigh_outcomes(ClickLog(path), "ranker 0", "ranker 1")
    assert found.effective == pytest.approx(found.impressions)
    from ltr_duel.logs import compare_log

    direct = compare_log(ClickLog(path), cluster="impression")
    sign = 1 if direct.names[0] == "ranker 0" else -1
    assert found.mean == pytest.approx(sign * direct.means.mean[0])


@pytest.mark.parametrize("share", [1.0, 0.2])
def test_lists_that_are_kept_for_a_query_are_refused(tmp_path, share):
    """The mean weight is approximately right even if one list per query and pair is shown repeatedly."""
    rankings = random_rankings(3, 20, 8)
    rows = [row for batch in ClickLog(log_of(tmp_path, rankings, 1500, 4)).batches() for row in batch.table.to_pylist()]
    first = {}
    for row in rows:
        kept = first.setdefault((row["query"], tuple(row["rankers"])), row["shown"])
        if int(row["query"]) < share * 20:
            row["shown"] = kept
    rows = [{k: v for k, v in row.items() if v is not None and k not in ("owners", "page")} for row in rows]
    path = tmp_path / "kept.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    refused = weigh_outcomes(ClickLog(path), "ranker 0", "ranker 1").refused
    assert "equal the previous list for their query and rankers" in refused


def test_lists_that_are_drawn_anew_repeat_as_often_as_their_chances_imply(tmp_path):
    rankings = random_rankings(3, 4, 4)
    design = Design(ClickLog(log_of(tmp_path, rankings, 3000, 5, tau=2.0)), ("ranker 0", "ranker 1"))
    for used in design.rows():
        design.weighed(used)
    seen, expected = design.repeats.seen, design.repeats.expected
    assert expected > 200 and abs(seen - expected) < 3.5 * expected**0.5 and not design.repeats.refusal()


def test_the_answer_names_its_confidence_and_a_rule_whose_mean_is_not_0_for_random_clicks():
    known = WeightedOutcome("a", "b", 900, 1000, 9, 10, 400.0, 1, 1, 0.1, 0.1, 0.2, -0.3, 0.5, "", "", 0.9, "biased.")
    assert weighted_lines(known)[2:] == [
        "note: biased.",
        "a > b: mean outcome +0.1000, interval of 90% -0.3000 to +0.5000: not clear which is ahead",
    ]


@pytest.mark.parametrize(
    ("rule", "says"), [("marginal_sign", "marginal_sign: under random clicks, the mean"), ("sampled", "")]
)
def test_weights_by_a_biased_rule_come_with_what_is_known_of_it(tmp_path, rule, says):
    rankings = random_rankings(3, 20, 5)
    settings = {"pairs": "probabilistic:tau=0.5", "outcome": rule, "horizon": 2000}
    simulate_log(tmp_path / "clicks.parquet", rankings, **settings)
    found = weigh_outcomes(ClickLog(tmp_path / "clicks.parquet"), *rankings.names[:2], confidence=0.9)
    assert found.confidence == 0.9 and found.caution.startswith(says) and bool(found.caution) == bool(says)


def test_far_rankers_are_refused_and_so_are_other_logs(tmp_path):
    rankings = random_rankings(4, 30, 20)
    path = log_of(tmp_path, rankings[["ranker 0", "ranker 1", "ranker 2"]], 300, 3, tau=6.0)
    found = weigh_outcomes(ClickLog(path), "ranker 0", "ranker 2")
    assert "missing from the log or too rare in it" in found.refused and found.high - found.low > 0.2
    with pytest.raises(InputError, match="no row has a ranking by 'ranker 3'"):
        weigh_outcomes(ClickLog(path), "ranker 0", "ranker 3")
    simulate_log(tmp_path / "b.parquet", rankings, pairs="balanced", horizon=100)
    with pytest.raises(InputError, match="weights need lists of 'probabilistic'"):
        weigh_outcomes(ClickLog(tmp_path / "b.parquet"), "ranker 0", "ranker 1")


def test_lists_that_agree_on_half_of_the_queries_do_not_hide_the_others():
    """The demonstration: at tau 3 the log of A:B, A:C and B:D contains hardly any list of C:D if the rankers differ."""
    for answer in answers(DEMONSTRATION, 3, [(2, 3)]):
        assert "of the two rankers' lists are missing from the log or too rare in it" in answer.found.refused
        assert answer.found.expected_weight < 0.75
        assert abs(answer.found.weight - answer.found.expected_weight) < 3 * answer.found.weight_error
        assert answer.found.low <= answer.truth <= answer.found.high


@pytest.mark.parametrize("model", ["", "ubm"])
def test_intervals_that_are_given_hold_the_mean_outcome_they_name(model):
    """At most 5 of 24 intervals may miss: 70 % coverage would pass in one of six cases; `make test-long` has 400."""
    given = [one for one in answers(CASE, 4, comparisons=4000, click_model=model) if not one.found.refused]
    held = [one.found.low <= one.truth <= one.found.high for one in given]
    assert len(given) >= 20 and np.mean(held) > 0.93 - 3 * np.sqrt(0.93 * 0.07 / len(given))


def test_a_click_model_narrows_the_interval():
    alone, robust = (next(answers(CASE, 1, [(2, 3)], comparisons=100, click_model=model)) for model in ("", "ubm"))
    assert robust.found.error < 0.9 * alone.found.error
    assert robust.found.effective == alone.found.effective and robust.found.click_model == "ubm"


def test_a_model_that_predicts_every_outcome_leaves_no_residual():
    """If credit depends only on the list, the prediction is the outcome, and the estimate is the mean outcome."""
    orders = [[0, 1, 2, 3], [3, 1, 0, 2], [2, 3, 1, 0]]
    given = mixture(orders, [(0, 1)], [1.0], wanted=(0, 2), tau=1.0)
    state = METHODS["probabilistic"].init(Size(3, 4, 2), METHODS["probabilistic"].params(1.0), "expectation")
    within = reach_of(given, state, 1.96, stream(1, "reach"))
    rng, n = np.random.default_rng(0), 100
    shown = np.array(list(permutations(range(4), 3)))[rng.integers(0, 24, n)]
    click = rng.random(3 * n) < 0.5

    def credit(clicked, cell):
        return clicked.numbers[clicked.ptr[:-1]] / 10

    cell, users = np.zeros(n, np.int64), rng.integers(0, 2**63, n).astype(np.uint64)
    rows = Rows(users, cell, np.full(n, 0.7), shown[:, 0] / 10, 3 * np.arange(n + 1), shown.ravel(), click)
    found = residuals(rows, given, within, "pbm", credit, stream(1, "clicks"))
    inside = within.weight <= within.cap
    assert found.scatter == pytest.approx(0) and np.allclose(found.value, (within.drawn[:, 0] / 10 * inside).mean())
    assert found.beyond == pytest.approx((within.drawn[:, 0] / 10 * ~inside).mean())


def test_marks_of_clicks_become_places():
    click = np.array([False, True, False, False, True, True])
    rows = clicked_rows(np.array([0, 2, 3, 6]), np.arange(6), click)
    assert rows.click_ptr.tolist() == [0, 1, 1, 3] and rows.clicks.tolist() == [2, 2, 3]


@pytest.mark.long
def test_twenty_pairs_and_the_coverage_of_their_intervals(tmp_path):
    """Each pair is estimated from the impressions of all pairs of seven rankers, of which one in 21 shows the pair."""
    rankings = random_rankings(7, 30, 6)
    names = rankings.names
    truth = estimate_preferences(
        rankings, method="probabilistic:tau=0.5", outcome="marginal_sign", comparisons=400_000, top=5
    )
    pairs = [(i, j) for i in range(7) for j in range(i + 1, 7)][:20]
    held, far, logs = 0, 0, 20
    means = {pair: [] for pair in pairs}
    errors = {pair: [] for pair in pairs}
    for seed in range(logs):
        path = log_of(tmp_path, rankings, 4000, 100 + seed, tau=0.5)
        for i, j in pairs:
            found = weigh_outcomes(ClickLog(path), names[i], names[j])
            assert not found.refused
            expected = 2 * truth.p[i, j] - 1
            held += found.low <= expected <= found.high
            means[i, j].append(found.mean)
            errors[i, j].append(found.error)
    for i, j in pairs:
        error = np.sqrt(np.square(errors[i, j]).sum()) / logs + 2 * truth.standard_error[i, j]
        far += abs(np.mean(means[i, j]) - (2 * truth.p[i, j] - 1)) > 2 * error
    print(
        f"coverage {held / (logs * len(pairs)):.4f} of {logs * len(pairs)}; {far} of {len(pairs)} pairs beyond 2 errors"
    )
    assert far <= 2
    assert 0.92 <= held / (logs * len(pairs)) <= 0.98


def test_a_log_whose_rankers_a_policy_chose_by_outcomes_is_refused(tmp_path):
    path = tmp_path / "log.jsonl"
    rankings = random_rankings(3, 5, 4)
    names = rankings.names[0], rankings.names[2]
    simulate_log(path, rankings, pairs="probabilistic:tau=1", horizon=300)
    text = path.read_text()
    assert '"policy": "random"' in text and "chose" not in weigh_outcomes(ClickLog(path), *names).refused
    path.write_text(text.replace('"policy": "random"', '"policy": "rucb"'))
    refused = weigh_outcomes(ClickLog(path), *names).refused
    assert refused.startswith("'rucb' chose the rankers of this log by earlier outcomes")
