"""What a command does not wait for: unused imports, the compiler, a reader that has closed the pipe."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from ltr_duel.bandits import POLICIES
from ltr_duel.cli._words import declared_names
from ltr_duel.interleaving import METHODS
from ltr_duel.preferences import save_preferences, synthetic_preferences


def python(script, folder=None, **environment):
    return subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, **environment}, cwd=folder, capture_output=True, text=True,
        check=True,
    )  # fmt: skip


def test_the_names_in_the_sources_are_those_of_the_registries():
    own = {policy.name for policy in POLICIES if policy.state.__module__.startswith("ltr_duel.")}
    assert own == set(declared_names("bandits/policies"))
    own = {method.name for method in METHODS if method.init.__module__.startswith("ltr_duel.")}
    assert own == set(declared_names("interleaving/methods"))


def test_completion_and_an_unknown_policy_load_no_compiler():
    script = "import sys, ltr_duel.cli._words as words; from ltr_duel.cli.main import main\n"
    script += "print(words.policy_names(None, None, 'ruc'), [m for m in ('numba', 'numpy') if m in sys.modules])\n"
    script += "try: main('simulate', 'matrix.csv', '--policy', 'rucp:alpha=1')\n"
    script += "except SystemExit as end: print(end.code, 'numba' in sys.modules)"
    assert python(script).stdout == "['rucb'] []\n2 False\n"


@pytest.mark.long
def test_a_command_says_once_that_it_compiles(tmp_path):
    script = "import ltr_duel.cli.main; from ltr_duel.core import coin, random_below, stream\n"
    script += "coin(stream(0)); random_below(6, stream(0))"
    settings = {"LTR_DUEL_HOME": str(tmp_path), "LTR_DUEL_PROGRESS": "1", "NUMBA_DISABLE_JIT": "0"}
    assert python(script, **settings).stderr.count("compiling on first use") == 1
    assert not python(script, **settings).stderr, "the second process loads it"


# Printed when the process ends, after the command's own exit handlers.
SMALL = """
import atexit, gc, json, sys
def tell():
    print(json.dumps([list(sys.modules), sum(count["collections"] for count in gc.get_stats()), gc.get_freeze_count()]))
atexit.register(tell)
from ltr_duel.cli.main import main
main(*"simulate matrix.csv --policy rucb --horizon 100 --repetitions 2 --jobs 2 --out out".split())
"""
OTHERS = "import sys, filelock, numba, pandas, matplotlib.figure; print(*sys.modules)"  # old versions load asyncio


def test_a_small_simulate_loads_what_it_needs_and_ends_at_once(tmp_path):
    save_preferences(synthetic_preferences("arithmetic"), tmp_path / "matrix.csv")
    modules, collections, frozen = json.loads(python(SMALL, tmp_path).stdout.splitlines()[-1])
    assert (tmp_path / "out" / "regret.png").stat().st_size and "matplotlib.figure" in modules
    loaded = {"asyncio", "joblib", "matplotlib.pyplot", "sklearn", "scipy.optimize", "scipy.stats"} & set(modules)
    assert not loaded or loaded <= set(python(OTHERS).stdout.split())
    assert collections < 200  # 56 if the policy must be compiled; 513 with Python's threshold and cached code
    assert frozen > 100_000  # frozen objects are not scanned when Python shuts down


def test_a_comparison_of_files_in_the_terminal_loads_neither_matplotlib_nor_ibis_nor_sqlglot(tmp_path):
    row = '{"impression": %d, "time": 0, "query": "q", "user": %d, "shown": ["a", "b"], "clicks": [2],'
    row += ' "rankers": ["old", "new"], "owners": [0, 1]}\n'
    (tmp_path / "clicks.jsonl").write_text("".join(row % (k, k) for k in range(30)))
    script = "import sys; from ltr_duel.cli.main import main\ntry: main('logs', 'compare', 'clicks.jsonl')\n"
    script += "except SystemExit: print({'matplotlib', 'ibis', 'sqlglot'} & set(sys.modules))"
    assert python(script, tmp_path).stdout.splitlines()[-1] == "set()"


def test_a_closed_pipe_ends_a_command_quietly():
    command = [sys.executable, "-m", "ltr_duel.cli.main", "list", "policies"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout and process.stderr
        process.stdout.close()
        said = process.stderr.read()
    assert (process.returncode, said) == (141, "")
