"""A new policy, comparison method or click model is one new file without further edits, tested in a copy.

The copy runs interpreted, so that nothing has to be compiled; interpreted and compiled give the same bytes.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ltr_duel
from tests.site.snippets import DOCS, python_code

pytestmark = pytest.mark.long
ROOT = Path(__file__).resolve().parents[1]
POLICIES = ("novel_one", "novel_two", "novel_three")
POLICY = '''
"""Random pairs; the arm with the most wins is recommended."""

from typing import NamedTuple

import numpy as np

from ltr_duel.bandits import register
from ltr_duel.core import NoParams, random_below


class State(NamedTuple):
    wins: np.ndarray


def init(n_arms: int, horizon: int, params: NoParams) -> State:
    return State(np.zeros(n_arms, np.int64))


def select(state, params, t, rng):
    return random_below(state.wins.shape[0], rng), random_below(state.wins.shape[0], rng)


def update(state, params, t, first, second, outcome, rng):
    if outcome != 0:
        state.wins[first if outcome > 0 else second] += 1


def recommend(state, params):
    best = 0
    for arm in range(state.wins.shape[0]):
        if state.wins[arm] > state.wins[best]:
            best = arm
    return best


register(__name__, assumes="nothing", regret="linear in T", cost="O(K)", where="a test")
'''
COMMANDS = """
import sys
from pathlib import Path
from click.testing import CliRunner
from ltr_duel.cli.main import cli
from ltr_duel.data import make_corpus, write_svmlight

def run(*words):
    answer = CliRunner().invoke(cli, [str(word) for word in words], catch_exceptions=False)
    assert answer.exit_code == 0, answer.output
    return answer.output

out = Path(sys.argv[1])
corpus = out / "corpus.txt"
write_svmlight(make_corpus(queries=6, documents=8, features=4, grades=3), corpus)
for words in (["list", "policies"], ["list", "methods"], ["list", "clicks"]):
    print(run(*words))
estimate = ["prefs", "estimate", corpus, "--clicks", "hasty", "--method", "novel_method", "--comparisons", 20]
run(*estimate, "--out", out / "p.parquet")
named = [word for name in ("novel_one", "novel_two", "novel_three") for word in ("--policy", name)]
print(run("simulate", out / "p.parquet", *named, "--horizon", 50, "--repetitions", 2, "--out", out / "simulation"))
"""


def example(page: str, marker: str) -> str:
    """Return the Python example of a page of docs/ that contains the marker."""
    return next(block for block in python_code(DOCS / page) if marker in block)


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """Copy the required files, add six new files, and return a function that runs Python in the copy."""
    folder = tmp_path_factory.mktemp("copy")
    for path in (Path(ltr_duel.__file__).parent, ROOT / "docs", ROOT / "tests", ROOT / "tools"):
        unwanted = shutil.ignore_patterns("__pycache__", "_build", "generated")
        shutil.copytree(path, folder / path.name, ignore=unwanted)
    shutil.copy(ROOT / "pyproject.toml", folder)
    package = folder / "ltr_duel"
    pages = {package / "bandits" / "policies" / f"{name}.py": POLICY for name in POLICIES}
    pages[package / "interleaving" / "methods" / "novel_method.py"] = example("methods.md", "def draw_pair")
    pages[package / "clicks" / "models" / "hasty.py"] = example("click_models.md", 'name="hasty"')
    for path, text in pages.items():
        assert path.parent.is_dir() and not path.exists()
        path.write_text(text.lstrip(), encoding="utf-8")
    environment = os.environ | {
        "PYTHONPATH": str(folder),
        "LTR_DUEL_HOME": str(folder / "home"),
        "NUMBA_DISABLE_JIT": "1",
    }

    def run(*words):
        done = subprocess.run([sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("tools/component_tables.py", "docs")
    return run


def test_contracts_and_tables_of_the_copy_include_new_components(copy):
    """Contracts and current tables use the registries."""
    found = copy(
        "-m", "pytest", "-vv", "-p", "no:cacheprovider", "-o", "filterwarnings=default",
        "-k", "novel or tables",
        "tests/bandits/test_check.py", "tests/interleaving/test_check.py", "tests/cli/test_plugin_files.py",
        "tests/cli/test_tables.py", "tests/analysis",
    )  # fmt: skip
    for name in (*POLICIES, "novel_method"):
        assert re.search(rf"\[(\w+-)?{name}\] PASSED", found), f"no contract was checked of {name}"
    assert "up_to_date" in found


def test_commands_of_the_copy_list_new_components(copy, tmp_path):
    found = copy("-c", COMMANDS, str(tmp_path))
    for name in (*POLICIES, "novel_method", "hasty"):
        assert re.search(rf"^ *{name}(  .*)?$", found, re.M), f"{name} is not listed"
    assert found.count("novel_three") >= 2, "listed, and in the table of the simulation"
    assert (tmp_path / "simulation" / "regret.png").stat().st_size > 5000
