"""Rankers from files on the command line and in specs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ltr_duel.core import InputError
from ltr_duel.data import load_dataset
from ltr_duel.experiment.problems import build_problems
from ltr_duel.experiment.spec import read_spec
from ltr_duel.preferences import load_preferences
from ltr_duel.rankers import evaluate_rankers, rankers_named
from tests.rankers.test_models import boosted


@pytest.fixture
def model(corpus, tmp_path):
    """Train a model on the small corpus, and return its value for ``--rankers``."""
    boosted(load_dataset(corpus), tmp_path / "model.txt")
    return f"lightgbm:{tmp_path / 'model.txt'}"


@pytest.fixture
def run(tmp_path):
    """Write a run for one query, with a document that the corpus lacks."""
    path = tmp_path / "bm25.trec"
    path.write_text("0 Q0 D0-3 1 9 t\n0 Q0 D0-1 2 8 t\n0 Q0 nobody 3 7 t\n")
    return f"run:{path}"


def test_a_matrix_of_features_a_model_and_a_run_is_estimated(ltr_duel, corpus, model, run, tmp_path):
    out = tmp_path / "m.parquet"
    words = ("--rankers", "features:1,2", "--rankers", model, "--rankers", run)
    answer = ltr_duel("prefs", "estimate", corpus, *words, "--comparisons", "200", "--out", out)
    assert answer.code == 0, answer.err
    assert "run:bm25: small lacks 1 documents of bm25.trec; they are left out" in answer.err
    matrix = load_preferences(out)
    assert matrix.names == ("1", "2", "lightgbm:model", "run:bm25")
    assert set(matrix.provenance["rankers"]) == {"lightgbm:model", "run:bm25"}


def test_rankers_are_evaluated_into_a_table_and_three_files(ltr_duel, corpus, model, tmp_path):
    words = ("--rankers", "features:1,2", "--rankers", f"mine={model}", "--measure", "ndcg@5", "--measure", "MAP")
    answer = ltr_duel("evaluate", corpus, *words, "--out", tmp_path / "out")
    assert answer.code == 0, answer.err
    assert "small: 3 rankers, 6 queries" in answer.out and "to the best" in answer.out
    rankings = rankers_named(load_dataset(corpus), ["features:1,2", f"mine={model}"])
    expected = evaluate_rankers(rankings, ["NDCG@5", "MAP"])
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "out" / "measures.parquet"), expected)
    assert r"\toprule" in (tmp_path / "out" / "measures.tex").read_text()
    assert (tmp_path / "out" / "measures.png").stat().st_size > 5000
    assert ltr_duel("evaluate", corpus).code == 0


def test_a_baseline_is_compared_with_in_the_table_and_the_files(ltr_duel, corpus, tmp_path):
    words = ("--rankers", "features:1,2,3", "--baseline", "2", "--measure", "MAP", "--out", tmp_path / "out")
    answer = ltr_duel("evaluate", corpus, *words)
    assert answer.code == 0, answer.err
    assert "to the baseline" in answer.out
    table = pd.read_parquet(tmp_path / "out" / "measures.parquet")
    assert table["baseline"].tolist() == ["2"] * 3 and table.set_index("ranker")["difference"]["2"] == 0


def test_simulated_users_answer_on_the_command_line(ltr_duel, corpus, model, tmp_path):
    words = ("--users", corpus, "--rankers", "features:1,2", "--rankers", model, "--clicks", "perfect")
    quick = ("--policy", "rucb", "--horizon", "300", "--repetitions", "2", "--out", tmp_path / "out")
    answer = ltr_duel("simulate", *words, "--comparisons", "200", *quick)
    assert answer.code == 0, answer.err
    first = pd.read_parquet(tmp_path / "out" / "results.parquet")
    matrix = tmp_path / "m.parquet"
    ltr_duel("prefs", "estimate", corpus, *words[2:], "--comparisons", "200", "--out", matrix)
    assert ltr_duel("simulate", matrix, *words, *quick, "--overwrite").code == 0
    again = pd.read_parquet(tmp_path / "out" / "results.parquet")
    assert np.array_equal(first["recommended"], again["recommended"])


def test_simulate_needs_a_matrix_or_users(ltr_duel):
    answer = ltr_duel("simulate", "--policy", "rucb")
    assert answer.code == 2 and "give the FILE of a preference matrix, or --users" in answer.err
    answer = ltr_duel("simulate", "arxiv", "--policy", "rucb", "--rankers", "features")
    assert answer.code == 2 and "--rankers requires --users" in answer.err


@pytest.mark.parametrize("command", ["sensitivity", "demo"])
def test_every_command_takes_the_same_words(ltr_duel, corpus, tmp_path, command):
    where = ("--data", corpus, "--out", tmp_path / "demo") if command == "demo" else (corpus,)
    answer = ltr_duel(command, *where, "--rankers", "runn:file")
    assert answer.code == 2 and "no kind of ranker 'runn'; did you mean 'run'" in answer.err


def test_the_demo_runs_on_judgements_and_runs(ltr_duel, tmp_path):
    (tmp_path / "qrels.txt").write_text("1 0 a 2\n1 0 b 1\n1 0 c 0\n2 0 d 1\n2 0 e 0\n")
    (tmp_path / "good.trec").write_text("1 Q0 a 1 3 t\n1 Q0 b 2 2 t\n2 Q0 d 1 1 t\n")
    (tmp_path / "bad.trec").write_text("1 Q0 c 1 3 t\n1 Q0 b 2 2 t\n2 Q0 e 1 1 t\n")
    data = ("--data", f"qrels:{tmp_path / 'qrels.txt'}", "--out", tmp_path / "out")
    runs = ("--rankers", f"run:{tmp_path / 'good.trec'}", "--rankers", f"bad=run:{tmp_path / 'bad.trec'}")
    answer = ltr_duel(
        "demo", *data, *runs, "--clicks", "perfect", "--comparisons", 200, "--horizon", 2000, "--repetitions", 2
    )
    assert answer.code == 0, answer.err
    assert "2 queries, 5 documents, no features" in answer.out and "Condorcet winner: run:good" in answer.out
    assert (tmp_path / "out" / "report.html").is_file()
    refused = ltr_duel("demo", *data, "--overwrite")
    assert refused.code == 2 and "requires runs; give --rankers run:FILE (in a spec:" in refused.err


def test_a_spec_takes_the_same_words_relative_to_its_folder(corpus, model, tmp_path, monkeypatch):
    monkeypatch.setenv("LTR_DUEL_HOME", str(tmp_path / "home"))
    text = (
        f"policies = 'rucb'\nhorizon = 100\n[[corpora]]\npath = '{corpus.name}'\ncomparisons = 100\n"
        "rankers = ['features:1,2', 'mine=lightgbm:model.txt']\nanswers = ['matrix', 'users']\n"
    )
    first, second = build_problems(read_spec(tmp_path / "study.toml", text), jobs=1)
    assert first.matrix.names == ("1", "2", "mine") and len(second.rankings) == 3
    assert len(first.matrix.provenance["rankers"]["mine"]["sha256"]) == 64


def test_a_spec_takes_judgements_and_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("LTR_DUEL_HOME", str(tmp_path / "home"))
    (tmp_path / "qrels.txt").write_text("1 0 a 2\n1 0 b 1\n1 0 c 0\n2 0 d 1\n2 0 e 0\n")
    (tmp_path / "good.trec").write_text("1 Q0 a 1 3 t\n1 Q0 b 2 2 t\n2 Q0 d 1 1 t\n")
    (tmp_path / "bad.trec").write_text("1 Q0 c 1 3 t\n1 Q0 b 2 2 t\n2 Q0 e 1 1 t\n")
    text = "policies = 'rucb'\nhorizon = 100\n[[corpora]]\npath = 'qrels:qrels.txt'\ncomparisons = 100\n"
    runs = "rankers = ['run:good.trec', 'bad=run:bad.trec']\n"
    (problem,) = build_problems(read_spec(tmp_path / "study.toml", text + runs), jobs=1)
    assert problem.matrix.names == ("run:good", "bad") and problem.matrix.p[0, 1] > 0.5
    for more, says in (
        ("", "requires runs; give --rankers run:FILE"),
        (runs + "split = 'test'\n", "are not feature files"),
    ):
        with pytest.raises(InputError, match=says):
            build_problems(read_spec(tmp_path / "study.toml", text + more), jobs=1)
