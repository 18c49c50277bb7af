"""What a user waits for: names without the compiler, commands without libraries that they do not use, one line."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from ltr_duel.bandits import POLICIES
from ltr_duel.cli._words import declared_names
from ltr_duel.interleaving import METHODS


def python(script, **environment):
    command, given = [sys.executable, "-c", script], {**os.environ, **environment}
    return subprocess.run(command, env=given, capture_output=True, text=True, check=True)


def test_the_names_in_the_sources_are_those_of_the_registries():
    assert set(declared_names("bandits/policies")) <= set(POLICIES.names())
    assert {policy.name for policy in POLICIES if policy.state.__module__.startswith("ltr_duel.")} == set(
        declared_names("bandits/policies")
    )
    assert set(declared_names("interleaving/methods")) == {
        method.name for method in METHODS if method.init.__module__.startswith("ltr_duel.")
    }


@pytest.mark.parametrize(
    ("words", "answer"), [("simulate --policy ruc", "rucb"), ("simulate --method team", "team_dr")]
)
def test_completion_loads_no_compiler(words, answer):
    script = (
        "import sys, ltr_duel.cli._words as words\n"
        f"complete = words.policy_names if '--policy' in {words!r} else words.method_names\n"
        f"print(complete(None, None, {words.split()[-1]!r}), [m for m in ('numba', 'numpy') if m in sys.modules])"
    )
    out = python(script).stdout
    assert answer in out and out.strip().endswith("[]")


def test_paired_tests_load_no_distributions_of_scipy():
    script = (
        "import sys; from ltr_duel.core import statistics; print(statistics.signed_rank_p([1.0, -2.0, 2.0, 3.0, 3.0]),"
        " 'scipy.stats' in sys.modules)"
    )
    assert python(script).stdout.split()[1] == "False"


@pytest.mark.parametrize("progress", ["1", "0"])
def test_a_command_says_once_that_it_compiles(tmp_path, progress):
    script = (
        "import ltr_duel.cli.main; from ltr_duel.core import coin, random_below, stream\n"
        "coin(stream(0)); random_below(6, stream(0))"
    )
    said = python(script, LTR_DUEL_HOME=str(tmp_path), LTR_DUEL_PROGRESS=progress, NUMBA_DISABLE_JIT="0").stderr
    assert said.count("compiling on first use") == (progress == "1")
    assert not python(script, LTR_DUEL_HOME=str(tmp_path), NUMBA_DISABLE_JIT="0").stderr  # the second process loads it
