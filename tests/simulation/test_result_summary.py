"""Summaries and means: the numbers of a table of repetitions, each against arithmetic or scipy."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from ltr_duel.analysis.tables import latex_table, summary_table
from ltr_duel.core import InputError
from ltr_duel.core.statistics import bootstrap_interval
from ltr_duel.simulation import averaged, comparable_rows, simulate, summarise, with_correct
from tests.conftest import bradley_terry, coins

GOOD = np.array([1.0, 2.0, 3.0, 4.0, 7.0, 5.0])
POOR = np.array([2.0, 2.5, 2.9, 6.0, 9.5, 8.0])


def frame_of(**policies):
    rows = [
        {"policy": name, "repetition": r, "t": t, "regret_average": value * t / 10}
        for name, values in policies.items()
        for r, value in enumerate(values)
        for t in (1, 10)
    ]
    return pd.DataFrame(rows)


def test_a_summary_is_of_the_last_step_and_has_paired_tests():
    table = summarise(frame_of(poor=POOR, good=GOOD)).set_index("policy")
    poor, good = table.loc["poor"], table.loc["good"]
    assert poor["mean"] == pytest.approx(POOR.mean()) and poor["sd"] == pytest.approx(POOR.std(ddof=1))
    assert poor["se"] == pytest.approx(POOR.std(ddof=1) / np.sqrt(6)) and poor["runs"] == 6
    assert good["median"] == 3.5 and good["q90"] == pytest.approx(np.quantile(GOOD, 0.9))
    difference = POOR - GOOD
    assert poor["difference"] == pytest.approx(difference.mean())
    assert poor["effect"] == pytest.approx(difference.mean() / difference.std(ddof=1))
    assert poor["probability"] == pytest.approx(5 / 6)
    assert poor["p_t"] == 4 / 2**6 > stats.ttest_rel(POOR, GOOD).pvalue  # 1 + .5 - .1 + 2 + 2.5 + 3, or all of one sign
    assert poor["p_wilcoxon"] == pytest.approx(stats.wilcoxon(POOR, GOOD).pvalue)
    assert np.isnan(good["p_t"]) and np.isnan(good["difference"])


def test_the_tests_against_the_best_policy_are_corrected_for_the_number_of_all_pairs():
    table = summarise(frame_of(a=GOOD, b=POOR, c=POOR + 1)).set_index("policy")
    assert table.loc["c", "p_t"] == pytest.approx(3 * 2 / 2**6)  # six differences of one sign: the least of 3 p-values
    assert table.loc["b", "p_t"] == pytest.approx(2 * 4 / 2**6)  # as above; the second smallest


def test_ten_equal_policies_differ_from_the_best_of_them_in_one_study_of_twenty_at_most():
    rng, least = np.random.default_rng(0), []
    for _ in range(30):
        table = summarise(frame_of(**{f"p{k}": values for k, values in enumerate(rng.gamma(4, 1, (10, 12)))}))
        least.append(table[["p_wilcoxon", "p_t"]].min())
    assert (np.array(least) < 0.05).mean(axis=0).max() <= 0.05 + 2 * (0.05 * 0.95 / 30) ** 0.5


def test_equal_policies_do_not_differ_and_one_run_tests_nothing():
    same = summarise(frame_of(a=GOOD, b=GOOD)).set_index("policy").loc["b"]
    assert (same["p_wilcoxon"], same["p_t"], same["effect"], same["probability"]) == (1.0, 1.0, 0.0, 0.5)
    single = summarise(frame_of(a=GOOD[:1], b=POOR[:1]))
    assert single["p_t"].isna().all() and single["sd"].isna().all()
    with pytest.raises(InputError, match="no column 'regret_avg'"):
        summarise(frame_of(a=GOOD), "regret_avg")


def test_the_interval_of_few_runs_is_student_s_and_that_of_resamples_is_as_wide():
    expected = stats.t.interval(0.95, 5, GOOD.mean(), stats.sem(GOOD))
    # resampled means of n values have their spread times sqrt((n - 1) / n), so normal samples must give Student's ends
    levels = np.linspace(0, 1, 200_001)[1:-1]
    resamples = stats.norm.ppf(levels, GOOD.mean(), stats.sem(GOOD) * np.sqrt(5 / 6))
    assert bootstrap_interval(resamples, units=6) == pytest.approx(expected, abs=1e-3)


def test_results_summary_is_that_of_their_frame():
    results = simulate(coins(bradley_terry(4)), ["rucb", "mdb"], horizon=500, repetitions=5)
    table, shares = results.summary(), results.final()["accuracy"].tolist()
    assert list(table["policy"]) == ["rucb", "mdb"] and table["p_wilcoxon"].notna().sum() == 1
    assert table["accuracy"].tolist() == shares and max(shares) > 0
    assert summary_table(table)["runs that name the winner"].tolist() == [f"{share:.0%}" for share in shares]


def test_latex_escapes_and_aligns():
    table = summary_table(summarise(frame_of(a_b=GOOD, c=POOR)))
    text = latex_table(table, caption="50 % of it", label="tab:x")
    assert r"a\_b & 3.7 $\pm$ 2.2 & 3.5" in text and r"\caption{50 \% of it}" in text and r"\label{tab:x}" in text
    assert latex_table(table, notes=["P > 0.9\nin 5 %"]).startswith("% P > 0.9 in 5 %\n\\begin{tabular}")
    assert text.startswith("\\begin{table}") and "\\begin{tabular}{lrrrr}" in text


def test_a_recommendation_is_correct_if_it_is_the_condorcet_winner():
    frame = pd.DataFrame({"recommended": ["a", "b"]})
    assert with_correct(frame, "a")["correct"].tolist() == [1, 0]
    assert with_correct(frame, None)["correct"].isna().all()


def test_of_a_policy_with_two_horizons_only_the_ends_are_comparable():
    rows = [("random", 10, 1), ("random", 10, 10), ("random", 100, 10), ("random", 100, 100), ("rucb", 100, 10)]
    frame = comparable_rows(pd.DataFrame(rows, columns=["policy", "horizon", "t"]))
    assert frame["t"].tolist() == [10, 100, 10]
    assert frame["separate"].tolist() == [True, True, False]


def test_of_a_policy_that_uses_its_horizon_only_the_end_is_comparable():
    rows = [(policy, t) for policy in ("savage:delta=0.1", "mine") for t in (1, 5, 10)]
    kept = comparable_rows(pd.DataFrame(rows, columns=["policy", "t"]))
    assert kept["t"].tolist() == [10, 1, 5, 10]


def test_groups_have_all_keys_in_the_order_of_appearance_and_are_sorted_by_the_last():
    rows = [("b", "x", 2, 1.0), ("b", "x", 1, 3.0), ("a", "y", 1, 5.0), ("a", "y", 1, 7.0), ("a", "x", 1, 9.0)]
    frame = pd.DataFrame(rows, columns=["problem", "policy", "t", "r"])
    table = averaged(frame, ["problem", "policy", "t"], "r", "none")
    assert table[["problem", "policy", "t", "mean", "runs"]].to_numpy().tolist() == [
        ["b", "x", 1, 3.0, 1], ["b", "x", 2, 1.0, 1], ["a", "y", 1, 6.0, 2], ["a", "x", 1, 9.0, 1],
    ]  # fmt: skip


@pytest.mark.parametrize(("spread", "ends"), [("quantiles", (1, 9)), ("sd", (5 - 11**0.5, 5 + 11**0.5))])
def test_the_spread_of_eleven_runs(spread, ends):
    frame = pd.DataFrame({"policy": "rucb", "t": 5, "regret": np.arange(11.0)})  # variance 110 / 10
    (row,) = averaged(frame, ["policy", "t"], "regret", spread).itertuples()
    assert (row.runs, row.mean, row.low, row.high) == pytest.approx((11, 5, *ends))
