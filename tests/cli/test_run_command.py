"""``ltr-duel run``, ``status`` and ``results`` from the command line."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys

import pytest

from ltr_duel.experiment import make_schedule, problems
from ltr_duel.experiment.claims import Claims
from ltr_duel.experiment.runs import SCHEMA, write_runs
from ltr_duel.experiment.store import Store
from tests.experiment.conftest import AWKWARD, matrix_spec, rows_of

SPEC = """
name = "tiny"
policies = ["rucb", "random"]
horizon = 100
repetitions = 2
[[matrices]]
name = "m"
p = [[0.5, 0.6, 0.7], [0.4, 0.5, 0.6], [0.3, 0.4, 0.5]]
"""


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "tiny.toml"
    path.write_text(SPEC)
    return path


def test_an_experiment_from_its_file_to_its_tables(ltr_duel, spec, tmp_path):
    out = tmp_path / "out"
    answer = ltr_duel("run", spec, "--out", out, "--jobs", 1)
    assert answer.code == 0 and "4 runs planned: 4 done now, 0 already done" in answer.out, answer.err
    answer = ltr_duel("run", spec, "--out", out, "--jobs", 1)
    assert answer.code == 0 and "nothing to do" in answer.out
    answer = ltr_duel("status", out)
    assert answer.code == 0 and "4 runs: 4 done, 0 running, 0 failed, 0 waiting" in answer.out
    words = ("--csv", tmp_path / "t.csv", "--latex", tmp_path / "t.tex", "--plots", tmp_path / "figures")
    answer = ltr_duel("results", out, *words, "--format", "svg")
    assert answer.code == 0 and "rucb" in answer.out, answer.err
    assert "average regret at the horizon. p: paired two-sided Wilcoxon signed-rank test" in answer.out
    assert "With 2 repetitions, p and effect are almost meaningless: p cannot fall below 0.5," in answer.err
    columns = "problem,answers,rankers,source,policy,horizon,repetition,t,regret_"
    assert (tmp_path / "t.csv").read_text().startswith(columns)
    assert "\\toprule" in (tmp_path / "t.tex").read_text() and "Wilcoxon" in (tmp_path / "t.tex").read_text()
    assert len(list((tmp_path / "figures").glob("m-100-*.svg"))) == 3
    answer = ltr_duel("simulate", "arxiv", "--horizon", 200, "--repetitions", 2, "--out", tmp_path / "one",
                      "--format", "svg", "--width", "column", "--band", "sd", "--start", 10)  # fmt: skip
    assert answer.code == 0 and 'width="237.6pt"' in (tmp_path / "one" / "regret.svg").read_text()  # 3.3 * 72
    answer = ltr_duel("results", out, "--bibtex")
    assert answer.out.startswith("% no reference is known for the policy 'random'\n")
    assert "@inproceedings{zoghi2014rucb," in answer.out
    both = ("--regret", "average", "--regret", "copeland", "--start", 10)
    answer = ltr_duel("results", out, "--facets", tmp_path / "all.png", *both)
    assert answer.code == 0 and (tmp_path / "all.png").stat().st_size > 10_000, answer.err
    answer = ltr_duel("results", out, "--plots", tmp_path / "late", "--start", 5000)
    assert answer.code == 2 and "--start 5,000 is beyond the horizon, 100 steps" in answer.err
    assert not (tmp_path / "late").exists()


CIRCLE = """
[[matrices]]
name = "circle"
p = [[0.5, 0.6, 0.4, 0.6], [0.4, 0.5, 0.6, 0.6], [0.6, 0.4, 0.5, 0.6], [0.4, 0.4, 0.4, 0.5]]
"""


def test_each_table_names_the_regrets_of_its_rows_and_those_that_are_not_defined(ltr_duel, tmp_path):
    spec, out = tmp_path / "two.toml", tmp_path / "out"
    spec.write_text(SPEC + CIRCLE)
    assert ltr_duel("run", spec, "--out", out, "--jobs", 1).code == 0
    answer = ltr_duel("results", out, "--plots", tmp_path / "figures")
    assert "average regret and Copeland regret at the horizon. p:" in answer.out
    assert not list((tmp_path / "figures").glob("all-*"))  # 3 and 4 rankers of different problems
    latex = tmp_path / "t.tex"
    answer = ltr_duel("results", out, "--regret", "average", "--regret", "borda", "--latex", latex)
    places = [answer.out.index(f"\n{words} regret at the horizon") for words in ("average", "Borda")]
    assert places == sorted(places) and latex.read_text().count("\\begin{tabular}") == 2
    assert "circle: undefined without a Condorcet winner; use --regret copeland" in answer.err
    assert answer.err.count("undefined without a") == 1
    assert latex.read_text().count("circle: No Condorcet winner: no ranker beats all others.") == 2
    answer = ltr_duel("results", out, "--regret", "ndcg", "--regret", "utility")
    assert 'NDCG regret on m, circle: undefined, because it needs a corpus with answers = "users"' in answer.err
    assert "utility regret on m, circle: undefined, because it needs utilities" in answer.err
    assert "undefined without" not in answer.err


def test_the_dry_run_prints_the_plan_and_writes_nothing(ltr_duel, spec, tmp_path):
    answer = ltr_duel("run", spec, "--out", tmp_path / "out", "--dry-run")
    assert answer.code == 0 and not (tmp_path / "out").exists()
    assert "4 runs; 400 duels to do" in answer.out and "from short trials" in answer.out
    ltr_duel("run", spec, "--out", tmp_path / "out", "--shard", "1/2")
    answer = ltr_duel("run", spec, "--out", tmp_path / "out", "--dry-run")
    assert "4 runs, 2 of them done; 200 duels to do" in answer.out


def test_check_repeats_runs_and_finds_other_counts(ltr_duel, spec, tmp_path):
    out = tmp_path / "out"
    ltr_duel("run", spec, "--out", out, "--jobs", 1, "--shard", "1/2")
    words = ("run", spec, "--out", out, "--jobs", 1, "--check")
    answer = ltr_duel(*words, 9)
    assert (answer.code, answer.out) == (0, "2 runs repeated: all the same\n")
    assert ltr_duel(*words, 1).out == "1 runs repeated: all the same\n"
    random, rucb = rows_of(out)
    rucb[SCHEMA.get_field_index("decisions")] += 1
    shutil.rmtree(out / "runs")
    Store(out).prepare()
    name = write_runs(Store(out), [random, rucb])
    answer = ltr_duel(*words, 9)
    assert answer.code == 1 and answer.out.splitlines() == [
        f"rucb on m, horizon 100, repetition 0: other counts than in {out / 'runs' / name}",
        "2 runs repeated: 1 different",
    ]


def test_status_shows_failures_and_processes(ltr_duel, tmp_path, monkeypatch):
    (tmp_path / "plugin.py").write_text(re.sub(r'make\("(\w+)"', r'make("\1_alone"', AWKWARD))
    (tmp_path / "spec.toml").write_text(matrix_spec(["fails_alone:share=1"], repetitions=2))
    words = ("run", tmp_path / "spec.toml", "--out", tmp_path / "out", "--plugin", tmp_path / "plugin.py", "--jobs", 1)
    answer = ltr_duel(*words)
    assert answer.code == 1 and "2 failed" in answer.out and "--retry" in answer.err and "Traceback" not in answer.err
    with Claims(Store(tmp_path / "out"), {"jobs": 1, "backend": "threads"}) as claims:
        claims.take("block", 2)
        answer = ltr_duel("status", tmp_path / "out", "--traceback")
    assert answer.code == 1 and "2 runs: 0 done, 0 running, 2 failed, 0 waiting" in answer.out
    assert f"running: process {os.getpid()} on {socket.gethostname()} for 0 s (threads)" in answer.out
    where = "failed: fails_alone:share=1 on m, horizon 5, repetition 1: ArithmeticError: the sum of the parts"
    assert where in answer.out and "in fail" in answer.out


CORPUS = """
policies = "rucb"
horizon = 100
repetitions = 5
[[corpora]]
synthetic = { queries = 4, documents = 5, features = 4, grades = 2 }
comparisons = 40
subsets = { size = 2, count = 3, condorcet = true }
answers = ["matrix", "users"]
"""


def test_a_dry_run_costs_no_estimation(ltr_duel, tmp_path, monkeypatch):
    monkeypatch.setenv("LTR_DUEL_HOME", str(tmp_path / "home"))
    spec = tmp_path / "corpus.toml"
    spec.write_text(CORPUS)
    with monkeypatch.context() as patch:
        patch.setattr(problems, "estimate_preferences", None)
        answer = ltr_duel("run", spec, "--dry-run", "--shard", "1/4")
    assert answer.code == 0, answer.err
    assert "6 problems" in answer.out and "8 runs; 800 duels to do" in answer.out
    assert "to estimate first: 1 preference matrices, 240 comparisons in all" in answer.out
    make_schedule(spec)
    assert "to estimate" not in ltr_duel("run", spec, "--dry-run").out


def test_status_imports_no_kernels():
    heavy = ("numba", "matplotlib", "scipy")
    script = f"import sys, ltr_duel.experiment.status; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
