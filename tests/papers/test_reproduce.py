"""A figure from its file to its table: remaining files, reused results, valid content of a table."""

from __future__ import annotations

import dataclasses
import json
import signal

import numpy as np
import pandas as pd
import pytest

from ltr_duel.core.errors import InputError
from ltr_duel.papers.expand import NoDataError
from ltr_duel.papers.figure_files import list_figures
from ltr_duel.papers.reference import reference_of
from ltr_duel.papers.reproduce import make_figure, read_made
from tests.conftest import bradley_terry, random_rankings
from tests.experiment.conftest import count_runs, finish, start, wait_for

SMALL = '''
from ltr_duel.papers import corpus, figure, matrix, measured, real, study, surrogate, utilities


@figure("beat_the_mean", "Figure 1", drawing="regret")
def small():
    """Small.

    Something.

    Setting: small
    """
    family = matrix(family="equal_gaps", size=[3, 4])
    toy = corpus(
        "toy",
        real("toy/none.txt"),
        surrogate(queries=5, documents=8, features=8, grades=2, note="a toy"),
        comparisons=40,
    )
    quick = {"horizon": 100, "repetitions": 2}
    return [
        study(["rucb", "winner_stays"], family, horizon=1000, repetitions=3, regrets=["average"], quick=quick),
        study(["savage"], toy, horizon=[100, 200], repetitions=2, regrets=["average", "strong"]),
    ]
'''
CIRCLE = [[0.5, 0.6, 0.4], [0.4, 0.5, 0.6], [0.6, 0.4, 0.5]]
SECOND = '        study(["savage"], toy, horizon=[100, 200], repetitions=2, regrets=["average", "strong"]),\n'


def write(folder, text=SMALL, name="small"):
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.py").write_text(text.replace("def small", f"def {name}"))
    return list_figures(folder)[name]


def test_a_figure_leaves_one_tidy_table_and_says_where_it_comes_from(tmp_path):
    made = make_figure(write(tmp_path / "files"), tmp_path / "out", scale="paper", root=None, jobs=1)
    assert (tmp_path / "out" / "small" / "study-2.toml").is_file()
    frame = pd.read_parquet(tmp_path / "out" / "small" / "data.parquet")
    pd.testing.assert_frame_equal(frame, made.frame)
    ends = frame[frame["t"] == frame["horizon"]]
    counted = ends.groupby(["study", "problem", "policy", "horizon"])["repetition"].nunique().to_dict()
    assert counted == {
        (1, "equal_gaps K=3", "rucb", 1000): 3, (1, "equal_gaps K=3", "winner_stays", 1000): 3,
        (1, "equal_gaps K=4", "rucb", 1000): 3, (1, "equal_gaps K=4", "winner_stays", 1000): 3,
        (2, "toy", "savage", 100): 2, (2, "toy", "savage", 200): 2,
    }  # fmt: skip
    assert dict(zip(frame["problem"], frame["source"], strict=True)) == {
        "equal_gaps K=3": "as in the paper", "equal_gaps K=4": "as in the paper", "toy": "surrogate",
    }  # fmt: skip
    assert set(frame.loc[frame["study"] == 1, "size"]) == {3, 4} and set(frame["family"].dropna()) == {"equal_gaps"}
    assert {"problem": "toy", "source": "surrogate", "note": "a toy"} in made.about["sources"]
    assert (made.about["runs"], made.about["horizon"], made.about["scale"]) == (16, 1000, "paper")
    assert made.about["figure"]["title"] == "Small" and "note" not in frame


def test_what_problems_are_measured_against_is_said_with_its_probability(tmp_path):
    made = make_figure(write(tmp_path / "files"), tmp_path / "out", scale="paper", root=None, jobs=1)
    exact, toy = made.about["references"]["equal_gaps K=3"], made.about["references"]["toy"]
    assert exact["text"].startswith("The matrix is known exactly. Condorcet winner: 0.") and exact["probability"] == 1
    for words in (
        "comparisons of each pair (method probabilistic",
        "outcome rule ",
        "equal scores fixed_random)",
        "P(it is the",
    ):
        assert words in toy["text"]
    known = made.frame.groupby("problem")["winner_probability"].first()
    assert known["equal_gaps K=3"] == 1 and known["toy"] == pytest.approx(toy["probability"]) and known["toy"] < 1
    assert made.frame["best_by_ndcg"].isna().all(), "no regret in NDCG was asked for"
    errors = made.frame[made.frame["t"] == made.frame["horizon"]].groupby("problem")["reference_error"].min()
    assert errors["equal_gaps K=3"] == 0 < errors["toy"]


@pytest.mark.parametrize(
    "drawing, instead", [('"regret"', "the regret is Copeland regret"), ('"frontier"', "these problems are omitted")]
)
def test_a_problem_without_a_winner_gets_copeland_regret_and_is_named(tmp_path, drawing, instead):
    circle = SMALL.replace('family="equal_gaps", size=[3, 4]', f"name='circle', p={CIRCLE}")
    circle = circle.replace('"regret"', drawing)
    made = make_figure(write(tmp_path / "files", circle), tmp_path / "out", scale="quick", root=None, jobs=1)
    rows = made.frame[made.frame["problem"] == "circle"]
    assert rows["regret_average"].isna().all() and rows["regret_copeland"].notna().all()
    assert made.about["notes"] == [f"no Condorcet winner, so {instead}: circle"]


def test_queries_that_no_document_answers_are_counted():
    users = random_rankings(3, 4, 5)
    relevance = np.ones_like(users.relevance)
    relevance[users.query_ptr[1] : users.query_ptr[3]] = 0
    bare = dataclasses.replace(users, relevance=relevance)
    text = reference_of(bradley_terry(3), "excerpt", users=bare)["text"]
    assert text.endswith("4 queries; 2 of them have no relevant document, and count like any other.")
    answered = dataclasses.replace(users, relevance=np.ones_like(relevance))
    assert reference_of(bradley_terry(3), "excerpt", users=answered)["text"].endswith(" 4 queries.")


def test_rankers_with_the_same_ndcg_are_all_the_best():
    told = reference_of(bradley_terry(3), "excerpt", np.array([0.4, 0.5, 0.5 - 1e-15]))
    assert (
        told["best"] == ["1", "2"]
        and "Highest NDCG@10: 1 and 2, 0.5000. The Condorcet winner has 0.4000" in told["text"]
    )


def test_the_same_again_does_nothing_and_leaves_the_same_bytes(tmp_path):
    file = write(tmp_path / "files")
    folder = tmp_path / "out" / "small"

    def result():
        make_figure(file, tmp_path / "out", scale="paper", root=None, jobs=1)
        runs = {path.name: path.stat().st_mtime_ns for path in (folder / "store" / "runs").iterdir()}
        return runs, [
            (folder / name).read_bytes() for name in ("data.parquet", "data.csv", "about.json", "study-1.toml")
        ]

    assert result() == result()


def test_measurements_are_done_again_and_say_what_they_took_this_time(tmp_path):
    call = 'measured("properties", matrices=["arxiv"], items=["pairs"])'
    file = write(tmp_path / "files", SMALL[: SMALL.index("    family =")] + f"    return [{call}]\n")
    about = make_figure(file, tmp_path / "out", scale="quick", root=None, jobs=1).about
    false = about | {"seconds": 1e6, "date": "1999-12-31"}
    (tmp_path / "out" / "small" / "about.json").write_text(json.dumps(false))
    again = make_figure(file, tmp_path / "out", scale="quick", root=None, jobs=1).about
    assert again["seconds"] < 1e6 and again["date"] >= about["date"]


def test_a_table_holds_the_runs_of_its_scale_and_of_its_figure_alone(tmp_path):
    shared = SMALL.replace('drawing="regret"', 'drawing="regret", store="together"')
    one = write(tmp_path / "files", shared)
    other = write(tmp_path / "files", shared.replace("size=[3, 4]", "size=[4, 5]"), "other")
    out = tmp_path / "out"
    made = [make_figure(one, out, scale=scale, root=None, jobs=1) for scale in ("paper", "quick")]
    second = make_figure(other, out, scale="quick", root=None, jobs=1)
    assert set(made[1].frame.loc[made[1].frame["study"] == 1, "horizon"]) == {100}
    assert made[1].about["scale"] == "quick" and set(made[1].frame["repetition"]) == {0, 1}
    assert set(second.frame.loc[second.frame["study"] == 1, "problem"]) == {"equal_gaps K=4", "equal_gaps K=5"}
    assert not (out / "small" / "store").exists() and set(read_made(out)) == {"small", "other"}
    same = [
        frame[frame["problem"] == "equal_gaps K=4"].reset_index(drop=True) for frame in (made[1].frame, second.frame)
    ]
    pd.testing.assert_frame_equal(*same)


def test_real_data_is_taken_where_it_is(tmp_path):
    lines = [f"{grade} qid:{query} 1:{value} 2:{1 - value} 3:{value * grade}\n"
             for query in range(4) for grade, value in ((0, 0.2), (1, 0.9), (0, 0.5))]  # fmt: skip
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "none.txt").write_text("".join(lines))
    made = make_figure(write(tmp_path / "files"), tmp_path / "out", scale="quick", root=tmp_path, jobs=1)
    toy = made.frame[made.frame["problem"] == "toy"]
    assert set(toy["source"]) == {"real data"} and set(toy["rankers"]) == {3} and set(toy["corpus"]) == {"toy"}


def test_a_figure_none_of_whose_data_is_there_is_left_out(tmp_path):
    text = SMALL.replace('study(["rucb", "winner_stays"], family,', 'study(["rucb"],')
    text = text.replace(
        '        surrogate(queries=5, documents=8, features=8, grades=2, note="a toy"),\n', "        optional=True,\n"
    )
    with pytest.raises(NoDataError, match=r"small: none of its data is in the cache; name the folder with --data"):
        make_figure(write(tmp_path / "files", text), tmp_path / "out", scale="quick", root=None, jobs=1)


def test_utilities_are_the_means_of_a_corpus(tmp_path):
    text = SMALL.replace(SECOND, "").replace('["average"]', '["utility"]')
    text = text.replace('matrix(family="equal_gaps", size=[3, 4])',
                        'utilities(real("u.txt"), name="columns", size=2, model="linear")')  # fmt: skip
    # scaled within each query: (0, 1, 1/2) and (1, 0) for feature 1, (1, 0, 0) and nothing for feature 2
    (tmp_path / "u.txt").write_text(
        "0 qid:1 1:10 2:4 3:1\n1 qid:1 1:30 2:2 3:2\n0 qid:1 1:20 2:2 3:1\n0 qid:2 1:5 2:7 3:1\n1 qid:2 1:3 2:7 3:5\n"
    )
    make_figure(write(tmp_path / "files", text), tmp_path / "out", scale="quick", root=tmp_path, jobs=1)
    from ltr_duel.experiment.results import StudyResults

    results = StudyResults(tmp_path / "out" / "small" / "store").results("columns K=2")
    np.testing.assert_allclose(results.values["utility"], [(0 + 1 + 0.5 + 1 + 0) / 5, 1 / 5])


def test_a_failed_run_is_named_and_how_to_go_on(tmp_path, monkeypatch):
    def fail(*_, **__):
        raise ArithmeticError("no")

    monkeypatch.setattr("ltr_duel.experiment.worker.run_once", fail)
    with pytest.raises(InputError, match=r"small: 8 of 8 runs failed; 'ltr-duel status .*--retry'"):
        make_figure(write(tmp_path / "files"), tmp_path / "out", scale="quick", root=None, jobs=1)
    assert not (tmp_path / "out" / "small" / "about.json").exists()


def test_the_command_names_what_there_is(tmp_path):
    code, out, err = finish(start("reproduce", "rucb_figure_5x", "--out", tmp_path / "out"))
    assert code == 2 and out == "" and err.count("\n") == 1
    assert "no figure 'rucb_figure_5x'; did you mean 'rucb_figure_5'?" in err and "claims)" in err
    write(tmp_path / "files")
    code, out, _ = finish(start("reproduce", "--list", "--experiments", tmp_path / "files"))
    assert code == 0 and "Beat the Mean, Figure 1: Small; data: toy" in out
    code, _, err = finish(start("reproduce", "all", "--scale", "fast", "--out", tmp_path / "out"))
    assert code == 2 and "no scale 'fast'" in err


def test_after_an_interrupt_the_same_command_goes_on(tmp_path):
    slow = SMALL.replace("repetitions=3", "repetitions=150").replace("horizon=1000", "horizon=100_000")
    write(tmp_path / "files", slow.replace(SECOND, ""))
    (tmp_path / "files" / "claims.toml").write_text("")
    words = ["reproduce", "small", "--scale", "paper", "--experiments", tmp_path / "files", "--out", tmp_path / "out"]
    store = tmp_path / "out" / "small" / "store"
    first = start(*words)
    wait_for(lambda: count_runs(store) > 3, 120)
    first.send_signal(signal.SIGINT)
    code, _, err = finish(first)
    assert code == 130 and "the same command resumes from here" in err and "Traceback" not in err
    before = {path: path.read_bytes() for path in (store / "runs").iterdir()}
    assert 0 < count_runs(store) < 600 and not (tmp_path / "out" / "small" / "about.json").exists()
    code, _, err = finish(start(*words), 300)
    assert code == 0, err
    assert count_runs(store) == 600 and all(path.read_bytes() == content for path, content in before.items())
    assert json.loads((tmp_path / "out" / "small" / "about.json").read_text())["runs"] == 600
    assert (tmp_path / "out" / "report.html").is_file() and (tmp_path / "out" / "small" / "figure.svg").is_file()


@pytest.mark.parametrize(
    "given, words",
    [
        ('"propertys", items=[]', "no measure 'propertys'; did you mean 'properties'"),
        ('"properties", itmes=[]', "small: measure 'properties': .*'items'"),
    ],
)
def test_a_measure_is_asked_for_by_its_name_and_settings(tmp_path, given, words):
    text = SMALL[: SMALL.index("    family =")] + f"    return [measured({given})]\n"
    with pytest.raises(InputError, match=words):
        make_figure(write(tmp_path / "files", text), tmp_path / "out", scale="quick", root=None, jobs=1)
