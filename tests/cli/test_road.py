"""The road from a corpus to regret: demo, data, evaluate, simulate, sensitivity, advise."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ltr_duel import analysis
from ltr_duel.advice import api
from ltr_duel.data import CORPORA, load, load_dataset, make_corpus, write_svmlight
from ltr_duel.preferences import PreferenceMatrix, save_preferences
from ltr_duel.rankers import evaluate_rankers, rankers_named
from tests.conftest import ROCK_PAPER_SCISSORS, bradley_terry

QUICK = ("--comparisons", "100", "--horizon", "300", "--repetitions", "2")
FILES = ("report.html", "regret.png", "preferences.png", "preferences.parquet", "results.parquet", "pulls.parquet")
FEW = ("--horizon", "50", "--repetitions", "1")


@pytest.fixture
def judged(tmp_path):
    """Write judgements and two runs; return their words."""
    (tmp_path / "qrels.txt").write_text("1 0 a 2\n1 0 b 1\n1 0 c 0\n2 0 d 1\n2 0 e 0\n")
    (tmp_path / "good.trec").write_text("1 Q0 a 1 3 t\n1 Q0 b 2 2 t\n2 Q0 d 1 1 t\n")
    (tmp_path / "bad.trec").write_text("1 Q0 c 1 3 t\n1 Q0 b 2 2 t\n2 Q0 e 1 1 t\n2 Q0 nobody 2 0 t\n")
    return (
        f"qrels:{tmp_path / 'qrels.txt'}",
        ("--rankers", f"run:{tmp_path / 'good.trec'}", "--rankers", f"bad=run:{tmp_path / 'bad.trec'}"),
    )


def test_the_demo_writes_six_files_and_says_who_won(ltr_duel, corpus, tmp_path):
    answer = ltr_duel("demo", "--data", corpus, "--out", tmp_path / "out", *QUICK)
    assert answer.code == 0 and "constant within each query in small: 4; left out" in answer.err, answer.err
    for text in ("Condorcet winner: 1.", "average regret, mean ± sd", "\nmdb "):
        assert text in answer.out
    assert all((tmp_path / "out" / name).stat().st_size > 1000 for name in FILES)
    page = (tmp_path / "out" / "report.html").read_text()
    assert "1 features are constant within each query" in page and "navigational" in page
    assert page.count("data:image/png;base64,") == 2 and "://" not in page


def test_the_demo_makes_its_own_corpus_as_text(succeed, tmp_path, monkeypatch):
    few = make_corpus(queries=6, documents=5, features=3)
    monkeypatch.setattr("ltr_duel.data.make_corpus", lambda **settings: few)
    assert "3 features, grades 0..4" in succeed("demo", "--out", tmp_path, "--comparisons", 2, *FEW)
    assert any(path.name.endswith(".txt.gz") for path in tmp_path.iterdir())


def test_the_demo_runs_on_judgements_and_runs(ltr_duel, judged, tmp_path):
    data, runs = judged
    answer = ltr_duel("demo", "--data", data, *runs, "--clicks", "perfect", "--out", tmp_path / "out", *QUICK)
    assert "2 queries, 6 documents, no features" in answer.out and "Condorcet winner: run:good" in answer.out
    assert f"{data}: 2 queries, 6 documents (judged" in answer.err


@pytest.mark.long
def test_the_demo_runs_on_real_corpora(succeed, real_data, tmp_path):
    for name in ("MQ2008/Fold1", "NP2004/Fold1", "MSLR_sample/WEB30K_Fold1_vali_head18q.txt.gz"):
        succeed("demo", "--data", real_data / name, "--out", tmp_path, "--comparisons", 100, *FEW, "--overwrite")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("0 qid:1 1:0.5 2:1\n0 qid:1 1:0.7 2:3\n", "no document has a grade above 0"),
        ("1 qid:1 1:0.5\n0 qid:1 1:0.7\n", "at least two rankers"),
        ("7 qid:1 1:0.5 2:1\n0 qid:1 1:0.7 2:3\n", "this corpus has 8 (0..7)"),
        ("1 qid:1 1:1 2:1\n0 qid:1 1:1 2:1\n", "no ranker is left"),
    ],
)
def test_a_corpus_without_an_answer_is_refused_and_nothing_is_written(refuse, tmp_path, text, sentence):
    (tmp_path / "bad.txt").write_text(text)
    refuse(sentence, "demo", "--data", tmp_path / "bad.txt", "--out", tmp_path / "out", "-q", *QUICK)
    assert not (tmp_path / "out").exists()


def test_simulate_says_that_the_lowest_regret_may_be_an_error_of_the_matrix(succeed, tmp_path):
    matrix = PreferenceMatrix([[0.5, 0.6], [0.4, 0.5]], standard_error=[[0, 0.5], [0.5, 0]])
    words = "simulate", save_preferences(matrix, tmp_path / "m.parquet"), "--horizon", 100, "--out", tmp_path / "runs"
    answer = succeed(*words, "--policy", "rucb", "--policy", "rmed1").splitlines()[0]
    assert answer.endswith("the lowest of 2 policies, by less than the error of the reference matrix")


def test_simulate_names_the_policy_with_the_lowest_regret_and_writes_four_files(succeed, tmp_path):
    out, words = tmp_path / "runs", ("--policy", "rucb", "--policy", "random", "--horizon", "1e3")
    answer, certainty, *_ = succeed("simulate", "arxiv", *words, "--out", out, "--jobs", 1).splitlines()
    assert answer.startswith("rucb: average regret ") and "after 1,000 steps, the lowest of 2 policies" in answer
    assert certainty.startswith("Condorcet winner: A.")
    frame = pd.read_parquet(out / "results.parquet")
    assert {"policy", "repetition", "t", "regret_average"} <= set(frame)
    assert set(frame["policy"]) == {"rucb", "random"} and frame["t"].max() == 1000
    assert {"pulls", "arm"} <= set(pd.read_parquet(out / "pulls.parquet"))
    again = tmp_path / "again"
    succeed("simulate", "arxiv", *words, "--out", again, "--jobs", 2)
    for name in ("results.parquet", "pulls.parquet", "runs.json", "regret.png"):
        assert (out / name).read_bytes() == (again / name).read_bytes(), name


def test_figures_have_the_width_and_the_kind_of_a_paper(succeed, tmp_path):
    look = ("--figures", "svg", "--width", "column", "--band", "sd", "--start", 10)
    succeed("simulate", "arxiv", *FEW, "--out", tmp_path / "out", *look)
    assert 'width="237.6pt"' in (tmp_path / "out" / "regret.svg").read_text()  # 3.3 * 72


def test_sets_run_on_a_matrix_if_independent_coins_are_accepted(succeed, refuse, tmp_path):
    words = ("simulate", save_preferences(bradley_terry(3), tmp_path / "m.parquet"), "--policy", "mdb", *FEW)
    refuse("--sets independent-coins", *words)
    assert "independent coins" in succeed(*words, "--sets", "independent-coins", "--out", tmp_path / "sets")


@pytest.mark.parametrize(("wins", "assumed"), [(0.51, True), (0.9, False)])
def test_simulate_names_the_winner_of_its_table_where_the_matrix_leaves_it_undecided(succeed, tmp_path, wins, assumed):
    matrix = PreferenceMatrix(np.array([[0.5, wins], [1 - wins, 0.5]]), ("x", "y"), 0.02 * (1 - np.eye(2)))
    words = ("simulate", save_preferences(matrix, tmp_path / "m.parquet"), "--policy", "random", *FEW)
    shown = succeed(*words, "--out", tmp_path / "o")
    assert (" The table assumes the winner of this matrix, x.\n" in shown) == assumed


def test_without_a_condorcet_winner_regret_is_copeland_regret(succeed, tmp_path):
    path = save_preferences(ROCK_PAPER_SCISSORS, tmp_path / "m.parquet")
    shown = succeed("simulate", path, "--policy", "rucb", *FEW, "--out", tmp_path / "out")
    assert shown.startswith("rucb: Copeland regret ")


def test_simulated_users_answer_by_a_matrix_of_their_own_or_of_a_file(ltr_duel, succeed, corpus, tmp_path, monkeypatch):
    drawn, draw = [], analysis.plot_regret
    monkeypatch.setattr(analysis, "plot_regret", lambda *a, **b: drawn.append(draw(*a, **b)) or drawn[-1])
    users = ("--users", corpus, "--rankers", "features:1,2,4", "--clicks", "perfect")
    words, out = ("--policy", "rucb", *FEW, "--out", tmp_path / "out"), tmp_path / "out" / "results.parquet"
    answer = ltr_duel("simulate", *users, "--comparisons", 200, *words)
    assert "constant within each query in small: 4; they rank by --ties alone" in answer.err
    own, matrix = pd.read_parquet(out), tmp_path / "m.parquet"
    succeed("prefs", "estimate", corpus, *users[2:], "--comparisons", 200, "--out", matrix)
    succeed("simulate", matrix, *users, *words, "--overwrite")
    pd.testing.assert_frame_equal(own, pd.read_parquet(out))
    shown = succeed("simulate", matrix, *users, *words, "--policy", "auto", "--width", "column", "--overwrite")
    assert "note: auto ran as auto_sets, for sets of rankers.\n" in shown
    assert [ax.get_title(loc="left") for ax in drawn[:2]] == [
        "small, perfect clicks, method probabilistic: 3 rankers"
    ] * 2
    assert ["sets by sosm" in ax.get_xlabel() for ax in drawn] == [False, False, True]


def test_rankers_are_evaluated_into_a_table_and_three_files(succeed, corpus, tmp_path):
    words = ("--rankers", "features:1,2,3", "--measure", "ndcg@5", "--measure", "MAP", "--rows", 1)
    answer, certainty, note, _, *rows = succeed("evaluate", corpus, *words, "--out", tmp_path / "out").splitlines()
    rankings = rankers_named(load_dataset(corpus), ["features:1,2,3"])
    expected = evaluate_rankers(rankings, ["NDCG@5", "MAP"])
    best = expected.iloc[0]
    assert answer.startswith(f"{best['ranker']} has the highest NDCG@5, {best['mean']:.4f} (")
    assert certainty.endswith(" of 2 others (paired test, p < 0.05)")
    assert note == "note: NDCG has the gain 2^grade - 1" and [row.split()[1] for row in rows[:2]] == ["NDCG@5", "MAP"]
    assert rows[2] == "2 more rankers for each measure; --rows 3 lists them"
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "out" / "measures.parquet"), expected)
    assert r"\toprule" in (tmp_path / "out" / "measures.tex").read_text()
    assert " MAP " not in succeed("evaluate", corpus) and " MAP " in succeed("evaluate", corpus, "--explain")
    shown = succeed("evaluate", corpus, "--rankers", "features:1,2", "--baseline", "2", "--measure", "MAP")
    assert "to the baseline" in shown and next(row for row in shown.splitlines() if row.startswith("2 "))[-1] == "-"


def test_a_run_that_lacks_documents_and_a_corpus_that_lacks_a_query_are_noted(ltr_duel, judged):
    answer = ltr_duel("evaluate", judged[0], *judged[1], "--measure", "MAP")
    assert answer.code == 0 and "run:good: has documents for 2 of 2 queries, 3 of 6 documents" in answer.err
    assert not ltr_duel("evaluate", judged[0], *judged[1], "-q").err


def test_sensitivity_prints_a_row_for_each_method_and_writes_two_files(succeed, corpus, tmp_path):
    few = ("--pairs", 2, "--impressions", 200, "--repetitions", 5, "--out", tmp_path)
    shown = succeed("sensitivity", corpus, "--clicks", "perfect", "--method", "probabilistic", "--method", "sosm", *few)
    title, head, *rows = shown.splitlines()
    assert title == "small, perfect clicks: 2 pairs of rankers, 5 repetitions of each"
    assert "impressions to 95%" in head and "right after 200" in head
    assert {row.split()[0] for row in rows[:2]} == {"probabilistic", "sosm"}
    frame = pd.read_parquet(tmp_path / "sensitivity.parquet")
    assert set(frame["method"]) == {"probabilistic", "sosm"} and frame["impressions"].max() == 200
    assert (tmp_path / "sensitivity.png").stat().st_size > 5000


def test_advice_is_printed_in_three_lines_and_saved(succeed, corpus, tmp_path, monkeypatch):
    simulator = api.Simulator  # as plain Python, so that nothing has to be compiled
    monkeypatch.setattr(api, "Simulator", lambda *given, **kept: simulator(*given, **{**kept, "compiled": False}))
    words = ["advise", corpus, "--rankers", "features:1,2,3", "--budget", 100, "--clicks", "perfect", "--top", 2]
    words += ["--candidate", "random/team_draft", "--candidate", "mdb/sosm", "--simulations", 10, "--jobs", 1]
    *lines, files = succeed(*words, "--out", tmp_path / "advice").splitlines()
    assert len(lines) == 3 and lines[2].startswith("note: ") and files.endswith("live.toml")
    names = ["advice.html", "advice.json", "advice.png", "live.toml"]
    assert sorted(path.name for path in (tmp_path / "advice").iterdir()) == names


def test_info_describes_a_corpus(succeed, tmp_path):
    file = tmp_path / "tiny.txt"
    file.write_text("0 qid:1 1:1 2:0 3:5 4:1\n1 qid:1 1:2 2:0 3:5 4:2\n0 qid:2 1:2 2:0 3:6 4:2\n")
    lines = {line[:21].strip(): line[21:] for line in succeed("data", "info", file).splitlines()}
    assert lines["queries"] == "2, 1 of them without a relevant document"
    assert lines["documents"] == "3; for each query 1 to 2, median 1.5" and lines["missing values"] == "none"
    assert (lines["zero everywhere"], lines["constant in queries"], lines["exact twins"]) == ("2", "2, 3", "1 = 4")


def test_the_cache_is_measured_and_cleared_and_stored_corpora_are_listed(succeed, refuse, tmp_path, monkeypatch):
    monkeypatch.setenv("LTR_DUEL_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(load, "KEPT_AFTER", 0.0)
    load_dataset(write_svmlight(make_corpus(queries=3, features=4), tmp_path / "a.txt"))
    (folder,) = (tmp_path / "home" / "corpora").iterdir()
    assert succeed("data", "cache").startswith(f"{tmp_path / 'home'}: 0.0 MB in 1 folders. Above 30 GB")
    assert succeed("data", "cache", "--clear").startswith("freed ") and not folder.exists()
    (tmp_path / "home" / "corpora" / "mq2007").mkdir(parents=True)
    (tmp_path / "home" / "corpora" / "mq2007" / "corpus-mq2007").touch()
    listed = succeed("list", "corpora")
    assert listed.count("  stored     yes\n") == 1 and listed.count("  stored     no\n") == len(CORPORA) - 1
    monkeypatch.setenv("LTR_DUEL_CACHE_GB", "much")
    refuse("LTR_DUEL_CACHE_GB", "data", "cache")
