"""Parts of a log by day, user and column, and secondary outcomes in addition to the primary outcome."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from ltr_duel.core import InputError
from ltr_duel.logs import ClickLog, compare_log, secondary_outcomes, subgroups
from ltr_duel.logs.clusters import Means
from ltr_duel.logs.subgroup import interaction_p
from tests.log_studies.drawn_logs import parts_that_differ
from tests.logs.written import DAY, drawn, log_of


def test_each_day_is_the_comparison_of_its_impressions_alone(tmp_path):
    y, times, users = drawn()
    log = log_of(tmp_path / "all.jsonl", y, times, users)
    table = subgroups(log, compare_log(log), "day").frame
    assert table["day"].tolist() == [f"2024-10-{day:02d}" for day in range(4, 9)]  # from six o'clock, on five days
    assert table["impressions"].sum() == 600 and set(table["pair"]) == {"old > new"}
    date = (6 * 3600 + times) // DAY
    for day in range(5):
        alone = log_of(tmp_path / "day.jsonl", *(part[date == day] for part in (y, times, users)))
        found = compare_log(alone, confidence=1 - 0.05 / 5)  # the five intervals hold together
        row, expected = table.iloc[day], (found.means.mean[0], found.low[0], found.high[0], min(5 * found.p[0], 1))
        assert row[["mean", "low", "high", "p_corrected"]].tolist() == pytest.approx(expected)


def test_a_column_of_the_log_divides_it_also_where_it_is_called_like_a_usual_part(tmp_path, name="day"):
    y, times, users = drawn()
    devices = ["web" if k % 3 else "ios" for k in range(600)]
    log = ClickLog(log_of(tmp_path / "log.jsonl", y, times, users, **{name: devices}).path, context=[name])
    found = subgroups(log, compare_log(log), name)
    assert found.frame[name].tolist() == ["web", "ios"] and found.frame["impressions"].tolist() == [400, 200]
    assert found.frame["mean"] @ found.frame["impressions"] == pytest.approx(y.sum())
    assert found.differ[0].startswith("old > new: ") and "not shown to differ (one look, p = " in found.differ[0]


def test_rare_values_of_a_column_are_one_part_and_a_column_that_is_not_there_is_refused(tmp_path):
    locale = [f"l{k}" for k in range(25) for _ in range(50 - k)]
    path = log_of(tmp_path / "log.jsonl", [1, -1] * 475, locale=locale).path
    log = ClickLog(path, context=["locale"])
    found = subgroups(log, compare_log(log), "locale")
    assert found.frame["locale"].tolist() == [*(f"l{k}" for k in range(19)), "(others: 6)"]
    assert found.frame["impressions"].tolist()[-1] == sum(50 - k for k in range(19, 25))
    for name in ("devcie", "row", "User"):
        with pytest.raises(InputError, match=f"there is no column '{name}' to slice by"):
            subgroups(log, compare_log(log), name)


def test_columns_named_as_those_of_a_log_divide_no_log(tmp_path, name="row"):
    with pytest.raises(InputError, match=f"cannot be divided by a column named '{name}'"):
        ClickLog(log_of(tmp_path / "log.jsonl", [1, -1]).path, context=[name])


def test_the_test_of_interaction_is_that_of_welch_and_seldom_finds_small_parts_that_are_the_same_to_differ():
    rng = np.random.default_rng(0)
    parts = [rng.normal(0.1 * k, 1, 40) for k in range(2)]
    error = np.array([part.std(ddof=1) for part in parts]) / 40**0.5
    means = Means(np.array([part.mean() for part in parts]), error, np.full(2, 39.0))
    assert interaction_p(means) == pytest.approx(stats.ttest_ind(*parts, equal_var=False).pvalue)
    assert np.isnan(interaction_p(means._replace(error=np.array([np.inf, 1]))))
    assert parts_that_differ(400, 20, 200) <= 200 * 0.05 + 3 * (200 * 0.05) ** 0.5


@pytest.mark.parametrize("drift", [True, False])
def test_a_novelty_that_wears_off_is_found_and_tastes_of_users_are_not_taken_for_one(tmp_path, drift):
    rng = np.random.default_rng(4)
    users, n = rng.integers(0, 60, 1200), np.arange(1200)
    mean = np.where(n < 300, 0.5, 0.0) if drift else rng.choice([-0.6, 0.6], 60)[users]
    log = log_of(tmp_path / "log.jsonl", np.where(rng.random(1200) < (1 + mean) / 2, 1, -1), n * 4 * DAY / 1200, users)
    found = subgroups(log, compare_log(log), "day")
    assert ("days differ (one look" in found.differ[0]) == drift


def test_secondary_outcomes_share_an_error_and_are_those_of_the_ranker_ahead(tmp_path):
    found = compare_log(log_of(tmp_path / "a.jsonl", [1, 1, -1, 0] * 50))
    x, y = (compare_log(log_of(tmp_path / "log.jsonl", [sign, 0] * 100)) for sign in (1, -1))
    table = secondary_outcomes(replace(found, secondary={"x": x, "y": y})).frame
    assert table["outcome"].tolist() == ["x", "y"] and table["mean"].tolist() == pytest.approx([0.5, -0.5])
    expected = compare_log(log_of(tmp_path / "x.jsonl", [1, 0] * 100), confidence=1 - 0.05 / 2)
    assert table["low"][0] == pytest.approx(expected.low[0])
