"""The commands of fitted click models: from a log to a file that ``--clicks`` accepts."""

from __future__ import annotations

import json

import numpy as np
import pytest

from ltr_duel.clicks import CLICK_MODELS
from tests.reference.fitted_clicks import Truth, drawn

TRUTH = Truth([0.1, 0.5, 0.9], [0.1, 0.4, 0.8])


def row(n, query, shown, clicks, **more):
    return {"impression": n, "time": n, "query": query, "shown": shown, "clicks": clicks, **more}


def log_of(folder, rows):
    path = folder / "clicks.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return path


def users_log(folder, n=3000):
    rng = np.random.default_rng(0)
    sessions = drawn("sdbn", TRUTH, rng.integers(0, 3, (20, 5)), n, rng)
    grades, clicks = sessions.item.reshape(n, 5).tolist(), sessions.click.reshape(n, 5)
    rows = [
        row(s, f"q{query}", [f"d{k}" for k in range(5)], (np.flatnonzero(clicks[s]) + 1).tolist(), grades=grades[s])
        for s, query in enumerate(sessions.query)
    ]
    return log_of(folder, rows)


def test_a_fitted_file_goes_from_the_log_to_clicks(ltr_duel, corpus, tmp_path):
    path, out = users_log(tmp_path), tmp_path / "users.json"
    code, said, wrong = ltr_duel("clicks", "fit", path, "--model", "sdbn", "--model", "pbm", "--out", out)
    assert code == 0 and not wrong and "best: sdbn" in said and "satisfaction by grade: " in said
    stopped = ltr_duel("clicks", "fit", path, "--model", "pbm", "--iterations", 2).out
    assert "not converged: pbm; raise --iterations" in stopped and "2 (limit)" in stopped
    about = json.loads(out.read_text())
    assert about["held_out"] < 0 and (about["errors_by"], about["clusters"]) == ("query", 20)
    assert "standard errors are clustered by query (20)" in said
    words = ["prefs", "estimate", corpus, "--rankers", "features:1,2", "--comparisons", 200, "--clicks", out]
    code, said, wrong = ltr_duel(*words, "--out", tmp_path / "m.parquet")
    assert code == 0, wrong
    about = ltr_duel("prefs", "show", tmp_path / "m.parquet").out
    assert f"clicks: {out}#" in about
    code, said, wrong = ltr_duel("list", "clicks", "navigational")
    assert code == 0 and said.startswith("navigational") and "informational" not in said
    assert ltr_duel("list", "clicks").out.count("stops, by grade") == len(CLICK_MODELS.names())


def test_the_fit_says_whose_sessions_go_together(ltr_duel, tmp_path):
    rows = [row(n, "q", ["a", "b"], [1 + n % 3 // 2], grades=[1, 0]) for n in range(160)]
    for users, said in ((40, "clustered by user (40)\n"), (7, "clustered by user (7, too few to be reliable)\n")):
        named = [one | {"user": f"u{n % users}"} for n, one in enumerate(rows)]
        code, printed, _ = ltr_duel("clicks", "fit", log_of(tmp_path, named), "--model", "cascade")
        assert code == 0 and f"standard errors are {said}" in printed


def test_sessions_of_yandex_are_fitted_by_document(ltr_duel, tmp_path):
    path = tmp_path / "train"
    path.write_text("".join(f"{n}\t0\tQ\t7\t213\ta\tb\n{n}\t4\tC\t{'ab'[n % 3 // 2]}\n" for n in range(40)))
    code, said, wrong = ltr_duel("clicks", "fit", path, "--format", "yandex", "--model", "pbm")
    assert code == 0 and not wrong and "best: pbm" in said
    code, said, wrong = ltr_duel("clicks", "fit", path, "--format", "yandex", "--by", "grade")
    assert code == 2 and "sessions of Yandex have no grades" in wrong


def test_clicks_become_judgements(ltr_duel, tmp_path):
    rows = [row(n, "q", ["a", "b", "c"], [1] * (n % 2) + [3] * (n % 8 == 0)) for n in range(80)]
    out = tmp_path / "labels.qrels"
    code, printed, wrong = ltr_duel(
        "clicks", "fit", log_of(tmp_path, rows), "--model", "pbm", "--train", 1, "--qrels", out
    )
    assert code == 0 and not wrong and "3 of 3 documents, those of at least 10" in printed
    grades = [line.split() for line in out.read_text().splitlines()]
    assert [line[:3] for line in grades] == [["q", "0", name] for name in "abc"]
    assert int(grades[0][3]) > int(grades[2][3]) > int(grades[1][3]) == 0
    assert (tmp_path / "labels.attractiveness.csv").exists()


@pytest.mark.parametrize(
    "words, said",
    [
        (["--model", "pmb"], "no click model to fit 'pmb'; did you mean 'pbm'"),
        (["--by", "documents"], "no kind of items 'documents'; did you mean 'document'"),
        (["--out", "users.txt"], "must end with .json"),
        (["--out", "us:ers.json"], "and not contain ':'"),
        (["--by", "document", "--out", "users.json"], "needs grades on every row"),
        (
            ["--by", "grade", "--qrels", "labels.qrels"],
            "are fitted by document and --by grade by grade: give two commands",
        ),
        (["--train", "2"], "share to fit to must be between"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(ltr_duel, words, said, tmp_path):
    path = log_of(tmp_path, [row(n, "q", ["a", "b"], [1], grades=[1, 0]) for n in range(8)])
    code, printed, wrong = ltr_duel("clicks", "fit", path, *words)
    assert code == 2 and not printed and said in wrong and wrong.count("\n") == 1
