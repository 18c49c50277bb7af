"""Parts of a log by day, user and column, and secondary outcomes in addition to the primary outcome."""

from __future__ import annotations

import inspect
import json

import ibis
import numpy as np
import pytest
from scipy import stats

from ltr_duel.core import InputError
from ltr_duel.logs import ClickLog, beside_table, check_log, compare_log, engine, secondary, sliced, usual_parts
from ltr_duel.logs.picture import plot_parts
from ltr_duel.logs.slices import interaction_p
from tests.logs.drawn import parts_that_differ

DAY = 86_400
START = 20_000 * DAY + 6 * 3600  # 2024-10-04, six in the morning


def written(path, y, users, times, **more):
    """Write a log of the given outcomes of A against B, in the order of time."""
    clicks = {1: [1], -1: [2], 0: []}
    rows = []
    for k in np.argsort(times, kind="stable"):
        row = {"impression": int(k), "time": START + float(times[k]), "query": "q", "user": f"u{users[k]}"}
        row |= {"shown": ["x", "y"], "clicks": clicks[int(y[k])], "rankers": ["A", "B"], "owners": [0, 1]}
        rows.append(json.dumps(row | {name: values[k] for name, values in more.items()}))
    path.write_text("\n".join(rows))
    return ClickLog(path)


def drawn(seed=0, n=600, users=100, days=4):
    """Return outcomes, users and times."""
    rng = np.random.default_rng(seed)
    return rng.choice([-1, 0, 1], n, p=[0.3, 0.2, 0.5]), rng.integers(0, users, n), rng.random(n) * days * DAY


def test_a_log_of_the_form_of_the_one_before_has_its_queries(tmp_path, monkeypatch):
    """Ibis takes longer to compile a query than a small log takes to run it, so compiled queries are reused."""
    written_anew, to_sql = [], ibis.to_sql

    def counted(*given, **settings):
        written_anew.append(given)
        return to_sql(*given, **settings)

    monkeypatch.setattr(ibis, "to_sql", counted)
    engine._sql.cache_clear()
    asked, found = [], []
    for seed in range(3):
        found.append(compare_log(written(tmp_path / f"{seed}.jsonl", *drawn(seed), lane=["a"] * 600)).means.mean[0])
        asked.append(len(written_anew))
    compare_log(ClickLog(tmp_path / "0.jsonl", context=["lane"]), cluster="query")
    assert asked[0] == asked[1] == asked[2] < len(written_anew) and len(set(found)) == 3


def test_each_day_is_the_comparison_of_its_impressions_alone(tmp_path):
    y, users, times = drawn()
    log = written(tmp_path / "all.jsonl", y, users, times)
    table = sliced(log, compare_log(log), "day").frame
    assert table["day"].tolist() == [
        f"2024-10-{day:02d}" for day in range(4, 9)
    ]  # four days from six o'clock touch five calendar days
    assert table["impressions"].sum() == 600 and set(table["first"]) == {"A"}
    assert table["mean"] @ table["impressions"] == pytest.approx(y.sum())
    date = (6 * 3600 + times) // DAY
    for day in range(5):
        here = date == day
        alone = written(tmp_path / "day.jsonl", y[here], users[here], times[here])
        found = compare_log(alone, confidence=1 - 0.05 / 5)  # the five intervals hold together
        row = table.iloc[day]
        assert (row["low"], row["high"]) == pytest.approx((found.low[0], found.high[0]))
        assert row["users"] == len(set(users[here]))
        assert row["first seen"] == len(set(users[here]) - set(users[date < day]))


def test_weeks_count_from_the_first_day_and_the_last_is_named_by_its_end(tmp_path):
    y, users, times = drawn(days=16)
    log = written(tmp_path / "log.jsonl", y, users, times)
    table = sliced(log, compare_log(log), "week").frame
    assert table["week"].tolist() == ["2024-10-04 to 10-10", "2024-10-11 to 10-17", "2024-10-18 to 10-20"]
    assert usual_parts(0, 12 * DAY) == ["day", "new", "heavy"] and "week" in usual_parts(0, 14 * DAY)
    assert "day" not in usual_parts(0, 70 * DAY)


def test_a_user_is_new_for_a_day_and_returning_later(tmp_path):
    times = np.array([0, 0.5, 2, 2.5, 1.2]) * DAY
    log = written(tmp_path / "log.jsonl", [1, 1, -1, 1, 0], [1, 1, 1, 2, 1], times)
    table = sliced(log, compare_log(log), "new").frame
    assert table[["new", "impressions", "mean"]].to_numpy().tolist() == [["first 24 hours", 3, 1.0], ["later", 2, -0.5]]
    assert sliced(written(tmp_path / "short.jsonl", [1, 0], [1, 2], [0, 5]), compare_log(log), "new") is None


def test_users_who_come_most_have_half_of_the_impressions(tmp_path):
    users = np.repeat([0, 1, 2, 3, 4, 5], [6, 4, 2, 1, 1, 1])  # 10 of 15 impressions are those of two users
    y = np.where(users < 2, 1, -1)
    log = written(tmp_path / "log.jsonl", y, users, np.arange(15))
    table = sliced(log, compare_log(log), "heavy").frame
    assert table["heavy"].tolist() == ["4 or more times (2 users)", "less often (4 users)"]
    assert table["impressions"].tolist() == [10, 5] and table["mean"].tolist() == [1, -1]


def test_a_column_that_is_not_there_is_refused(tmp_path):
    log = written(tmp_path / "log.jsonl", [1, 0], [1, 2], [0, 5])
    with pytest.raises(InputError, match="there is no column 'device' to slice by"):
        sliced(log, compare_log(log), "device")


def test_parts_of_an_adaptive_log_have_intervals_of_the_sequence_and_no_test_of_interaction(tmp_path):
    y, users, times = drawn()
    plain = written(tmp_path / "plain.jsonl", y, users, times)
    log = written(tmp_path / "log.jsonl", y, users, times, policy=["rucb"] * 600)
    before, found = (sliced(one, compare_log(one), "day") for one in (plain, log))
    assert before.differ and not found.differ
    assert (before.of, found.of) == ("", "first impressions"), "and the head of the column says so"
    assert "mean, first impressions" in beside_table(found) and "mean" in beside_table(before)
    width = [table["high"] - table["low"] for table in (before.frame, found.frame)]
    assert (width[1] > width[0]).all()


def test_intervals_of_all_looks_are_wider_than_those_of_one(tmp_path):
    log = written(tmp_path / "log.jsonl", *drawn())
    once, always = (sliced(log, compare_log(log), "new", any_time=given).frame for given in (False, True))
    assert (always["high"] - always["low"] > once["high"] - once["low"]).all()


@pytest.mark.parametrize(("by", "any_time", "said"), [("day", True, 1), ("day", False, 0), ("new", True, 0)])
def test_days_say_that_they_hold_for_one_look_beside_a_test_at_any_time(tmp_path, by, any_time, said):
    log = written(tmp_path / "log.jsonl", *drawn())
    notes = sliced(log, compare_log(log), by, any_time=any_time).notes
    assert notes.count("intervals and p of days hold for one look only, even with --stop-at") == said


def test_the_test_of_interaction_is_that_of_welch_where_parts_share_no_user():
    rng = np.random.default_rng(1)
    samples = [rng.normal(0.1 * k, 1 + k, 20 + 9 * k) for k in range(4)]
    mean = np.array([one.mean() for one in samples])
    error = np.array([one.std(ddof=1) / np.sqrt(len(one)) for one in samples])
    freedom = np.array([len(one) - 1.0 for one in samples])
    if "equal_var" not in inspect.signature(stats.f_oneway).parameters:
        pytest.skip("scipy has Welch's test for several samples from 1.15 on")
    expected = stats.f_oneway(*samples, equal_var=False).pvalue
    assert interaction_p(mean, error, freedom, np.eye(4), 1e12) == pytest.approx(expected)


def test_many_small_parts_that_are_the_same_seldom_differ():
    """Regression: means omitted the two added outcomes, but errors included them: parts differed in 11 of 100 logs."""
    assert parts_that_differ(400, 20, 300) <= 300 * 0.05 + 2 * (300 * 0.05 * 0.95) ** 0.5


def test_parts_with_the_same_users_differ_by_what_they_do_not_have_in_common():
    """The difference of two means with correlation r has variance 2 (1 - r)."""
    mean, error, freedom = np.array([0.0, 0.05]), np.array([0.02, 0.02]), np.array([1e6, 1e6])
    for r in (0.0, 0.5, 0.9):
        z = 0.05 / (0.02 * np.sqrt(2 * (1 - r)))
        found = interaction_p(mean, error, freedom, np.array([[1, r], [r, 1]]), 1e6)
        assert found == pytest.approx(2 * stats.norm.sf(z), rel=1e-3)
    assert np.isnan(interaction_p(mean, error, np.array([4.0, 1e6]), np.eye(2), 1e6))


def noted(path, y, users, times, by="new"):
    """Return the p-value of the note."""
    log = written(path, y, users, times)
    (note,) = sliced(log, compare_log(log, looks=False), by).differ
    return float(note.rpartition("p = ")[2].rstrip(")")), note


def test_a_novelty_that_wears_off_is_found_and_tastes_of_users_are_not_taken_for_one(tmp_path):
    """200 users come three times on each of two days; a taste that is equal on both days decides most outcomes."""
    rng = np.random.default_rng(3)
    users, day = np.repeat(np.arange(200), 6), np.tile(np.repeat([0, 1.5], 3), 200)
    taste = rng.choice([-0.6, 0.6], 200)[users]
    times = day * DAY + rng.random(1200) * 3600
    steady = np.where(rng.random(1200) < (1 + taste) / 2, 1, -1)
    p, note = noted(tmp_path / "steady.jsonl", steady, users, times)
    assert p > 0.05 and note.startswith(
        "A > B: users' first 24 hours and later times are not shown to differ (one look, p = "
    )
    worn = np.where(rng.random(1200) < (1 + taste + np.where(day == 0, 0.25, 0.0)) / 2, 1, -1)
    p, note = noted(tmp_path / "worn.jsonl", worn, users, times)
    assert p < 0.001 and note.startswith("A > B: users' first 24 hours and later times differ")


def test_the_test_of_interaction_is_that_of_hotelling_where_each_user_is_in_all_parts():
    y = np.random.default_rng(2).normal([0.0, 0.3, 0.6], size=(20, 3))
    apart = y[:, 1:] - y[:, :1]
    square = 20 * apart.mean(axis=0) @ np.linalg.solve(np.cov(apart.T), apart.mean(axis=0))
    expected = stats.f.sf(square * 18 / (19 * 2), 2, 18)
    error = y.std(axis=0, ddof=1) / np.sqrt(20)
    assert interaction_p(y.mean(axis=0), error, np.full(3, 19.0), np.corrcoef(y.T), 19) == pytest.approx(expected)


def test_equal_parts_of_returning_users_differ_in_one_log_of_twenty():
    """1,000 experiments of 60 users in three parts; taste makes half of an outcome, and two errors are 1.4 %."""
    rng = np.random.default_rng(4)
    alarms = 0
    for _ in range(1000):
        y = rng.normal(size=(60, 1)) + rng.normal(size=(60, 3))
        error = y.std(axis=0, ddof=1) / np.sqrt(60)
        alarms += interaction_p(y.mean(axis=0), error, np.full(3, 59.0), np.corrcoef(y.T), 59) < 0.05
    assert 30 <= alarms <= 70


def test_secondary_outcomes_share_an_error_and_are_those_of_the_ranker_ahead(tmp_path):
    rng = np.random.default_rng(5)
    y = rng.choice([-1, 0, 1], 300, p=[0.2, 0.2, 0.6])
    users, times = np.arange(300), np.arange(300)
    found = compare_log(written(tmp_path / "primary.jsonl", -y, users, times))  # B is ahead
    one, two = (written(tmp_path / f"{k}.jsonl", values, users, times) for k, values in enumerate((y, -y)))
    table = secondary(found, {"carts": compare_log(one), "orders": compare_log(two)}).frame
    assert table["outcome"].tolist() == ["carts", "orders"] and set(table["first"]) == {"B"}
    assert table["mean"].tolist() == pytest.approx([-y.mean(), y.mean()])
    half = compare_log(two, confidence=1 - 0.05 / 2)
    assert (table["low"][1], table["high"][1]) == pytest.approx((-half.high[0], -half.low[0]))


@pytest.fixture
def two_experiments(tmp_path):
    """Return the log of a folder with two experiments: B against C on two days, then, clearer, A against B."""
    y = np.concatenate([np.tile([1, -1, 0], 100), np.tile([1, 1, 0], 100)])
    times = np.concatenate([np.linspace(0, 2 * DAY, 300), np.linspace(9 * DAY, 11 * DAY, 300)])
    rankers = [["B", "C"]] * 300 + [["A", "B"]] * 300
    users = np.concatenate([np.arange(300), 300 + np.arange(300) % 40])  # 300 users who come once, 40 who return
    return written(tmp_path / "two.jsonl", y, users, times, rankers=rankers)


@pytest.mark.filterwarnings("error")  # a pair without an impression in a part made numpy warn
@pytest.mark.parametrize("by", ["day", "heavy", "new"])
def test_pairs_that_were_not_met_in_some_parts_are_compared_in_the_others(two_experiments, by):
    found = compare_log(two_experiments)
    table = sliced(two_experiments, found, by, any_time=True).frame
    assert table["impressions"].sum() == 600 and (table["impressions"] > 0).all()
    assert found.names == ("B", "C", "A") and found.p[0] > found.p[1], "the clearest pair is that of the later days"


def test_days_are_drawn_in_the_order_of_time(two_experiments):
    days = sliced(two_experiments, compare_log(two_experiments), "day")
    drawn = [label.get_text() for label in plot_parts(days).get_xticklabels()]
    assert drawn == sorted(drawn) and len(drawn) == 6


def test_rows_that_are_not_shown_are_counted_and_tests_are_those_of_the_pairs_in_the_table(two_experiments):
    days = sliced(two_experiments, compare_log(two_experiments), "day", any_time=True)
    rest, once, differ = days.lines(1)
    assert rest == "3 of 6 rows are shown; intervals and p are corrected for all 6" and "one look only" in once
    assert len(beside_table(days, 1)) == 3 and differ.startswith(beside_table(days, 1)["pair"].iloc[0] + ": ")
    assert days.lines(2) == [*days.notes, *days.differ] and len(days.differ) == 2
    assert len(plot_parts(days, pairs=1).get_legend_handles_labels()[0]) == 1


def test_a_folder_of_two_experiments_is_said_to_be_two(two_experiments, tmp_path):
    """If sets of rankers change in frequency but occur before and after, the log is one experiment."""
    said = "use a separate folder for each experiment"
    (pairs,) = (one for one in check_log(two_experiments) if one.name == "pairs over time")
    assert pairs.verdict == "fails" and said in pairs.sentence
    rankers = [["A", "B"], ["B", "C"], ["A", "B"]] * 100 + [["B", "C"]] * 299 + [["A", "B"]]
    changing = written(tmp_path / "one.jsonl", [1] * 600, np.arange(600), np.arange(600) * 60.0, rankers=rankers)
    (pairs,) = (one for one in check_log(changing) if one.name == "pairs over time")
    assert pairs.verdict == "fails" and said not in pairs.sentence
