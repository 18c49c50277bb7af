"""A user without a home folder: nothing is stored, and the message names the variable to set."""

import os
import subprocess
import sys

import platformdirs
import pytest

from ltr_duel.core import InputError, alone, cache_folder, kernel_cache, mapped
from ltr_duel.core.kernel_cache import KernelCacheWarning


@pytest.fixture(params=["nobody", "no home"])
def nowhere(request, monkeypatch):
    """Remove the home folder; return the message."""
    for module in (kernel_cache, alone, mapped):
        monkeypatch.setattr(module, "cache_home", cache_folder.cache_home)
    if request.param == "nobody":
        monkeypatch.setenv("LTR_DUEL_HOME", "~no-such-user/x")
        return "LTR_DUEL_HOME is '~no-such-user/x': no such user; set LTR_DUEL_HOME to a folder of yours"

    def unknown(name):
        raise RuntimeError("could not determine the home directory")

    monkeypatch.delenv("LTR_DUEL_HOME", raising=False)
    monkeypatch.setattr(platformdirs, "user_cache_path", unknown)
    return "this user has no home folder; set LTR_DUEL_HOME to a folder of yours"


def test_a_missing_home_is_said(nowhere):
    with pytest.raises(InputError, match=f"^{nowhere} for the cache$"):
        cache_folder.cache_home()


def test_what_only_saves_time_is_done_without_a_home(nowhere, tmp_path):
    for function in (kernel_cache.kernel_folder, kernel_cache._warn_once):
        function.cache_clear()
    with pytest.warns(KernelCacheWarning, match=nowhere) as said:
        assert [kernel_cache.kernel_folder(digest) for digest in "01"] == ["", ""]
    assert len(said) == 1
    kernel_cache.kernel_folder.cache_clear()
    with alone.sole_writer(tmp_path):
        assert mapped._folder().is_dir()


def test_commands_run_without_a_home(tmp_path):
    (tmp_path / "p.csv").write_text("0.5,0.7\n0.3,0.5\n")
    environment = {**os.environ, "LTR_DUEL_HOME": "~no-such-user/x", "NUMBA_DISABLE_JIT": "0"}

    def run(*words):
        program = [sys.executable, "-c", "from ltr_duel.cli.main import main; main()", *words]
        return subprocess.run(program, cwd=tmp_path, env=environment, capture_output=True, text=True)

    said = run("--version")
    assert said.returncode == 0
    said = run("simulate", "p.csv", "--policy", "random", "--horizon", "20", "--repetitions", "1")
    assert said.returncode == 0
    assert said.stderr.startswith(
        "ltr-duel: compiled code is not kept between runs: LTR_DUEL_HOME is '~no-such-user/x'"
    )
