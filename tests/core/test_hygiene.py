"""ltr_duel does not change numba for other packages of the process; each check runs in a separate process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

HERE = Path(__file__).parent
COMPILERS = ("", "plain")


@pytest.fixture(scope="module")
def user_cache(tmp_path_factory):
    """Return the folder that the user of the process chose for numba's cache."""
    return tmp_path_factory.mktemp("user")


@pytest.fixture(scope="module")
def run(user_cache):
    """Return a function that starts a script of this folder, and one for the JSON that the script prints."""

    def start(compiler, *command):
        settings = {"NUMBA_DISABLE_JIT": "0", "NUMBA_CACHE_DIR": str(user_cache), "PYTHONHASHSEED": "0"}
        environment = {**os.environ, **settings, "LTR_DUEL_COMPILER": compiler}
        return subprocess.Popen([sys.executable, *command], cwd=HERE, env=environment, stdout=subprocess.PIPE)

    return start


def printed(process):
    """Return the output of a script."""
    out, _ = process.communicate(timeout=600)
    assert process.returncode == 0
    return json.loads(out)


@pytest.fixture(scope="module", params=COMPILERS)
def found(request, run):
    return printed(run(request.param, "hygiene.py")) | {"compiler": request.param}


def test_numba_holds_the_same_objects_and_settings_as_before(found):
    assert found["changed"] == []


def test_a_thread_that_decorates_meanwhile_keeps_its_cache_folder(found, user_cache):
    assert found["decorated"] > 100
    assert [folder for folder in found["folders"] if not folder.startswith(str(user_cache))] == []


@pytest.mark.skipif(numba.version_info.short < (0, 63), reason="numba 0.62 gives a function another text each time")
def test_functions_of_others_compile_to_the_same_text_with_and_without_ltr_duel(found, run):
    """The reference texts come from a process before it imported ltr_duel."""
    without, used = found["texts"], printed(run(found["compiler"], "hygiene.py", "texts"))
    assert len(without) == 20
    assert [name for name, text in without.items() if used[name] != text] == []
