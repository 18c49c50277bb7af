"""Run tests with one source file replaced by a text, in a forked process that has already loaded the large libraries.

Everything runs interpreted (``NUMBA_DISABLE_JIT=1``), so nothing has to be compiled; compiled and interpreted code give
the same bytes. Nothing is written into the package: the text reaches the child through its import system.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import os
import re
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType

ROOT = Path(__file__).resolve().parents[2]
LARGE = (
    "numba",
    "pandas",
    "pyarrow",
    "scipy.optimize",
    "scipy.stats",
    "joblib",
    "tqdm",
    "click",
    "platformdirs",
    "pytest",
)
FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.M)
SECONDS = 180  # processor time: an endless loop, or slow tests on a busy machine
OUT_OF_TIME = "it took too long"


@dataclass(frozen=True)
class Verdict:
    """The result of a run of tests."""

    died: bool
    by: tuple[str, ...]  # the tests that failed, or why the run ended
    seconds: float


def preload() -> None:
    """Load the libraries that every child needs, but no module of this package."""
    for name in LARGE:
        importlib.import_module(name)


class Replaced(importlib.machinery.SourceFileLoader):
    """Loads a module from a given text."""

    text = ""

    def get_code(self, fullname: str) -> CodeType:
        """Compile the text, without byte code on disk."""
        return compile(self.text, self.path, "exec")


class OneModule(importlib.abc.MetaPathFinder):
    """Finds one module; Python finds all others."""

    def __init__(self, path: str, text: str) -> None:
        self.path, self.text = path, text
        self.module = path.removesuffix(".py").replace("/", ".")

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of the module, or None for other modules."""
        if fullname != self.module:
            return None
        loader = Replaced(fullname, str(ROOT / self.path))
        loader.text = self.text
        return importlib.util.spec_from_file_location(fullname, ROOT / self.path, loader=loader)


def run_tests(tests: Sequence[str], replaced: OneModule | None = None, until_first_failure: bool = True) -> Verdict:
    """Run tests, with a module replaced if one is given; a run with too much processor time counts as failed."""
    start = time.monotonic()
    with tempfile.TemporaryFile("w+") as output:
        child = os.fork()
        if child == 0:
            _be_the_child([*tests, *(["-x"] if until_first_failure else [])], replaced, output.fileno())
        _, status = os.waitpid(child, 0)
        output.seek(0)
        printed = output.read()
    code = os.waitstatus_to_exitcode(status)
    if code == 5:
        raise RuntimeError(f"no tests were found by {' '.join(tests)}")
    if code < 0:
        by = (OUT_OF_TIME if code == -signal.SIGXCPU else f"signal {-code}",)
    else:
        by = tuple(FAILED.findall(printed)) if code else ()
    return Verdict(code != 0, by or ((f"exit code {code}",) if code else ()), time.monotonic() - start)


def _be_the_child(tests: Sequence[str], replaced: OneModule | None, output: int) -> None:
    """Run pytest and leave; never returns."""
    resource.setrlimit(
        resource.RLIMIT_CPU, (SECONDS, SECONDS + 5)
    )  # with equal limits, it would be killed without a message
    os.dup2(output, 1)
    os.dup2(output, 2)
    code = 99
    try:
        if replaced:
            sys.meta_path.insert(0, replaced)
        import pytest

        code = int(pytest.main(["-q", "-p", "no:cacheprovider", "--tb=no", "-rfE", *tests]))
    finally:
        sys.stdout.flush()
        os._exit(code)
