"""Rankers that were never shown together: the chance of a list, the estimate, and when nothing is said."""

from __future__ import annotations

import json
from itertools import permutations

import numpy as np
import pytest

from ltr_duel.core import InputError
from ltr_duel.interleaving import Lists
from ltr_duel.logs import ClickLog, simulate_log, weigh_outcomes
from ltr_duel.logs.crediting import Clicked
from ltr_duel.logs.off_policy import list_chances
from ltr_duel.preferences import estimate_preferences
from tests.conftest import random_rankings


def test_the_chances_of_all_lists_add_up_to_one():
    orders = np.array([[0, 1, 2, 3], [3, 1, 0, 2], [2, 3, 1, 0]], np.int16)
    ranks = (np.argsort(orders, axis=1) + 1).astype(np.int16)
    shown = np.array(list(permutations(range(4), 3)))
    n, none = len(shown), np.zeros(0, np.int32)
    clicked = Clicked(
        np.arange(n), np.zeros(n, np.int64), 3 * np.arange(n + 1), shown.ravel(), none, np.zeros(n + 1, np.int64), none
    )
    decay = np.array([0, 1, 2.0**-3, 3.0**-3, 4.0**-3])
    for rankers in (2, 3):
        out = np.zeros(n)
        lists = Lists(orders[:rankers], ranks[:rankers], np.array([0, 4]))
        list_chances(decay, lists, clicked, np.zeros(4, np.uint8), out)
        assert np.exp(out).sum() == pytest.approx(1, abs=1e-12)
        # 0, then 1: by the softmax of each ranker over what is left, averaged over the rankers
        first = np.mean([decay[r[0]] / decay.sum() for r in ranks[:rankers]])
        second = np.mean([decay[r[1]] / (decay.sum() - decay[r[0]]) for r in ranks[:rankers]])
        third = np.mean([decay[r[2]] / (decay.sum() - decay[r[0]] - decay[r[1]]) for r in ranks[:rankers]])
        (place,) = np.flatnonzero((shown == [0, 1, 2]).all(axis=1))
        assert np.exp(out[place]) == pytest.approx(first * second * third, abs=1e-12)


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
    assert abs(expected) > 3 * found.error  # it does tell


def test_weights_of_the_pair_itself_are_one(tmp_path):
    rankings = random_rankings(2, 10, 6)
    path = log_of(tmp_path, rankings, 500, 2)
    found = weigh_outcomes(ClickLog(path), "ranker 0", "ranker 1")
    assert found.effective == pytest.approx(found.impressions)
    from ltr_duel.logs import compare_log

    direct = compare_log(ClickLog(path), cluster="impression")
    sign = 1 if direct.names[0] == "ranker 0" else -1
    assert found.mean == pytest.approx(sign * direct.means.mean[0])


def test_far_rankers_are_refused_and_so_are_other_logs(tmp_path):
    rankings = random_rankings(4, 30, 20)
    path = log_of(tmp_path, rankings[["ranker 0", "ranker 1", "ranker 2"]], 300, 3, tau=6.0)
    found = weigh_outcomes(ClickLog(path), "ranker 0", "ranker 2")
    assert found.refused.startswith("the weights leave")
    with pytest.raises(InputError, match="no row ranks documents by 'ranker 3'"):
        weigh_outcomes(ClickLog(path), "ranker 0", "ranker 3")
    simulate_log(tmp_path / "b.parquet", rankings, pairs="balanced", horizon=100)
    with pytest.raises(InputError, match="weights need lists of 'probabilistic'"):
        weigh_outcomes(ClickLog(tmp_path / "b.parquet"), "ranker 0", "ranker 1")


@pytest.mark.long
def test_twenty_pairs_and_the_coverage_of_their_intervals(tmp_path):
    """Each pair from the impressions of all pairs of seven rankers, of which one in 21 is its own."""
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
