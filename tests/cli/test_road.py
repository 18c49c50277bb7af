"""The whole workflow on the command line, and all errors of its input."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from ltr_duel.preferences.io import load_preferences, save_preferences
from tests.conftest import ROCK_PAPER_SCISSORS, bradley_terry

FILES = ("report.html", "regret.png", "preferences.png", "preferences.parquet", "results.parquet")
QUICK = ("--comparisons", "300", "--horizon", "3000", "--repetitions", "2")
COINS = ("--sets", "independent-coins")  # MDB compares sets


def test_the_demo_leaves_its_five_files_and_says_who_won(ltr_duel, corpus, tmp_path):
    out = tmp_path / "out"
    answer = ltr_duel("demo", "--data", corpus, "--out", out, *QUICK)
    assert answer.code == 0, answer.err
    assert all((out / name).stat().st_size > 1000 for name in FILES)
    assert "feature 4 is constant within each query" in answer.err
    assert all(said in answer.out for said in ("Condorcet winner: 1.", "rucb: average regret", "mdb: average regret"))
    page = (out / "report.html").read_text()
    assert "1 features are constant within each query" in page
    assert (
        "http://" not in page
        and "https://" not in page
        and page.count("data:image/png;base64,") == 2
        and "navigational" in page
    )


def test_the_demo_makes_its_own_corpus_as_text(ltr_duel, tmp_path):
    answer = ltr_duel("demo", "--out", tmp_path, "--comparisons", "2", "--horizon", "100", "--repetitions", "1")
    assert answer.code == 0, answer.err
    assert "136 features, grades 0..4" in answer.out
    assert any(path.name.endswith(".txt.gz") for path in tmp_path.iterdir())


@pytest.mark.parametrize("name", ["MQ2008/Fold1", "NP2004/Fold1", "MSLR_sample/WEB30K_Fold1_vali_head18q.txt.gz"])
def test_the_demo_runs_on_real_corpora(ltr_duel, real_data, tmp_path, name):
    answer = ltr_duel(
        "demo", "--data", real_data / name, "--out", tmp_path, "--comparisons", "100", "--horizon", "3000",
        "--repetitions", "2",
    )  # fmt: skip
    assert answer.code == 0, answer.err
    assert all((tmp_path / file).exists() for file in FILES)


def test_estimate_show_and_simulate(ltr_duel, corpus, tmp_path):
    matrix, out = tmp_path / "m.parquet", tmp_path / "runs"
    answer = ltr_duel(
        "prefs", "estimate", corpus, "--clicks", "perfect", "--method", "probabilistic", "--outcome", "sampled",
        "--comparisons", "400", "--top", "5", "--seed", "3", "--jobs", "2", "--out", matrix,
    )  # fmt: skip
    assert answer.code == 0 and "3 rankers, 400 comparisons" in answer.out
    assert "feature 4 is constant within each query in small; left out of the rankers" in answer.err
    estimated = load_preferences(matrix)
    assert estimated.names == ("1", "2", "3") and estimated.condorcet_winner == "1"
    assert estimated.provenance["outcome"] == "sampled" and estimated.provenance["top"] == 5
    assert "Condorcet winner: 1" in ltr_duel("prefs", "show", matrix).out

    answer = ltr_duel(
        "simulate", matrix, "--policy", "rucb", "--policy", "mdb", *COINS, "--horizon", "1e3", "--out", out
    )
    assert answer.code == 0, answer.err
    assert "independent coins" in answer.out
    frame = pd.read_parquet(out / "results.parquet")
    assert {"policy", "repetition", "t", "regret_average"} <= set(frame)
    assert set(frame["policy"]) == {"rucb", "mdb"} and frame["t"].max() == 1000 and frame["repetition"].nunique() == 20
    assert {"pulls", "arm"} <= set(pd.read_parquet(out / "pulls.parquet"))
    assert (out / "regret.png").exists()


def test_sets_run_on_a_matrix_if_independent_coins_are_accepted(ltr_duel, tmp_path):
    path, more = save_preferences(bradley_terry(3), tmp_path / "m.parquet"), ("--horizon", "50", "--repetitions", "1")
    refused(ltr_duel("simulate", path, "--policy", "mdb", *more), "--sets independent-coins", "--users")
    refused(ltr_duel("simulate", "--users", "x.txt", "--policy", "mdb", *COINS), "--sets requires the FILE of a matrix")
    pairs = ltr_duel("simulate", path, "--policy", "rucb", *more, "--out", tmp_path / "pairs")
    assert pairs.code == 0 and "coins" not in pairs.out
    sets = ltr_duel("simulate", path, "--policy", "mdb", *COINS, *more, "--out", tmp_path / "sets")
    assert sets.code == 0 and "independent coins" in sets.out


def test_the_same_seed_gives_the_same_files(ltr_duel, corpus, tmp_path):
    for jobs in (1, 2):
        ltr_duel("demo", "--data", corpus, "--out", tmp_path / str(jobs), "--jobs", jobs, "--seed", 4, *QUICK)
    for name in ("preferences.parquet", "results.parquet", "pulls.parquet", "regret.png", "report.html"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes(), name


@pytest.mark.parametrize("command", ["simulate --users", "sensitivity"])
def test_a_feature_without_an_order_is_used_where_it_is_named_and_named_where_it_is_not_used(
    ltr_duel, corpus, tmp_path, monkeypatch, command
):
    monkeypatch.chdir(tmp_path)
    few = {"sensitivity": ["--impressions", "50"]}.get(command, ["--comparisons", "40"])
    more = (
        ["--policy", "rucb", "--horizon", "50", "--repetitions", "1", "--overwrite"]
        if command == "simulate --users"
        else []
    )
    for words, use in ((["--rankers", "features:1,4"], "--ties alone orders"), ([], "left out of the rankers")):
        answer = ltr_duel(*command.split(), corpus, *words, *few, *more)
        assert answer.code == 0 and answer.err.count("feature 4 is constant within each query in small; " + use) == 1


def test_no_condorcet_winner_is_said_plainly(ltr_duel, tmp_path):
    path = save_preferences(ROCK_PAPER_SCISSORS, tmp_path / "m.parquet")
    assert "No Condorcet winner: no ranker beats all others." in ltr_duel("prefs", "show", path).out
    answer = ltr_duel("simulate", path, "--policy", "rucb", "--horizon", "100", "--out", tmp_path / "out")
    assert answer.code == 0 and "Copeland regret" in answer.out


def refused(answer, *words):
    """One sentence on stderr, exit code 2, no traceback."""
    assert answer.code == 2
    assert answer.err.startswith("ltr-duel: ") and answer.err.count("\n") == 1, answer.err
    for word in words:
        assert word in answer.err
    assert "Traceback" not in answer.err


@pytest.mark.parametrize(
    "options, words",
    [
        (("--data", "nowhere.txt"), ["nowhere.txt"]),
        (("--clicks", "navigationl"), ["no click model 'navigationl'", "'navigational'", "informational"]),
        (("--horizon", "0"), ["horizon must be between 1", "not 0"]),
        (("--horizon", "many"), ["'many' is not a whole number"]),
        (("--horizon", "1.5"), ["'1.5' is not a whole number"]),
        (("--repetitions", "0"), ["the number of repetitions must be at least 1, not 0"]),
        (("--comparisons", "1"), ["comparisons must be at least 2, not 1"]),
        (("--policy", "rubc"), ["no policy 'rubc'", "'rucb'"]),
        (("--policy", "rucb:alpha=0.001"), ["alpha must be at least 0.01, not 0.001"]),
        (("--jobs", "0"), ["jobs must be at least 1"]),
        (("--sed", "1"), ["--sed"]),
    ],
)  # fmt: skip
def test_bad_options_are_one_sentence_and_leave_nothing(ltr_duel, corpus, tmp_path, options, words):
    out = tmp_path / "out"
    refused(ltr_duel("demo", "--data", corpus, "--out", out, *QUICK, *options), *words)
    assert not out.exists()


@pytest.mark.parametrize(
    "text, words",
    [
        ("0 qid:1 1:0.5 2:1\n0 qid:1 1:0.7 2:3\n", ["no document has a grade above 0"]),
        ("1 qid:1 1:0.5\n0 qid:1 1:0.7\n", ["at least two rankers", "there is 1"]),
        ("7 qid:1 1:0.5 2:1\n0 qid:1 1:0.7 2:3\n", ["this corpus has 8 (0..7)", "2, 3, 5 grades"]),
        ("1 qid:1 1:1 2:1\n0 qid:1 1:1 2:1\n", ["no ranker is left"]),
    ],
)
def test_bad_corpora_are_one_sentence_and_leave_nothing(ltr_duel, tmp_path, text, words):
    path, out = tmp_path / "bad.txt", tmp_path / "out"
    path.write_text(text)
    refused(ltr_duel("demo", "--data", path, "--out", out, *QUICK), *words)
    assert not out.exists()


def test_one_query_is_enough(ltr_duel, tmp_path):
    path = tmp_path / "one.txt"
    path.write_text("1 qid:1 1:3 2:1\n0 qid:1 1:1 2:3\n0 qid:1 1:2 2:2\n")
    answer = ltr_duel("demo", "--data", path, "--out", tmp_path / "out", *QUICK)
    assert answer.code == 0 and "Condorcet winner: 1." in answer.out


def test_matrices_that_cannot_be_read_or_written_are_refused(ltr_duel, corpus, tmp_path):
    refused(ltr_duel("prefs", "show", tmp_path / "missing"), "missing", "no such file")
    refused(
        ltr_duel("simulate", corpus, "--policy", "rucb", "--out", tmp_path / "out"), "small.txt:1", "row of numbers"
    )
    target = corpus / "below a file.parquet"
    refused(ltr_duel("prefs", "estimate", corpus, "--comparisons", "2", "--out", target), "written")
    assert not (tmp_path / "out").exists()


def test_the_saved_matrix_is_the_estimated_one(ltr_duel, corpus, tmp_path):
    from ltr_duel import estimate_preferences, feature_rankers, load_dataset

    ltr_duel("prefs", "estimate", corpus, "--comparisons", "200", "--out", tmp_path / "m.parquet")
    direct = estimate_preferences(feature_rankers(load_dataset(corpus)), comparisons=200)
    assert load_preferences(tmp_path / "m.parquet").p == pytest.approx(direct.p, abs=1e-15)
    assert bradley_terry(2).condorcet_winner == "0"


@pytest.mark.usefixtures("forgetting")
def test_all_policies_and_those_of_a_file_can_be_simulated(ltr_duel, tmp_path):
    from ltr_duel.bandits.policy import POLICIES

    path = save_preferences(bradley_terry(3), tmp_path / "m.parquet")
    plugin = tmp_path / "mine.py"
    text = Path(POLICIES["random"].select.__code__.co_filename).read_text()
    plugin.write_text(text.replace('name="random', 'name="my_random'))
    answer = ltr_duel(
        "simulate", path, "--plugin", plugin, "--policy", "my_random", "--horizon", 50, "--repetitions", 1,
        "--out", tmp_path / "out",
    )  # fmt: skip
    assert answer.code == 0, answer.err
    assert set(pd.read_parquet(tmp_path / "out" / "results.parquet")["policy"]) == {"my_random"}
    refused(ltr_duel("simulate", path, "--plugin", tmp_path / "none.py", "--policy", "rucb"), "none.py")


@pytest.fixture
def forgetting():
    """Unregister the policies of plug-in files after the test."""
    from ltr_duel.bandits.policy import POLICIES

    before = POLICIES.names()
    yield
    for name in set(POLICIES.names()) - set(before):
        POLICIES.remove(name)


@pytest.mark.usefixtures("forgetting")
def test_a_policy_that_cannot_be_compiled_is_said_in_one_sentence(ltr_duel, tmp_path):
    from ltr_duel.bandits.policy import POLICIES

    path = save_preferences(bradley_terry(3), tmp_path / "m.parquet")
    plugin, spec = tmp_path / "uncompiled.py", tmp_path / "spec.toml"
    text = Path(POLICIES["random"].select.__code__.co_filename).read_text()
    text = text.replace("state.wins[first, second]", "state.won[0]")
    plugin.write_text(text.replace('name="random', 'name="uncompiled'))
    words = ("update of policy 'uncompiled' fails: AttributeError", f"{plugin}:", "no attribute 'won'")
    refused(ltr_duel("simulate", path, "--plugin", plugin, "--policy", "uncompiled"), *words)
    spec.write_text('policies = ["uncompiled"]\nrepetitions = 2\nhorizon = 5\n[[matrices]]\nname = "m"\np = [[0.5]]\n')
    for options in ((), ("--backend", "loky")):
        refused(ltr_duel("run", spec, "--plugin", plugin, "--out", tmp_path / "out", "--jobs", 1, *options), *words)
