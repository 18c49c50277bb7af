"""Planned looks: their decisions on a log, and how often they are wrong."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from ltr_duel.core import InputError, statistics, stream
from ltr_duel.logs import (
    ClickLog,
    Evidence,
    Finding,
    NamedLook,
    compare_log,
    comparison_table,
    look_at_days,
    named_looks_sentence,
    named_looks_table,
    require_days,
)
from ltr_duel.logs.named_looks import looks_at_pair
from ltr_duel.logs.outcomes import UNIT
from tests.logs.drawn import false_winners_asked_hourly
from tests.logs.written import DAY, drawn, log_of


def test_a_look_that_has_been_stays_as_it_was_when_the_log_grows(tmp_path):
    y, time, user = drawn(3000, 21, 0.03)
    whole = look_at_days(log_of(tmp_path / "whole.jsonl", y, time, user), [7, 14, 21])
    n = int(np.searchsorted(time, 14 * DAY)) + 1  # with the first impression after the look
    part = look_at_days(log_of(tmp_path / "part.jsonl", y[:n], time[:n], user[:n]), [7, 14, 21])
    assert len(whole) == 3
    for now, then in zip(part, whole, strict=False):  # sums in another order differ in the last digit
        assert [*now[:4], now.winner] == [*then[:4], then.winner]
        assert now[4:9] == pytest.approx(then[4:9], rel=1e-12)
    assert [look.impressions for look in whole] == [np.searchsorted(time, d * DAY) for d in (7, 14, 21)]
    assert whole[1].mean == pytest.approx(np.mean(y[: n - 1]))


def test_a_look_is_made_once_its_day_is_reached_and_says_the_same_ever_after(tmp_path):
    """The look is computed every six hours: without an answer before the day, afterwards with the same answer."""
    y, time, user = drawn(1200, 10, 0.1)
    answers = {}
    for hours in [*range(6, 240, 6), 167.9]:
        n = int(np.searchsorted(time, hours * 3600, side="right"))
        (*look,) = look_at_days(log_of(tmp_path / "log.jsonl", y[:n], time[:n], user[:n]), [7, 14])
        answers.setdefault(time[n - 1] >= 7 * DAY, set()).add(tuple(look))
    assert answers[False] == {()} and len(answers[True]) == 1 and len(*answers[True]) == 1


@pytest.mark.parametrize("days", [[0.25], [1.0], [0.5, 1.0]])
def test_a_look_asked_for_hourly_is_wrong_in_one_experiment_of_twenty_at_most(days):
    """The rate equals that of false winners at a single look; it would be 11 % if a look could be six hours early."""
    assert false_winners_asked_hourly(days, 300) <= 300 * 0.05 + 2.5 * (300 * 0.05) ** 0.5


def test_nothing_after_the_last_look_counts(tmp_path):
    y, time, user = drawn(2000, 20)
    late = look_at_days(log_of(tmp_path / "late.jsonl", y, time, user), [5, 10])
    n = int(np.searchsorted(time, 10 * DAY)) + 1
    assert late == look_at_days(log_of(tmp_path / "log.jsonl", y[:n], time[:n], user[:n]), [5, 10])


def test_the_interval_at_a_look_leaves_out_0_just_where_the_boundary_is_crossed(tmp_path):
    found = [
        look
        for seed in range(6)
        for look in look_at_days(log_of(tmp_path / "log.jsonl", *drawn(1500, 14, 0.09, seed=seed)), [7, 14])
    ]
    crossed = [abs(look.deviations) >= look.boundary for look in found]
    assert crossed == [bool(look.winner) for look in found]
    assert all(look.deviations * look.mean >= 0 for look in found)
    assert crossed == [look.low > 0 or look.high < 0 for look in found] and 0 < sum(crossed) < len(found)


def test_the_pairs_of_three_rankers_share_the_error(tmp_path):
    path = tmp_path / "log.jsonl"
    log_of(path, *drawn(400, 7))
    rows = path.read_text().splitlines()
    path.write_text("\n".join([*rows[:-1], rows[-1].replace('"new"', '"other"')]))
    found = look_at_days(ClickLog(path), [7, 14])
    spent = statistics.spent_error(0.5, 0.05 / 3)  # error spent by the first look
    assert [look.boundary for look in found] == pytest.approx([-special.ndtri(spent / 2)] * 2, abs=1e-4)


@pytest.mark.parametrize("kind", ["independent", "returning"])
def test_identical_rankers_differ_at_one_of_four_looks_in_one_experiment_of_twenty(kind):
    """Returning users have a taste; each look spends its whole error, so the rate is not much below one in twenty."""
    experiments, users, alarms = 150, 300, 0
    spent = statistics.spent_error(np.arange(1, 5) / 4, 0.05, shape="pocock")
    for k in range(experiments):
        rng = stream(k, "looks", kind)
        taste = 0.4 * rng.choice([-1, 1], users) if kind == "returning" else np.zeros(users)
        y = np.array([rng.binomial(3, (1 + taste) / 2) * 2 - 3 for _ in range(4)])  # three impressions until each look
        if kind == "independent":
            y = np.where(np.arange(users) // 75 == np.arange(4)[:, None], y, 0)
        n = np.where(y != 0, 3, 0)
        columns = {f"n{j}": n[: j + 1].sum(axis=0) for j in range(4)}
        columns |= {f"total{j}": y[: j + 1].sum(axis=0) * UNIT for j in range(4)}
        columns |= {f"square{j}": columns[f"n{j}"] * UNIT for j in range(4)}
        looks = looks_at_pair(columns | {"clusters": np.ones(users, np.int64)}, ("a", "b"), [1, 2, 3, 4], spent)
        alarms += any(look.winner for look in looks)
    assert 0.01 < alarms / experiments < 0.05 + 3 * np.sqrt(0.05 * 0.95 / experiments)


@pytest.mark.parametrize(
    ("days", "settings", "says"),
    [
        ([], {}, "days of looks must be above 0 and increasing"),
        ([7, 7], {}, "days of looks must be above 0 and increasing, not '7, 7'"),
        ([0, 7], {}, "days of looks must be above 0"),
        ([7, np.nan], {}, "days of looks must be above 0 and increasing"),
        ([7, 19.5, 28], {}, r"day 19.5 is not: choose day 14 or 21, or give --any-time$"),
        ([7], {"cluster": "both"}, "clustered by user, query or impression, not 'both'"),
        ([7], {"confidence": 1.0}, "the confidence"),
    ],
)
def test_looks_that_cannot_be_are_refused(tmp_path, days, settings, says):
    with pytest.raises(InputError, match=says):
        look_at_days(log_of(tmp_path / "log.jsonl", [1, -1], [0, 1], [1, 2]), days, **settings)


@pytest.mark.parametrize("days", [[1, 2.5, 10, 13.9], [14, 20.5, 28], [13, 15, 29]])
def test_looks_before_two_weeks_or_within_a_day_of_a_week_are_taken(days):
    require_days(days, any_time=False)
    require_days([7, 17, 31.5], any_time=True)


def test_looks_that_are_over_without_a_winner_are_named(tmp_path):
    found = look_at_days(log_of(tmp_path / "log.jsonl", *drawn(300, 15)), [7, 14])
    assert (
        named_looks_sentence(found, [7, 14], ["old", "new"]) == "the looks at days 7, 14 are over, and no ranker wins."
    )
    assert named_looks_sentence([], [7, 14], ["old", "new"]).startswith("go on until the look at day 7, which is made")


def turned(folder):
    """Write a log in which new wins for a week, and old for the rest of four."""
    y, time, user = drawn(4000, 28, -0.35)
    y = [one if t < 7 * DAY else -one for one, t in zip(y, time, strict=True)]
    return log_of(folder / "log.jsonl", y, time, user)


def test_a_later_look_that_contradicts_the_deciding_one_is_named_with_its_numbers(tmp_path):
    log = turned(tmp_path)
    found = look_at_days(log, [7, 28])
    assert [one.winner for one in found] == ["new", "old"]  # each look by itself
    assert found[0].deviations < -found[0].boundary and found[1].deviations > found[1].boundary
    assert named_looks_sentence(found, [7, 28], ["old", "new"]) == (
        "stop: new wins, by the look at day 7 of looks at days 7, 28. A later look contradicts it: at day 28 the mean"
        f" outcome of new against old is {-found[1].mean:+.4f} ({-found[1].deviations:+.2f} deviations, boundary"
        f" {found[1].boundary:.2f})."
    )
    weak = [found[0], found[1]._replace(winner="")]
    assert "A later look does not confirm it: at day 28" in named_looks_sentence(weak, [7, 28], ["old", "new"])
    table = named_looks_table(found)
    assert table["verdict"].tolist() == ["new wins", "decided at day 7"]
    assert table["pair"].tolist() == ["old against new"] * 2  # equal to the table of the comparison and its note
    assert [word[0] for word in table["deviations"]] == ["-", "+"]
    found = compare_log(log, bootstrap=0)
    assert comparison_table(Evidence(found, 0.95))["pair"].tolist() == ["old > new"]
    assert any(note.startswith("old against new: the mean outcome of the first") for note in found.warnings)


def test_a_failed_check_comes_before_the_winner_of_a_look():
    look = NamedLook("old", "new", 7.0, 900, -0.3, -0.4, -0.2, -9.1, 3.7, "new")
    failed = [Finding("robots", "sound", 0.0, ""), Finding("pairs shown", "fails", 0.0, "")]
    assert named_looks_sentence([look], [7, 14], ["old", "new"], failed) == (
        "no decision: 1 check of the experiment fails (pairs shown). The outcomes alone: stop: new wins,"
        " by the look at day 7 of looks at days 7, 14."
    )
    assert named_looks_table([look], failed)["verdict"].tolist() == ["no decision"]


def test_a_pair_that_looks_never_saw_is_named():
    look = NamedLook("a", "b", 7.0, 900, -0.3, -0.4, -0.2, -9.1, 3.7, "b")
    assert named_looks_sentence([look], [7], ["a", "b", "c"]).endswith(
        "no ranker wins against all others. 2 pairs have no impression that counts (a and c, b and c), so they"
        " cannot be compared."
    )
