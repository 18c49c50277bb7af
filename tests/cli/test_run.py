"""``ltr-duel run``, ``status`` and ``results``."""

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
CIRCLE = """
[[matrices]]
name = "circle"
p = [[0.5, 0.6, 0.4, 0.6], [0.4, 0.5, 0.6, 0.6], [0.6, 0.4, 0.5, 0.6], [0.4, 0.4, 0.4, 0.5]]
"""


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "tiny.toml"
    path.write_text(SPEC)
    return path


@pytest.fixture
def study(succeed, spec, tmp_path):
    """Run the experiment with a problem that has no Condorcet winner; return the folder."""
    spec.write_text(SPEC + CIRCLE)
    succeed("run", spec, "--out", tmp_path / "out", "--jobs", 1)
    return tmp_path / "out"


def test_a_second_run_has_nothing_to_do_and_a_longer_schedule_continues(succeed, spec, tmp_path):
    words = ("run", spec, "--out", tmp_path / "out", "--jobs", 1)
    assert succeed(*words) == "4 runs planned: 4 done now, 0 already done\n"
    assert succeed(*words) == "4 runs planned: 0 done now, 4 already done\n"
    assert "4 runs: 4 done, 0 running, 0 failed, 0 waiting" in succeed("status", tmp_path / "out")
    spec.write_text(SPEC.replace("repetitions = 2", "repetitions = 3"))
    assert succeed(*words) == "6 runs planned: 2 done now, 4 already done\n"


def test_results_are_a_table_a_line_of_notes_and_a_folder(succeed, study, tmp_path):
    shown = succeed("results", study, "--out", tmp_path / "page", "--figures", "svg")
    rows = [re.split(r"\s{2,}", line) for line in shown.splitlines()]
    assert rows[0][:3] == ["problem", "horizon", "regret"] and len(rows) == 7
    assert [row[2] for row in rows[1:5]] == ["average regret"] * 2 + ["Copeland regret"] * 2
    assert shown.splitlines()[5].startswith("note: circle: No Condorcet winner")
    names = {"results.csv", "table.tex", "regret.svg", "regret-m-100.svg", "regret-circle-100.svg"}
    assert {path.name for path in (tmp_path / "page").iterdir()} == names
    assert "no ranker is shown to beat all others" in (tmp_path / "page" / "regret-circle-100.svg").read_text()
    columns = "problem,answers,rankers,source,policy,horizon,repetition,t,regret_"
    assert (tmp_path / "page" / "results.csv").read_text().startswith(columns)
    latex = (tmp_path / "page" / "table.tex").read_text()
    assert latex.startswith("% horizon: 100 steps\n") and "horizon" not in latex.partition("toprule")[2]
    assert "Wilcoxon" in latex and "circle: No Condorcet winner: no ranker" in latex
    succeed("results", study, "--regret", "average", "--out", tmp_path / "figures")
    assert {path.name for path in (tmp_path / "figures").glob("regret-*")} == {"regret-m-100.png"}, "average on circle"
    assert "average regret, mean" in (tmp_path / "figures" / "table.tex").read_text()


@pytest.mark.parametrize(("more", "runs", "least"), [("", 4, "0.12"), (", 'savage'", 6, "0.094")])
def test_the_least_p_is_corrected_for_all_pairs_of_policies(succeed, spec, tmp_path, more, runs, least):
    spec.write_text(SPEC.replace('"random"', f"'random'{more}").replace("repetitions = 2", f"repetitions = {runs}"))
    succeed("run", spec, "--out", tmp_path / "out", "--jobs", 1)
    shown = succeed("results", tmp_path / "out", "--explain")
    needed = 6 if runs == 4 else 7  # 2^-5 < .05, 3 * 2^-6 < .05
    assert f"p is at least {least} and" in shown and f"at least {needed} repetitions are needed for p < 0.05" in shown


def test_each_named_regret_has_a_table_and_a_reason_where_it_is_undefined(succeed, study):
    words = [word for name in ("average", "borda", "ndcg", "utility") for word in ("--regret", name)]
    shown = succeed("results", study, *words, "--explain")
    heads = [shown.index(f"{name} regret:\n") for name in ("average", "Borda", "NDCG", "utility")]
    assert heads == sorted(heads)
    assert "average regret on circle is undefined, because there is no Condorcet winner" in shown
    assert "NDCG regret on m, circle is undefined, because it needs simulated users" in shown
    assert "Borda regret on" not in shown
    shown = succeed("results", study, "--bibtex", "--study", next((study / "studies").iterdir()).name[:8])
    assert shown.startswith("% no reference is known for the policy 'random'\n") and "{zoghi2014rucb," in shown


def test_the_dry_run_prints_the_plan_and_writes_nothing(succeed, spec, tmp_path):
    words = ("run", spec, "--out", tmp_path / "out")
    shown = succeed(*words, "--dry-run")
    assert "4 runs; 400 duels to do" in shown and not (tmp_path / "out").exists()
    succeed(*words, "--shard", "1/2")
    assert "4 runs, 2 of them done; 200 duels to do" in succeed(*words, "--dry-run")


def test_check_repeats_runs_and_finds_other_counts(ltr_duel, succeed, spec, tmp_path):
    out = tmp_path / "out"
    words = ("run", spec, "--out", out, "--jobs", 1)
    succeed(*words, "--shard", "1/2")
    assert succeed(*words, "--check", 9) == "2 runs repeated: all the same\n"
    random, rucb = rows_of(out)
    rucb[SCHEMA.get_field_index("decisions")] += 1
    shutil.rmtree(out / "runs")
    Store(out).prepare()
    name = write_runs(Store(out), [random, rucb])
    answer = ltr_duel(*words, "--check", 9)
    assert answer.code == 1 and answer.out.splitlines() == [
        f"rucb on m, horizon 100, repetition 0: other counts than in {out / 'runs' / name}",
        "2 runs repeated: 1 different",
    ]


def test_status_shows_failures_and_processes(ltr_duel, tmp_path):
    (tmp_path / "plugin.py").write_text(re.sub(r'make\("(\w+)"', r'make("\1_alone"', AWKWARD))
    (tmp_path / "spec.toml").write_text(matrix_spec(["fails_alone:share=1"], repetitions=2))
    words = ("run", tmp_path / "spec.toml", "--out", tmp_path / "out", "--plugin", tmp_path / "plugin.py", "--jobs", 1)
    answer = ltr_duel(*words)
    assert answer.code == 1 and "2 failed" in answer.out and "--retry" in answer.err
    with Claims(Store(tmp_path / "out"), {"jobs": 1, "backend": "threads"}) as claims:
        claims.take("block", 2)
        answer = ltr_duel("status", tmp_path / "out", "--traceback")
    assert answer.code == 1 and "2 runs: 0 done, 0 running, 2 failed, 0 waiting" in answer.out
    assert f"running: process {os.getpid()} on {socket.gethostname()} for 0 s (threads)" in answer.out
    failure = "failed: fails_alone:share=1 on m, horizon 5, repetition 1: ArithmeticError: the sum of the parts"
    assert failure in answer.out and "in fail" in answer.out


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


def test_a_dry_run_costs_no_estimation(succeed, tmp_path, monkeypatch):
    monkeypatch.setenv("LTR_DUEL_HOME", str(tmp_path / "home"))
    spec = tmp_path / "corpus.toml"
    spec.write_text(CORPUS)
    with monkeypatch.context() as patch:
        patch.setattr(problems, "estimate_preferences", None)
        shown = succeed("run", spec, "--dry-run", "--shard", "1/4")
    assert "6 problems" in shown and "8 runs; 800 duels to do" in shown
    assert "to estimate first: 1 preference matrices, 240 comparisons in all" in shown
    make_schedule(spec)
    assert "to estimate" not in succeed("run", spec, "--dry-run")


def test_status_imports_no_kernels():
    heavy = ("numba", "matplotlib", "scipy")
    script = f"import sys, ltr_duel.experiment.status; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
