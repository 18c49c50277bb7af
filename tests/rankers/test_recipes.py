"""The recipes of docs/rankers.md run as printed."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pytest

from ltr_duel import load_dataset
from ltr_duel.logs import simulate_log
from ltr_duel.rankers import feature_rankers
from tests.site.snippets import DOCS, python_code


def recipe(heading):
    """Return the first Python code below a heading."""
    return python_code(DOCS / "rankers.md", heading)[0]


def frames(seed=0, queries=8, documents=15):
    """Make judgements and two runs, one of which is better, as PyTerrier would hand them over."""
    rng = np.random.default_rng(seed)
    ids = [(f"q{query}", f"d{query}-{doc}") for query in range(queries) for doc in range(documents)]
    qrels = pd.DataFrame(ids, columns=["qid", "docno"]).assign(label=rng.integers(0, 3, len(ids)))
    scores = {"bm25": qrels["label"] + rng.normal(size=len(ids)), "dense": rng.normal(size=len(ids))}
    return qrels, {name: qrels[["qid", "docno"]].assign(score=score) for name, score in scores.items()}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.long
def test_lambdamart_beats_the_features_of_mq2008_under_all_click_models(folder, real_data):
    (folder / "MQ2008").symlink_to(real_data / "MQ2008")
    known: dict = {}
    exec(recipe("Recipe: LambdaMART"), known)
    assert known["table"]["ranker"].iloc[0] == "model"
    assert known["winners"] == dict.fromkeys(("perfect", "navigational", "informational"), "model")


def test_labels_from_clicks_train_a_model_that_beats_the_features(folder, real_data):
    (folder / "MQ2008").symlink_to(real_data / "MQ2008")
    train = load_dataset("MQ2008/Fold1", split="train")
    simulate_log("clicks.parquet", feature_rankers(train), horizon=20_000)
    known: dict = {}
    exec(recipe("Recipe: labels from clicks"), known)
    ranks = known["table"]["ranker"].tolist()
    assert ranks[0] == "model" and known["shown"].mean() > 0.5


def test_recipe_of_two_runs_of_a_search_engine(folder):
    qrels, runs = frames()
    (folder / "qrels.txt").write_text("".join(f"{r.qid} 0 {r.docno} {r.label}\n" for r in qrels.itertuples()))
    texts = {
        name: "".join(f"{r.qid} Q0 {r.docno} 0 {r.score} {name}\n" for r in run.itertuples())
        for name, run in runs.items()
    }
    (folder / "bm25.trec.gz").write_bytes(gzip.compress(texts["bm25"].encode()))
    (folder / "dense.trec").write_text(texts["dense"])
    known: dict = {}
    exec(recipe("Recipe: two runs"), known)
    assert known["pool"].unjudged == 0 and known["matrix"].condorcet_winner == "bm25"
    assert known["table"]["ranker"].tolist()[:2] == ["bm25", "dense"]


def test_recipe_of_pyterrier_frames(folder):
    qrels, runs = frames()
    known = {"qrels": qrels, **runs}
    exec(recipe("Recipe: PyTerrier"), known)
    assert known["table"]["ranker"].tolist() == ["bm25", "dense"]
    assert known["rankings"].provenance["corpus"] == "my collection"


def test_recipe_of_fitted_models_and_functions():
    known: dict = {}
    exec(recipe("Models"), known)
    assert known["rankings"].names == ("linear", "sum", "feature 4")
