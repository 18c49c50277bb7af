"""``make mutants``: cosmic-ray changes 200 lines of the package, one at a time; what no test notices is printed.

Tests run in a clone of the last commit: first interpreted, since nothing has to be compiled then, each for a moment;
then, if none failed, compiled and whole. The lines are those with the smallest digests, so they are the same each time
while they are unchanged. What survives is for a person to judge: some changes have no effect.
``python tools/mutants.py --test`` is cosmic-ray's test command. This module is also the plugin of pytest that stops a
test after ``SECONDS``.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
FLOORS = ("bandits", "clicks", "interleaving", "preferences", "rankers", "simulation")
OPERATORS = re.compile(
    r"core/(NumberReplacer|Replace(And|Or)With\w+|Replace(True|False)With\w+|ReplaceComparisonOperator_(Lt|Gt|Eq|Not)\w+"
    r"|ReplaceBinaryOperator_(Add_Sub|Sub_Add|Mul_Div|Div_Mul|FloorDiv_Mul|Mod_FloorDiv|Pow_Mul))"
)
UNFIT = ("workers", "another_process", "compiled", "interrupted")  # they start processes, or look at the compiler
CONFIG = """
[cosmic-ray]
module-path = [{}]
timeout = 300.0
excluded-modules = []
test-command = "{} tools/mutants.py --test"
[cosmic-ray.distributor]
name = "local"
"""


def tests_of(path: Path, root: Path = ROOT) -> list[str]:
    """Return pytest's words for a file: by its name in the ids of tests, or the test files that name it."""
    floor = path.relative_to(root / "ltr_duel").parts[0]
    fit = " and ".join(f"not {word}" for word in UNFIT)
    if path.parent.name in ("policies", "methods"):
        return [f"tests/{floor}", "tests/test_constants.py", "-k", f"({path.stem} or test_constants) and {fit}"]
    files = sorted((root / "tests" / floor).glob("test_*.py"))
    naming = [file for file in files if re.search(rf"\b{path.stem}\b", file.read_text(encoding="utf-8"))] or files
    return ["tests/test_constants.py", *(str(file.relative_to(root)) for file in naming), "-k", fit]


def test() -> int:
    """Run the tests of the file that differs from the last commit; that none is found is no failure of a test."""
    (changed,) = subprocess.check_output(["git", "diff", "--name-only"], cwd=ROOT, text=True).split()
    plugins = ["-p", "no:cacheprovider", "-p", "tools.mutants"]
    words = [sys.executable, "-m", "pytest", "-x", "-q", "-n0", "--tb=no", *plugins]
    for seconds, interpreted in (("1.5", "1"), ("0", "0")):
        given = os.environ | {"SECONDS": seconds, "NUMBA_DISABLE_JIT": interpreted}
        if subprocess.run([*words, *tests_of(ROOT / changed)], cwd=ROOT, env=given).returncode in (1, 2):
            return True
    return False


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """Skip the rest of a test after ``SECONDS``; 0 sets no limit."""

    def stop(*_: Any) -> None:
        pytest.skip("takes long")

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, float(os.environ["SECONDS"]))
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def draw(session: Path, count: int, root: Path) -> None:
    """Keep one change of each of some lines in cosmic-ray's session."""
    drawn: dict[str, str] = {}
    with sqlite3.connect(session) as rows:
        columns = "job_id, module_path, operator_name, start_pos_row, start_pos_col"
        for job, path, operator, number, _ in rows.execute(f"select {columns} from mutation_specs order by 3, 4, 5, 1"):
            line = (root / path).read_text(encoding="utf-8").splitlines()[number - 1]
            if OPERATORS.match(operator) and "raise" not in line:
                digest = hashlib.sha256(f"{path}\n{line.strip()}".encode()).hexdigest()
                drawn.setdefault(digest, job)
        kept = [drawn[digest] for digest in sorted(drawn)[:count]]
        for table in ("mutation_specs", "work_items"):
            rows.execute(f"delete from {table} where job_id not in ({','.join('?' * len(kept))})", kept)


def main(count: int = 200) -> None:
    """Clone, draw, run, and print what survived."""
    folder = Path(tempfile.mkdtemp(prefix="mutants-"))
    clone, session, config = folder / "clone", folder / "session.sqlite", folder / "config.toml"
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
    ones = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "PYTHONDONTWRITEBYTECODE")
    given = os.environ | dict.fromkeys(ones, "1") | {"PYTHONPATH": str(clone), "LTR_DUEL_HOME": str(folder)}
    modules = ", ".join(f'"ltr_duel/{floor}"' for floor in FLOORS)
    config.write_text(CONFIG.format(modules, sys.executable), encoding="utf-8")
    program = Path(sys.executable).parent / "cosmic-ray"
    subprocess.run([program, "init", config, session], cwd=clone, env=given, check=True)
    draw(session, count, clone)
    subprocess.run([program, "exec", config, session], cwd=clone, env=given, check=True)
    subprocess.run([program.with_name("cr-report"), "--surviving-only", "--show-diff", session], check=True)
    shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(test() if sys.argv[1:] == ["--test"] else main(*map(int, sys.argv[1:])))
