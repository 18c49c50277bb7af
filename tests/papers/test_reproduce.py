"""A figure from its file to its table and its page: the data that are used, and what a second call does."""

from __future__ import annotations

import json
import signal

import numpy as np
import pandas as pd
import pytest

from ltr_duel.core import InputError
from ltr_duel.papers import NoDataError, list_figures, make_figure, read_made, write_pages
from tests.conftest import ROCK_PAPER_SCISSORS
from tests.experiment.conftest import count_runs, finish, start, wait_for
from tests.site.snippets import run_command

SMALL = '''
from ltr_duel.papers import another, arxiv_properties, corpus, figure, matrix, measured, published, ratio, real, row
from ltr_duel.papers import study, utilities


@figure("beat_the_mean", "Figure 1", drawing="regret", rows=[
    row("B5", "less regret", "5", ratio("winner_stays", "rucb", each=["problem"], words="quotient")),
])
def small():
    """Small.

    The paper: something.

    Setting: small
    """
    family = matrix(family="equal_gaps", size=[3, 4])
    toy = corpus("toy", real("toy/full.txt"), another("toy/part.txt", note="a part of toy"), comparisons=40,
                 optional=True)
    quick = {"horizon": 100, "repetitions": 2}
    return [
        study(["rucb", "winner_stays"], family, horizon=1000, repetitions=3, regrets=["average"], quick=quick),
        study(["savage"], toy, horizon=[100, 200], repetitions=2, regrets=["average", "strong"]),
    ]
'''
LINES = [
    f"{grade} qid:{query} 1:{value} 2:{1 - value} 3:{value * grade}\n"
    for query in range(4)
    for grade, value in ((0, 0.2), (1, 0.9), (0, 0.5))
]


@pytest.fixture
def make(tmp_path):
    """Return a function that reproduces the figure of a file."""

    def make(text=SMALL, scale="paper", root=None):
        (tmp_path / "files").mkdir(exist_ok=True)
        (tmp_path / "files" / "small.py").write_text(text)
        (figure,) = list_figures(tmp_path / "files").values()
        return make_figure(figure, tmp_path / "out", scale=scale, root=root, jobs=1)

    return make


@pytest.fixture
def toy(tmp_path):
    """Return a folder of data with a part of the corpus."""
    (tmp_path / "data" / "toy").mkdir(parents=True)
    (tmp_path / "data" / "toy" / "part.txt").write_text("".join(LINES))
    return tmp_path / "data"


def test_a_figure_leaves_one_tidy_table_and_says_where_it_comes_from(make, tmp_path, toy):
    made = make(root=toy)
    frame = pd.read_parquet(tmp_path / "out" / "small" / "data.parquet")
    pd.testing.assert_frame_equal(frame, made.frame)
    ends = frame[frame["t"] == frame["horizon"]]
    counted = ends.groupby(["study", "problem", "policy", "horizon"])["repetition"].nunique().to_dict()
    assert counted == {
        (1, "equal_gaps K=3", "rucb", 1000): 3, (1, "equal_gaps K=3", "winner_stays", 1000): 3,
        (1, "equal_gaps K=4", "rucb", 1000): 3, (1, "equal_gaps K=4", "winner_stays", 1000): 3,
        (2, "toy", "savage", 100): 2, (2, "toy", "savage", 200): 2,
    }  # fmt: skip
    sources = {"equal_gaps K=3": "as in the paper", "equal_gaps K=4": "as in the paper", "toy": "another corpus"}
    assert dict(zip(frame["problem"], frame["source"], strict=True)) == sources
    assert {"problem": "toy", "source": "another corpus", "note": "a part of toy"} in made.facts["sources"]
    assert (made.facts["runs"], made.facts["shortened"]) == (16, False) and "note" not in frame


def test_the_first_source_that_exists_is_used_and_an_optional_problem_without_one_is_left_out(make, toy):
    assert set(make(scale="quick").frame["study"]) == {1}
    assert set(make(scale="quick", root=toy).frame.query("study == 2")["source"]) == {"another corpus"}
    (toy / "toy" / "full.txt").write_text("".join(LINES))
    assert set(make(scale="quick", root=toy).frame.query("study == 2")["source"]) == {"real data"}


def test_the_quick_scale_has_its_own_settings_and_is_called_shortened(make):
    made = make(scale="quick")
    assert set(made.frame["horizon"]) == {100} and set(made.frame["repetition"]) == {0, 1}
    assert made.facts["shortened"] and made.facts["scale"] == "quick"


def test_a_figure_without_data_is_named_with_the_option(make):
    alone = SMALL.replace("optional=True", "").replace('study(["rucb", "winner_stays"], family', 'study(["rucb"], toy')
    with pytest.raises(NoDataError, match=r"none of toy/full.txt, toy/part.txt is in .*; name the folder with --data"):
        make(alone)


def test_a_problem_without_a_winner_gets_copeland_regret(make):
    circle = SMALL.replace('family="equal_gaps", size=[3, 4]', f"name='circle', p={ROCK_PAPER_SCISSORS.p.tolist()}")
    frame = make(circle, scale="quick").frame
    assert frame["regret_average"].isna().all() and frame["regret_copeland"].notna().all()


def test_published_matrices_get_the_errors_of_their_comparisons(make, tmp_path):
    np.save(tmp_path / "m.npy", [[0.5, 0.6, 0.7], [0.4, 0.5, 0.8], [0.3, 0.2, 0.5]])
    text = SMALL.replace('family="equal_gaps", size=[3, 4]', 'published("m.npy", comparisons=6248), name="three"')
    make(text, scale="quick", root=tmp_path)
    from ltr_duel.experiment import StudyResults

    matrix = StudyResults(tmp_path / "out" / "store").matrix("three")
    assert matrix.standard_error[0, 1] == pytest.approx(np.sqrt(0.6 * 0.4 / 6248)) and matrix.comparisons[0, 1] == 6248


def test_random_subsets_of_features_have_the_means_of_these_features(make, tmp_path, toy):
    from ltr_duel.experiment import StudyResults

    arms = 'utilities(real("toy/part.txt"), name="arms", model="linear", subsets={"size": [2], "count": 3})'
    text = SMALL.replace('matrix(family="equal_gaps", size=[3, 4])', arms).replace('["average"]', '["utility"]')
    make(text, scale="quick", root=toy)
    results = StudyResults(tmp_path / "out" / "store")
    names = [name for name in results.problems if name != "toy"]
    assert names == ["arms K=2 #1", "arms K=2 #2", "arms K=2 #3"]
    value, means = (0 + 1 + 3 / 7) / 3, {}
    means |= {"0": value, "1": 1 - value, "2": 1 / 3}  # each feature is scaled to 0..1 within its query
    for name in names:
        found = results.results(name)
        assert found.values["utility"] == pytest.approx([means[arm] for arm in found.matrix.names])


def test_a_second_make_figure_runs_nothing_and_writes_the_same_tables(make, tmp_path):
    def result():
        make()
        files = ("data.parquet", "data.csv", "study-1.toml")
        runs = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "out" / "store" / "runs").iterdir()}
        return runs, [(tmp_path / "out" / "small" / name).read_bytes() for name in files]

    assert result() == result()


def test_a_figure_with_a_failed_run_names_the_retry_command(make, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise ArithmeticError("no")

    monkeypatch.setattr("ltr_duel.experiment.worker.run_once", fail)
    with pytest.raises(InputError, match=r"small: 8 of 8 runs failed; 'ltr-duel status .*--retry'"):
        make(scale="quick")
    assert not (tmp_path / "out" / "small" / "about.json").exists()


def test_a_folder_that_is_not_a_reproduced_figure_is_named(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "about.json").write_text("{")
    with pytest.raises(InputError, match=r"mine: not a reproduced figure \(.*\); remove the folder"):
        read_made(tmp_path)


def test_the_page_of_a_paper_has_its_table_and_its_figures(make, tmp_path):
    made = make(scale="quick")
    measured = SMALL.replace("small()", "other()").replace(', drawing="regret"', "")
    measured = measured[: measured.index("    family")] + "    return [measured(arxiv_properties)]\n"
    other = make(measured)
    other.frame.insert(0, "empty", float("nan"))
    (tmp_path / "files" / "two.py").write_text(SMALL.replace('"B5"', '"B6"'))
    figures = list_figures(tmp_path / "files")
    ((page, table),) = write_pages(figures, {"small": made, "other": other}, tmp_path / "out").items()
    text = page.read_text()
    assert page == tmp_path / "out" / "beat_the_mean.html" and table["row"].tolist() == ["B5", "B6"]
    assert "less regret" in text and "shorter or fewer runs than printed" in text and "The paper: something." in text
    assert text.count('src="data:image/png;base64,') == 1 and 'href="small/data.csv"' in text
    assert ">nan<" not in text
    assert "violations of the triangle inequality" in text, "a figure without a drawing shows its table"
    markdown = (tmp_path / "out" / "beat_the_mean.md").read_text()
    assert "| B6 | less regret | 5 | quotient: equal_gaps K=3: " in markdown
    assert (tmp_path / "out" / "small" / "figure.svg").is_file()


def test_reproduce_prints_the_rows_and_lists_the_figures(tmp_path):
    code, said = run_command(["reproduce", "beat_the_mean_table_1", "--out", str(tmp_path / "out")])
    assert code == 0 and "B3: differs. as well as stochastic triangle inequality" in said and "[1/1]" in said
    assert (tmp_path / "out" / "beat_the_mean.html").is_file()
    code, said = run_command(["reproduce", "rucb_figure_5x", "--out", str(tmp_path / "out")])
    assert code == 2 and said.count("\n") == 1 and "all)" in said
    assert "no figure 'rucb_figure_5x'; did you mean 'rucb_figure_5'?" in said


@pytest.mark.long
def test_reproduce_resumes_after_an_interrupt(tmp_path):
    slow = SMALL.replace("repetitions=3", "repetitions=150").replace("horizon=1000", "horizon=100_000")
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "small.py").write_text(slow)
    words = ["reproduce", "small", "--scale", "paper", "--experiments", tmp_path / "files", "--out", tmp_path / "out"]
    store = tmp_path / "out" / "store"
    first = start(*words)
    wait_for(lambda: count_runs(store) > 3, 120)
    first.send_signal(signal.SIGINT)
    code, _, err = finish(first)
    assert code == 130 and "the same command resumes from here" in err and "Traceback" not in err
    assert 0 < count_runs(store) < 600 and not (tmp_path / "out" / "small" / "about.json").exists()
    code, _, err = finish(start(*words), 300)
    assert code == 0, err
    assert count_runs(store) == 600
    assert json.loads((tmp_path / "out" / "small" / "about.json").read_text())["runs"] == 600
