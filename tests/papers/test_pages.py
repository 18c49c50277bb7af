"""The report of a reproduction is complete, escaped, self-contained, and readable at any width."""

from __future__ import annotations

import base64
import io
import re

import numpy as np
import pandas as pd
import pytest

from ltr_duel.analysis.html import render_page
from ltr_duel.analysis.report import save_study
from ltr_duel.papers.figures import DRAWINGS
from ltr_duel.papers.pages import Reproduced, reproduction_page, state_of_the_art_markdown
from ltr_duel.papers.pages import state_of_the_art as page_of_standings
from ltr_duel.papers.pages.reproduction import MOST_ROWS, data_csv
from ltr_duel.simulation.run import simulate
from tests.conftest import bradley_terry, coins
from tests.papers.browser import look_at
from tests.papers.synthetic_tables import about, runs

NASTY = '<img src=https://example.com/x.png onerror=alert(1)> & "quotes" \''


def png(frame) -> bytes:
    data = io.BytesIO()
    DRAWINGS["regret"](frame, about()).savefig(data, format="png")
    return data.getvalue()


def figure(name="rucb_figure_4", frame=None, **described) -> Reproduced:
    said = about(name=name)
    said["figure"] |= described
    frame = runs() if frame is None else frame
    return Reproduced(said, frame, png(frame))


def ledger(**more) -> pd.DataFrame:
    claim = {
        "claim": "rucb-less", "paper": "rucb", "where": "Section 5", "says": "RUCB pays less.",
        "figure": "rucb_figure_4", "measure": "ratio of final regret", "measured": 5.25, "low": 4.5, "high": 6.0,
        "criterion": "at least 5", "verdict": "holds", "panels": "", "reason": "", "source": "surrogate",
        "scale": "quick", **more,
    }  # fmt: skip
    nothing = {"measured": None, "low": None}
    lost = {**claim, "claim": "x", "says": "RUCB pays little.", "verdict": "does not hold", **nothing}
    both = {"says": "RUCB is even better.", "figure": "rucb_figure_4, state_of_the_art", "verdict": "needs data"}
    elsewhere = {"says": "RUCB is elsewhere.", "figure": "elsewhere", "verdict": "not made"}
    return pd.DataFrame([claim, lost, {**claim, **both}, {**claim, **elsewhere}])


@pytest.fixture(scope="module")
def report() -> str:
    later = figure("state_of_the_art", runs(lower_bound=8.0), paper="state_of_the_art", number="State of the art")
    return reproduction_page([figure(), later], ledger(), title="The papers, reproduced")


def test_a_figure_stands_with_all_that_is_known_of_it(report):
    for words in (
        "RUCB (Zoghi et al. 2014)", "Figure 4: Regret and accuracy", "RUCB pays least.", "Three sets of rankers.",
        "A note.", "surrogate: a synthetic corpus in place of NP2004", "quick, 30 runs", "100,000 steps", "in 12 s",
        "a machine", "2026-01-02",
    ):  # fmt: skip
        assert words in report


def test_the_ledger_has_words_colours_intervals_and_links(report):
    assert '<span class="verdict holds">holds</span>' in report
    assert '<span class="verdict does-not-hold">does not hold</span>' in report
    assert "5.25 [4.5, 6]" in report and "3 claims, 2 judged: holds 1, does not hold 1, needs data 1." in report
    assert '<a href="#figure-state_of_the_art">state_of_the_art</a>' in report
    assert "About figures that were not made: 1." in report and "RUCB is elsewhere." not in report


def test_a_picture_comes_first_and_its_claims_beneath(report):
    """Each claim appears once, below the first of its figures."""
    own = report[report.index('id="figure-rucb_figure_4"') :]
    later = own.index('id="figure-state_of_the_art"')
    assert own.index("<img") < own.index("RUCB pays less.") < own.index("Three sets of rankers.") < later
    assert report.count("RUCB pays less.") == 1 and report.count("<b>5.25 [4.5, 6]</b>") == 2
    assert own.index("RUCB is even better.") < later, "a claim about two figures"


def test_the_page_asks_nobody_for_anything(report):
    assert "default-src 'none'" in report and "<script" not in report
    targets = re.findall(r'(?:src|href|action|data)="([^"]*)"', report)
    assert targets and all(one.startswith(("data:", "#")) for one in targets)


def test_names_are_escaped():
    named = figure(NASTY, title=NASTY, shows=NASTY, setting=NASTY, notes=[NASTY], paper=NASTY, number=NASTY)
    named.about["sources"].append({"problem": NASTY, "source": NASTY, "note": NASTY})
    text = reproduction_page([named], ledger(says=NASTY, where=NASTY, figure=NASTY), title=NASTY)
    assert "<img src=https" not in text and text.count("<img") == 1
    standings = figure("x", runs([(NASTY, 4), ("b", 5)], (NASTY, "mdb")), paper="state_of_the_art")
    assert "<img src=https" not in reproduction_page([standings], ledger(), title="t")


def test_the_data_of_a_figure_are_its_means():
    frame = runs(separate=("savage",))
    text, words = data_csv(frame, about())
    table = pd.read_csv(io.BytesIO(text))
    assert words == "mean and spread"
    told = table[(table["problem"] == "sixteen") & (table["policy"] == "savage")]
    ends = [[1000, 1000], [10_000, 10_000], [100_000, 100_000]]
    assert told[["t", "horizon"]].to_numpy().tolist() == ends, "not what a longer run paid on the way"
    row = told[told["t"] == 10_000]
    mine = frame[(frame["problem"] == "sixteen") & (frame["policy"] == "savage")]
    ends = mine.loc[(mine["t"] == 10_000) & (mine["horizon"] == 10_000), "regret_average"]
    assert row["regret_average"].item() == pytest.approx(ends.mean(), rel=1e-5)
    assert row["sd"].item() == pytest.approx(ends.std(), rel=1e-5)
    assert row["low"].item() == pytest.approx(ends.min(), rel=1e-5) and row["runs"].item() == 5


def test_large_data_are_thinned_and_keep_the_end():
    frame = runs([(f"problem {k}", 6) for k in range(40)], runs=2)
    text, words = data_csv(frame, about())
    table = pd.read_csv(io.BytesIO(text))
    assert len(table) <= MOST_ROWS and "every" in words
    assert (table.groupby(["problem", "policy"])["t"].max() == 100_000).all()


def test_a_column_that_some_problems_lack_loses_no_problem():
    frame = pd.concat([runs([("clicked", 4)], clicks="navigational"), runs([("made", 5)])])
    table = pd.read_csv(io.BytesIO(data_csv(frame, about())[0]))
    assert set(table["problem"]) == {"clicked", "made"} and table["accuracy"].notna().all()


def test_the_saved_file_is_on_the_page(report):
    saved = re.search(r'download="rucb_figure_4.csv" href="data:text/csv;base64,([^"]*)"', report)
    assert base64.b64decode(saved.group(1)) == data_csv(runs(), about())[0]


def comparison(frame, column="regret_average", **more) -> str:
    said = about(name="real_corpora", **more)
    said["figure"] |= {"options": {"column": column}}
    return state_of_the_art_markdown(frame, said, "Scale: paper.")


def test_sentences_follow_the_numbers():
    frame = runs(policies=("rmed1", "rucb"), runs=12, problems=[("sixteen", 16)])
    told = frame["regret_average"] * (1 + 9 * (frame["policy"] == "rucb"))
    assert "- sixteen (K = 16, pairs): rmed1 has the lowest mean;" in comparison(frame.assign(regret_average=told))
    turned = frame["regret_average"] * (1 + 9 * (frame["policy"] == "rmed1"))
    assert "- sixteen (K = 16, pairs): rucb has the lowest mean;" in comparison(frame.assign(regret_average=turned))


def test_a_lower_median_than_that_of_the_best_mean_is_named():
    frame = runs(policies=("rmed1", "rucb"), runs=40, problems=[("sixteen", 16)])
    steady, lucky = frame["policy"] == "rmed1", (frame["policy"] == "rucb") & (frame["repetition"] < 25)
    page = comparison(frame.assign(regret_average=np.select([steady, lucky], [100.0, 50.0], 9000.0)))
    assert "rmed1 has the lowest mean; with 95 % confidence every" in page
    assert "as high; rucb has the lowest median." in page
    assert "has the lowest median" not in comparison(frame.assign(regret_average=np.where(steady, 100.0, 900.0)))


def test_a_page_names_its_regret_setting_notes_and_what_it_is_measured_against():
    told = {"sixteen": {"text": "Preferences: 4,000 comparisons. Probability of being the true winner: 7, P = 0.471."}}
    frame = runs(problems=[("sixteen", 16)], lower_bound=8.0, regret_ndcg=3.0)
    page = comparison(frame, "regret_ndcg", references=told)
    for words in (
        "NDCG regret at the horizon",
        "Setting: Three sets of rankers. Scale quick: 100,000 steps, 5 runs of each policy on each problem.",
        "- A note.",
        "P = 0.471.",
        "Scale: paper.",
    ):
        assert words in page
    assert "× bound" not in page and "Average regret" not in page
    assert "| × bound |" in comparison(frame) and "Average regret at the horizon" in comparison(frame)


def test_the_error_of_the_reference_stands_beside_each_mean_of_average_regret():
    frame = runs(policies=("rmed1", "rucb"), problems=[("sixteen", 16)], regret_ndcg=3.0, reference_error=12.0)
    known = frame.assign(reference_error=np.where(frame["policy"] == "rucb", 12.0, 0.0))
    page = comparison(known)
    assert (
        "| ± reference |" in page
        and page.count("| ± 12 |") == 1
        and "± reference: an upper limit on how far the mean of a policy moves" in page
    )
    assert "± reference" not in comparison(known, "regret_ndcg"), "it needs no estimate"
    assert "± reference" not in comparison(frame.assign(reference_error=0.0)), "the matrix is exact"


def test_policies_that_know_the_horizon_or_were_made_for_another_regret_are_marked():
    page = comparison(runs(policies=("savage", "winner_stays", "rucb")))
    assert "savage (knows T) |" in page and "winner_stays (for weak regret) |" in page and "rucb |" in page


@pytest.mark.parametrize("sign, spread", [("≈ ", 0.02), ("? ", 1.5)])
def test_about_equal_is_said_only_with_a_bound_on_the_ratio(sign, spread):
    frame = runs(policies=("rmed1", "rucb"), runs=20, problems=[("sixteen", 16)])
    paid = 100 * np.exp(spread * np.random.default_rng(3).standard_normal(len(frame)))
    page = comparison(frame.assign(regret_average=paid))
    second = page[page.index("| 1.00 to ") :].splitlines()[1]
    assert second.startswith((f"| {sign}rmed1 |", f"| {sign}rucb |"))
    high = float(re.search(r"1.00 to ([\d,.]+)", second)[1].replace(",", ""))
    assert (high <= 2) == (sign == "≈ ")


@pytest.mark.parametrize(
    "low, high, text",
    [
        (1.0, 1.0, "1.00 to 1.00"), (1.0, 1.00001, "1.00 to 1.01"), (1.003, 1.0049, "> 1.00 to 1.01"),
        (2.5, 12.34, "2.50 to 12.3"), (1.0, 1e7, "1.00 to > 1,000"),
    ],
)  # fmt: skip
def test_a_bound_above_1_never_reads_as_1(low, high, text):
    assert page_of_standings._bounds(low, high) == text


def test_few_runs_are_the_cause_only_where_the_upper_bound_alone_is_large():
    frame = runs(policies=("rmed1", "rucb"), runs=20, problems=[("sixteen", 16)])
    steady = 100 + np.random.default_rng(3).random(len(frame))
    large = comparison(frame.assign(regret_average=np.where(frame["policy"] == "rucb", 1e4 * steady, steady)))
    assert "> 1,000 to > 1,000" in large and "> 1,000: larger than 1,000. " in large and "few runs" not in large
    rare = np.exp(12 * np.random.default_rng(3).standard_normal(len(frame)))
    page = comparison(frame.assign(regret_average=rare))
    assert "1.00 to > 1,000" in page and "a few runs cause most of the mean regret" in page


def test_how_many_tables_may_err_is_said_where_there_are_many():
    page = comparison(runs(policies=("rmed1", "rucb"), runs=6, problems=[(f"p{k}", 16) for k in range(20)]))
    assert "of 20 tables, 1 on average may have a wrong bound" in page
    few = comparison(runs(policies=("rmed1", "rucb"), runs=6, problems=[(f"p{k}", 16) for k in range(8)]))
    assert "of 8 tables, 0.4 on average may have a wrong bound" in few
    assert "wrong somewhere" not in comparison(runs(policies=("rmed1", "rucb"), runs=6, problems=[("p", 16)]))


def test_what_a_step_costs_and_the_constant_of_the_bound_are_defined():
    frame = runs(problems=[("sixteen", 16)], lower_bound=8.0, regret_ndcg=3.0)
    assert "the mean gap of the compared rankers" in comparison(frame) and "d(p_ij, 1/2)" in comparison(frame)
    assert "minus the mean NDCG@10 of the two or more" in comparison(frame, "regret_ndcg")


def test_a_problem_without_a_winner_is_named():
    frame = pd.concat([runs(), runs([("circle", 15)], regret_average=float("nan"), correct=float("nan"))])
    assert "noise): circle." in comparison(frame)


def seen_without_fault(text, tmp_path, width, images):
    seen = look_at(text, tmp_path, width)
    assert seen["width"] == width
    assert seen["page"] <= width and not seen["outside"], "the page is wider than the window"
    assert seen["cut"] == [], "a cell of a table is not to be seen"
    assert len(seen["images"]) == images and all(one > 0 for one in seen["images"]), "a picture did not load"
    assert not seen["loaded"] and not seen["missing"] and not seen["console"]


@pytest.mark.parametrize("width", [390, 1200])
def test_a_browser_shows_the_report(report, tmp_path, width):
    seen_without_fault(report, tmp_path, width, images=2)


@pytest.mark.parametrize("width", [390, 1200])
def test_a_browser_shows_the_page_of_a_study(tmp_path, width):
    results = simulate(coins(bradley_terry(30)), ["rucb", "mdb"], horizon=2000, repetitions=2)
    save_study(results, tmp_path, title="A study with a title that is longer than a telephone is wide")
    seen_without_fault((tmp_path / "report.html").read_text(encoding="utf-8"), tmp_path, width, images=2)


def test_the_browser_test_sees_faults(tmp_path):
    faulty = '<p style="width: 900px">too wide</p><img src="https://example.com/x.png"><a href="#nowhere">link</a>'
    template = f"{{% extends 'page.html' %}}{{% block main %}}<section>{faulty}</section>{{% endblock %}}"
    (tmp_path / "faulty.html").write_text(template)
    seen = look_at(render_page(tmp_path / "faulty.html", title="faulty"), tmp_path, 390)
    assert seen["outside"] and seen["images"] == [0] and seen["missing"] == ["nowhere"]
    assert any("Content Security Policy" in line for line in seen["console"])


def test_a_number_and_its_interval_are_not_broken_into_lines(tmp_path):
    template = "{% extends 'page.html' %}{% from 'macros.html' import table as listing %}"
    (tmp_path / "cells.html").write_text(template + "{% block main %}{{ listing(frame) }}{% endblock %}")
    whole = ["1.42e-06", "+0.0464 +0.1087", "100 % (95.1 to 100)", "< 1e-12", ".0063 (.0056 to .0069)", "-"]
    broken = ["not by then (10,000 at the earliest)", "10,000 (5,623 to more than a page holds)", "LM Jelinek-Mercer"]
    frame = pd.DataFrame({"cell": [*whole, *broken]})
    page = render_page(tmp_path / "cells.html", title="cells", frame=frame)
    assert page.count('<span class="number">') == len(whole)
    lines = [cell.split(" (")[0].replace("<", "&lt;").replace(" +", " to\n+") for cell in whole]  # ends are below
    assert all(f'<span class="number">{line}' in page for line in lines)
