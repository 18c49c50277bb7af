"""Compiled kernels on disk: a private folder of the user, from which damaged files are removed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ltr_duel.core import kernel_cache
from ltr_duel.core.kernel_cache import KernelCacheWarning, kernel_folder
from ltr_duel.preferences import arxiv, save_preferences

KEPT = """
import importlib, sys, numba
from ltr_duel.core.kernel_cache import kernel_folder
numba.config.CACHE_DIR = kernel_folder("0")
sys.path.insert(0, sys.argv[1])
modules = [importlib.import_module(name) for name in sys.argv[2:]]
assert all(module.double(2) == 4 and module.double(2.5) == 5.0 for module in modules)
print(*(sum(module.double.stats.cache_hits.values()) for module in modules))
"""
KILLED = KEPT + "sys.stdout.flush()\nimport os\nos._exit(0)"


def damaged(content, how):
    return {"empty": b"", "cut": content[: len(content) // 2], "cut_by_a_byte": content[:-1],
            "zeros": bytes(len(content)), "overwritten": b"not compiled" * 40,
            "changed_inside": content[:-200] + b"\1" * 100 + content[-100:]}[how]  # fmt: skip


DAMAGE = ("empty", "cut", "cut_by_a_byte", "zeros", "overwritten")


@pytest.fixture
def hits(tmp_path):
    """Return a function that calls kernels with two types of arguments in a process, and counts cache hits."""
    environment = {**os.environ, "LTR_DUEL_HOME": str(tmp_path / "home"), "NUMBA_DISABLE_JIT": "0"}

    def run(script=KEPT, names=("mine",)):
        for name in names:
            (tmp_path / f"{name}.py").write_text(
                "import numba\n\n@numba.njit(cache=True)\ndef double(x):\n    return x * 2\n"
            )
        found = subprocess.check_output([sys.executable, "-c", script, tmp_path, *names], env=environment, text=True)
        return [int(one) for one in found.split()]

    return run


def files(home, ending):
    return sorted(home.rglob(f"*.{ending}"))


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("killed", [False, True])
def test_each_kind_of_damage_is_removed_and_the_kernel_is_compiled_again_and_kept(hits, tmp_path, ending, killed):
    """Damage is found even if the compiler's process was killed; without a table, changed bytes stay unnoticed."""
    kinds = DAMAGE if killed else (*DAMAGE, "changed_inside")
    names = (*kinds, "whole")
    assert hits(KILLED if killed else KEPT, names) == [0] * len(names)
    assert bool(list(tmp_path.rglob("files.json"))) != killed
    if not killed:
        assert hits(names=names) == [2] * len(names)
    for how in kinds:
        there = [file for file in files(tmp_path / "home", ending) if file.name.startswith(f"{how}.")]
        assert there
        for file in there:
            file.write_bytes(damaged(file.read_bytes(), how))
    assert [hits(names=names), hits(names=names)] == [[*[0] * len(kinds), 2], [2] * len(names)]
    assert len(files(tmp_path / "home", "nbi")) == len(names) == len(files(tmp_path / "home", "nbc")) / 2


def test_what_a_killed_process_compiled_is_used_and_a_damaged_table_is_written_again(hits, tmp_path):
    assert hits(KILLED) == [0]
    assert hits() == [2]
    (table,) = tmp_path.rglob("files.json")
    for text in ("", "[1, 2]", '{"a": 1}', table.read_text()[:-9]):
        table.write_text(text)
        assert hits() == [2]
    assert len(table.read_text()) > 100


def test_files_that_were_copied_elsewhere_are_used(hits, tmp_path):
    hits()
    shutil.copytree(tmp_path / "home", tmp_path / "copy", copy_function=shutil.copy)  # the copies get new times
    shutil.rmtree(tmp_path / "home")
    (tmp_path / "copy").rename(tmp_path / "home")
    assert hits() == [2]


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Return a new home folder, and clear the state of the previous one."""
    monkeypatch.setattr(kernel_cache, "cache_home", lambda: tmp_path)
    for function in (kernel_folder, kernel_cache._warn_once):
        function.cache_clear()
    yield tmp_path
    kernel_folder.cache_clear()


def test_a_folder_is_made_for_the_user_alone(home):
    folder = Path(kernel_folder("0"))
    assert folder == home / "kernels" / "0"
    assert [one.stat().st_mode & 0o777 for one in (folder, folder.parent)] == [0o700, 0o700]


PLACES = ["kernels", "kernels/0", "kernels/0/__pycache__", "kernels/0/called", "kernels/0/called/__pycache__"]


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
@pytest.mark.parametrize("place", PLACES)
def test_a_folder_that_others_can_write_to_is_not_used_and_one_sentence_says_so(home, place, mode):
    for one in PLACES:
        (home / one).mkdir(0o755)
    (home / place).chmod(mode)
    with pytest.warns(KernelCacheWarning, match=rf"not kept between runs: {home / place} can be written by") as said:
        assert kernel_folder("0") == ""
        kernel_folder.cache_clear()
        assert kernel_folder("0") == ""
    assert len(said) == 1
    (home / place).chmod(0o755)
    kernel_folder.cache_clear()
    assert kernel_folder("0")


@pytest.fixture
def file(home):
    """Return a file of compiled code in a folder that other users may enter."""
    for place in PLACES:
        (home / place).mkdir(0o755)
    file = home / PLACES[-1] / "mine.nbi"
    file.write_bytes(b"N.")
    return file


def test_a_file_that_others_can_write_to_is_refused_where_they_can_reach_it(file):
    file.chmod(0o666)
    with pytest.warns(KernelCacheWarning, match=f"{file} can be written by other users; delete it, because code"):
        assert kernel_folder("0") == ""
    file.parent.chmod(0o700)  # mode of a new folder; the files follow the umask
    kernel_folder.cache_clear()
    assert kernel_folder("0")


def test_a_link_is_not_followed(file, home):
    file.rename(home / "there.nbi")
    file.symlink_to(home / "there.nbi")
    with pytest.warns(KernelCacheWarning, match=f"{file} can be written by other users"):
        assert kernel_folder("0") == ""


def test_a_link_is_no_folder_of_kernels(file, home):
    (home / "kernels").rename(home / "there")
    (home / "kernels").symlink_to(home / "there")
    with pytest.warns(KernelCacheWarning, match=f"{home}/kernels is a link; set LTR_DUEL_HOME to the folder itself"):
        assert kernel_folder("0") == ""


@pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() != 0, reason="only root can give files away")
@pytest.mark.parametrize("place", [*PLACES, "kernels/0/called/__pycache__/mine.nbi"])
def test_what_belongs_to_another_user_is_refused_everywhere(file, home, place):
    os.chown(home / place, 12345, -1)
    with pytest.warns(KernelCacheWarning, match=f"{home / place} belongs to another user; delete it"):
        assert kernel_folder("0") == ""


@pytest.mark.parametrize("mode", [0o777, 0o775])
def test_a_home_in_which_others_can_rename_the_folder_is_not_used(home, mode):
    home.chmod(mode)
    with pytest.warns(KernelCacheWarning, match=f"{home} can be written by other users; chmod go-w, or set"):
        assert kernel_folder("0") == ""
    home.chmod(mode | 0o1000)  # mode of /tmp
    kernel_folder.cache_clear()
    assert kernel_folder("0")


@pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() != 0, reason="only root can give folders away")
def test_the_home_of_another_user_is_not_used(home):
    os.chown(home, 12345, -1)
    with pytest.warns(KernelCacheWarning, match=f"{home} belongs to another user; set LTR_DUEL_HOME to your folder"):
        assert kernel_folder("0") == ""


def test_a_warning_shows_the_line_of_the_user(tmp_path):
    (tmp_path / "kernels").mkdir(0o700)
    (tmp_path / "kernels").chmod(0o777)
    (tmp_path / "mine.py").write_text(
        "from ltr_duel.core import random_below, stream\n\nrandom_below(6, stream(0, 'die'))\n"
    )
    environment = {**os.environ, "LTR_DUEL_HOME": str(tmp_path), "NUMBA_DISABLE_JIT": "0"}
    done = subprocess.run([sys.executable, "mine.py"], cwd=tmp_path, env=environment, capture_output=True, text=True)
    said, line = done.stderr.splitlines()
    assert re.match(r".*mine.py:3: KernelCacheWarning: compiled code is not kept between runs: ", said)
    assert line.strip() == "random_below(6, stream(0, 'die'))"


UNDER_A_UMASK = """
import os, warnings
os.umask(0)
warnings.simplefilter("error")
from ltr_duel.core import random_below, stream
random_below(6, stream(0, "die"))
print(sum(random_below.compiled().stats.cache_hits.values()))
"""


def test_what_is_compiled_under_any_umask_is_used_again(hits):
    assert [hits(UNDER_A_UMASK) for _ in range(2)] == [[0], [1]]


def test_a_folder_of_another_user_is_not_used(home, monkeypatch):
    (home / "kernels").mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.warns(KernelCacheWarning, match="belongs to another user"):
        assert kernel_folder("0") == ""


def test_where_files_have_no_owners_folders_are_used(home, monkeypatch):
    monkeypatch.delattr(os, "geteuid")
    (home / "kernels").mkdir()
    (home / "kernels").chmod(0o777)
    assert kernel_folder("0")


def test_a_folder_that_cannot_be_made_is_none(home):
    (home / "kernels").write_text("")
    with pytest.warns(KernelCacheWarning, match="kernels: .*; set LTR_DUEL_HOME"):
        assert kernel_folder("0") == ""


def test_a_folder_that_cannot_be_written_is_not_used(home, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    with pytest.warns(KernelCacheWarning, match="kernels cannot be written; set LTR_DUEL_HOME to a folder of yours"):
        assert kernel_folder("0") == ""


def test_a_simulation_gives_the_same_bytes_after_each_kind_of_damage(tmp_path):
    environment = {**os.environ, "LTR_DUEL_HOME": str(tmp_path / "home"), "NUMBA_DISABLE_JIT": "0"}

    def simulated():
        words = ["simulate", "--policy", "random", "--horizon", "200", "--repetitions", "2", "--jobs", "1"]
        words += ["--out", str(tmp_path / "out"), str(tmp_path / "m.csv")]
        program = [sys.executable, "-c", "from ltr_duel.cli.main import main; main()", *words]
        done = subprocess.run(program, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return (tmp_path / "out" / "pulls.parquet").read_bytes(), (tmp_path / "out" / "runs.json").read_bytes()

    save_preferences(arxiv(), tmp_path / "m.csv")
    expected = simulated()
    for ending in ("nbi", "nbc"):
        there = files(tmp_path / "home", ending)
        assert there
        for k, file in enumerate(there):
            file.write_bytes(damaged(file.read_bytes(), DAMAGE[k % len(DAMAGE)]))
        assert simulated() == expected
        assert files(tmp_path / "home", ending) == there
