"""``ltr-duel clicks fit``: from a log to a file that ``--clicks`` accepts, and to judgements."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.reference.fitted_clicks import Truth, drawn

TRUTH = Truth([0.1, 0.5, 0.9], [0.1, 0.4, 0.8])


def row(n, query, shown, clicks, **more):
    return {"impression": n, "time": n, "query": query, "shown": shown, "clicks": clicks, **more}


def log_of(folder, rows):
    path = folder / "clicks.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in rows))
    return path


@pytest.fixture
def users(tmp_path):
    """Write a log of users of the model sdbn."""
    rng, n = np.random.default_rng(0), 3000
    sessions = drawn("sdbn", TRUTH, rng.integers(0, 3, (20, 5)), n, rng)
    grades, clicks = sessions.item.reshape(n, 5).tolist(), sessions.click.reshape(n, 5)
    documents = [f"d{k}" for k in range(5)]
    rows = [
        row(s, f"q{query}", documents, (np.flatnonzero(clicks[s]) + 1).tolist(), grades=grades[s])
        for s, query in enumerate(sessions.query)
    ]
    return log_of(tmp_path, rows)


def test_a_fitted_model_goes_from_the_log_to_clicks(succeed, corpus, users, tmp_path):
    out = tmp_path / "users.json"
    words = ("--model", "sdbn", "--model", "pbm", "--out", out)
    best, parameters, note, file = succeed("clicks", "fit", users, *words).splitlines()
    assert best == "best: sdbn" and "satisfaction by grade: " in parameters and file == str(out)
    assert note.endswith("more with --explain)")
    about = json.loads(out.read_text())
    assert about["held_out"] < 0 and (about["errors_by"], about["clusters"]) == ("query", 20)
    words = ["--rankers", "features:1,2", "--comparisons", 200, "--clicks", out, "--out", tmp_path / "m.parquet"]
    succeed("prefs", "estimate", corpus, *words)
    assert f"clicks: {out}#" in succeed("prefs", "show", tmp_path / "m.parquet", "--explain")


def test_a_fit_that_stopped_early_is_the_first_note_and_explain_compares_all_models(succeed, users):
    words = ("clicks", "fit", users, "--model", "pbm", "--iterations", 2)
    assert succeed(*words).splitlines()[2].startswith("note: not converged: pbm; raise --iterations")
    shown = succeed(*words, "--explain")
    assert "2 (limit)" in shown and "standard errors are clustered by query (20)" in shown
    assert "attention by position (relative: 1 where most clicks are): 1.000, 0." in shown


def test_sessions_of_yandex_are_fitted_by_document(succeed, refuse, tmp_path):
    path = tmp_path / "train"
    path.write_text("".join(f"{n}\t0\tQ\t7\t213\ta\tb\n{n}\t4\tC\t{'ab'[n % 3 // 2]}\n" for n in range(40)))
    words = ("clicks", "fit", path, "--format", "yandex")
    assert succeed(*words, "--model", "pbm").startswith("best: pbm\n")
    refuse("sessions of Yandex have no grades", *words, "--by", "grade")


def test_clicks_become_judgements(succeed, tmp_path):
    rows = [row(n, "q", ["a", "b", "c"], [1] * (n % 2) + [3] * (n % 8 == 0)) for n in range(80)]
    out = tmp_path / "labels.qrels"
    words = ("--model", "pbm", "--train", 1, "--qrels", out)
    assert "note: 3 of 3 documents have a grade" in succeed("clicks", "fit", log_of(tmp_path, rows), *words)
    grades = [line.split() for line in out.read_text().splitlines()]
    assert [line[:3] for line in grades] == [["q", "0", name] for name in "abc"]
    assert int(grades[0][3]) > int(grades[2][3]) > int(grades[1][3]) == 0
    assert (tmp_path / "labels.attractiveness.csv").exists()


@pytest.mark.parametrize(("words", "sentence"), [
    (["--out", "users.txt"], "must end with .json"),
    (["--by", "document", "--out", "users.json"], "needs grades on every row"),
    (["--by", "grade", "--qrels", "x.qrels"], "are fitted by document and --by grade by grade: give two commands"),
])  # fmt: skip
def test_what_cannot_be_fitted_is_refused(refuse, words, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = log_of(tmp_path, [row(n, "q", ["a", "b"], [1], grades=[1, 0]) for n in range(8)])
    refuse(sentence, "clicks", "fit", path, *words)
