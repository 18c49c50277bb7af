"""Outcomes minus the effect of each list's coin: the same mean with a smaller error."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pandas as pd
import pytest

from ltr_duel.core import InputError, statistics
from ltr_duel.logs import ClickLog, Evidence, History, compare_log, method_lines, stopping_decisions
from ltr_duel.logs.clusters import cautious_means, fewer_degrees, interval_ends
from ltr_duel.logs.history import slopes_of

MEAN = 0.1


def drawn(users, visits, seed):
    """Return user, coin and outcome (of A) of impressions, and the half of users who always click on position 1.

    The other users click for A in 55 %, for B in 45 %, so the coins of the first half explain half of the variance.
    """
    rng = np.random.default_rng(seed)
    top = rng.random(users) < 0.5
    user = np.repeat(np.arange(users), visits)
    coin = rng.choice([-1, 1], len(user))
    free = np.where(rng.random(len(user)) < (1 + MEAN) / 2, 1, -1)
    return user, coin, np.where(top[user], coin, free), top


def written(folder, user, coin, y, more=()):
    """Write a log in which A owns position 1 if the coin is 1."""
    rows = []
    for k in range(len(user)):
        owners = [0, 1] if coin[k] == 1 else [1, 0]
        row = {"impression": k, "time": k, "query": "q", "user": f"u{user[k]}", "shown": ["x", "y"], "owners": owners}
        row |= {"rankers": ["A", "B"], "clicks": [1 + int(coin[k] != y[k])]} | dict(more)
        rows.append(json.dumps(row))
    path = folder / "log.jsonl"
    path.write_text("\n".join(rows))
    return ClickLog(path)


def history_of(folder, top, **more):
    path = folder / "history.csv"
    pd.DataFrame({"user": [f"u{k}" for k in range(len(top))], "top": top.astype(float)} | more).to_csv(
        path, index=False
    )
    return History(path)


def test_half_of_the_variance_explained_is_half_of_the_impressions(tmp_path):
    user, coin, y, top = drawn(1000, 2, 0)
    log = written(tmp_path, user, coin, y)
    plain = compare_log(log, bootstrap=0)
    found = compare_log(log, bootstrap=0, history=history_of(tmp_path, top))
    saved = (found.means.error[0] / plain.means.error[0]) ** 2
    assert saved == pytest.approx(0.5, abs=0.05)  # the coin alone decides for half of the users
    assert found.warnings[0].startswith("adjusted by the coin of position 1 and the history of users: the variance")
    assert (
        f"is {saved:.0%} of the unadjusted variance, as if there were {1 / saved:.2f} times as many impressions"
        in found.warnings[0]
    )
    assert abs(found.means.mean[0] - MEAN / 2) < 3 * found.means.error[0]
    assert (found.wins[0], found.losses[0]) == (plain.wins[0], plain.losses[0])
    one, less = (stopping_decisions(each)[0] for each in (plain, found))
    assert less.high - less.low < 0.85 * (one.high - one.low) and less.per_user == one.per_user
    assert "Adjusted: the effects of the coin that decides position 1" in " ".join(method_lines(Evidence(found, 0.95)))


def test_the_coin_alone_takes_out_what_all_users_have_in_common(tmp_path):
    """Cov(y, c) = 1/2, so the coin explains its square, a quarter of the variance, without covariates of users."""
    user, coin, y, _ = drawn(1500, 1, 1)
    log = written(tmp_path, user, coin, y)
    plain, found = compare_log(log, bootstrap=0), compare_log(log, bootstrap=0, history=History())
    assert (found.means.error[0] / plain.means.error[0]) ** 2 == pytest.approx(0.75, abs=0.05)


def test_the_adjusted_mean_is_that_of_least_squares(tmp_path):
    user, coin, y, top = drawn(60, 3, 2)
    found = compare_log(written(tmp_path, user, coin, y), bootstrap=0, history=history_of(tmp_path, top))
    x = (top - top.mean())[user] / top.std()
    z = np.stack([np.ones(len(y)), coin, coin * x])
    sign = 1 if found.names[found.pairs[0][0]] == "A" else -1
    assert sign * found.means.mean[0] == pytest.approx(np.linalg.lstsq(z.T, y, rcond=None)[0][0], abs=1e-5)


def less_noise(y, coin, columns, user):
    """Return the adjusted mean, and its interval, by slopes on the coin and the coin times each column."""
    z = np.stack([coin, *(coin * column for column in columns)])
    products = np.stack([np.ones(len(y)), *z, y])
    less = y - slopes_of(products @ products.T) @ z
    n, total = np.bincount(user)[None].astype(float), np.bincount(user, less)[None]
    cautious = fewer_degrees(cautious_means(n, total, np.array([(less**2).sum()])), len(z))
    low, high = interval_ends(cautious, 0.95)
    return less.mean(), low[0], high[0]


def test_intervals_of_adjusted_outcomes_hold_the_mean():
    """2,000 experiments of 100 users who come twice, with slopes fitted to each experiment; three errors are 1.5 %."""
    hits = 0
    for seed in range(2000):
        user, coin, y, top = drawn(100, 2, 100 + seed)
        _, low, high = less_noise(y, coin, [((top - top.mean()) / (top.std() or 1))[user]], user)
        hits += low <= MEAN / 2 <= high
    assert hits / 2000 > 0.935


@pytest.mark.parametrize("visits", [1, 3])
def test_columns_of_noise_neither_shrink_a_large_mean_nor_the_doubt_of_it(visits):
    """With 100 users and five columns, slopes without an intercept would explain six hundredths of the mean."""
    rng, found = np.random.default_rng(0), []
    user = np.repeat(np.arange(100), visits)
    for _ in range(2000):
        y = np.where(rng.random(len(user)) < 0.8, 1.0, -1.0)
        found.append(less_noise(y, rng.choice([-1.0, 1.0], len(user)), rng.normal(size=(5, 100))[:, user], user))
    mean, low, high = np.array(found).T
    assert abs(mean.mean() - 0.6) < 3 * mean.std() / np.sqrt(2000)
    assert ((low <= 0.6) & (high >= 0.6)).mean() >= 0.935


def left_of(y, coin, columns, user, intercept):
    """Return users' sums of the residuals of outcomes."""
    z = np.stack([coin, *(coin * column for column in columns)])
    products = np.stack([np.ones(len(y)), *z, y])
    return np.bincount(user, y - slopes_of(products @ products.T, intercept=intercept) @ z)


def test_p_of_adjusted_outcomes_is_that_of_all_signs_of_outcomes_and_coins_together():
    """Eight users come twice; the slopes are fitted again for each of the 256 sign patterns."""
    user, coin, y, top = drawn(8, 2, 12)
    column = ((top - top.mean()) / top.std())[user]
    found = []
    for sign in itertools.product([1, -1], repeat=8):
        turned = np.array(sign)[user]
        found.append(abs(left_of(y * turned, coin * turned, [column], user, False).sum()))
    share = np.mean(np.array(found) >= found[0] - 1e-9)
    assert 0 < share < 1
    assert statistics.sign_flip_p(left_of(y, coin, [column], user, False)) == pytest.approx(share, abs=0.02)


def test_few_users_with_identical_rankers_differ_in_one_log_of_twenty_at_most():
    """2,000 logs of 30 users, most of whom click on position 1, and two columns; with intercepts, 8 % would differ."""
    rng, alarms = np.random.default_rng(0), np.zeros(2)
    user = np.arange(30)
    for _ in range(2000):
        coin, top = rng.choice([-1.0, 1.0], 30), rng.random(30) < 0.9
        y = np.where(top, coin, rng.choice([-1.0, 1.0], 30))
        columns = [(top - top.mean()) / (top.std() or 1), rng.normal(size=30)]
        alarms += [statistics.sign_flip_p(left_of(y, coin, columns, user, one)) < 0.05 for one in (False, True)]
    assert alarms[0] / 2000 < 0.05 + 2.5 * np.sqrt(0.05 * 0.95 / 2000) < alarms[1] / 2000


@pytest.mark.parametrize("users", [12, 20])
def test_intervals_of_few_users_hold_the_mean_and_leave_out_0_only_where_the_test_does(users):
    """Only the coin is fitted; half of the users click on position 1."""
    hits = 0
    for seed in range(1000):
        user, coin, y, _ = drawn(users, 2, 5000 + seed)
        _, low, high = less_noise(y, coin, [], user)
        hits += low <= MEAN / 2 <= high
    assert hits / 1000 > 0.94 - 2.5 * np.sqrt(0.05 * 0.95 / 1000)


@pytest.mark.parametrize("seed", [7, 8, 9])
def test_a_comparison_of_adjusted_outcomes_has_the_exact_test_and_no_bootstrap(tmp_path, seed):
    user, coin, y, top = drawn(24, 1, seed)
    y = np.where(user < 18, coin * np.where(coin == 1, 1, 1 - 2 * (user % 3 == 0)), y)
    found = compare_log(written(tmp_path, user, coin, y), bootstrap=50, history=history_of(tmp_path, top))
    column = ((top - top.mean()) / top.std())[user]
    signs = statistics.sign_flip_p(np.round(left_of(y, coin, [column], user, False), 5))
    assert found.p[0] == pytest.approx(max(signs, statistics.student_p(*found.cautious)[0]), abs=0.02)
    assert found.p[0] >= signs - 0.02 and np.isnan(found.bootstrap).all()
    assert (found.low[0] <= 0 <= found.high[0]) == (found.p[0] >= 0.05)


def test_more_columns_than_a_tenth_of_the_users_are_refused(tmp_path):
    user, coin, y, top = drawn(29, 2, 5)
    noise = np.random.default_rng(6).normal(size=29)
    log, history = written(tmp_path, user, coin, y), history_of(tmp_path, top, noise=noise)
    with pytest.raises(
        InputError, match=r"3 covariates \(the coin and 2 columns .* require 30 users, but the log has 29$"
    ):
        compare_log(log, bootstrap=0, history=history)
    found = compare_log(log, bootstrap=0, history=history_of(tmp_path, top))
    plain = compare_log(log, bootstrap=0)
    assert found.means.freedom == pytest.approx(plain.means.freedom - 2)


def test_users_who_are_not_in_the_history_count_as_average(tmp_path):
    user, coin, y, _ = drawn(40, 2, 3)
    log = written(tmp_path, user, coin, y)
    path = tmp_path / "history.parquet"
    pd.DataFrame({"user": ["nobody", "else"], "top": [1.0, np.nan]}).to_parquet(path)
    alone, found = (compare_log(log, bootstrap=0, history=one) for one in (History(), History(path)))
    assert found.means.mean[0] == pytest.approx(alone.means.mean[0], abs=1e-5)


@pytest.mark.parametrize(("more", "says"), [
    ({"policy": "rucb"}, "no policy may react"), ({"user": None}, "adjusted outcomes require users"),
    ({"rankers": ["A", "B", "C"]}, "of two 'rankers'"),
])  # fmt: skip
def test_a_log_whose_coin_is_not_known_is_refused(tmp_path, more, says):
    user, coin, y, _ = drawn(10, 2, 4)
    with pytest.raises(InputError, match=says):
        compare_log(written(tmp_path, user, coin, y, more), bootstrap=0, history=History())


@pytest.mark.parametrize(("table", "says"), [
    ({"name": ["a"], "x": [1]}, "needs a column 'user'"), ({"user": ["a"]}, "and columns of numbers"),
    ({"user": ["a", "a"], "x": [1, 2]}, "a user occurs in several rows"),
    ({"user": ["a"], "x": ["much"]}, "'x' is not numeric"),
])  # fmt: skip
def test_a_history_that_cannot_be_used_is_refused(tmp_path, table, says):
    pd.DataFrame(table).to_csv(tmp_path / "history.csv", index=False)
    with pytest.raises(InputError, match=says):
        History(tmp_path / "history.csv")
