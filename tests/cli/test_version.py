"""The version has one source, and a bug report contains the necessary facts and no secret."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import numba
import pytest

import ltr_duel as package
from ltr_duel.core import InputError, compiler, versions_of

ROOT = Path(__file__).resolve().parents[2]


def test_the_version_is_that_of_the_package(ltr_duel):
    first, second = ltr_duel("--version").out.splitlines()
    assert first == f"ltr-duel, version {package.__version__}"
    assert all(word in second for word in ("Python 3.", "numpy ", f"numba {numba.__version__}", "duckdb "))


def test_a_library_that_is_not_there_has_no_version():
    assert versions_of(["ltr-duel", "no-such-library"]) == {"ltr-duel": package.__version__, "no-such-library": None}


def test_a_compiler_that_does_not_exist_is_named_and_refused(ltr_duel, monkeypatch):
    monkeypatch.setenv("LTR_DUEL_COMPILER", "fast")
    assert ltr_duel("--version").out.endswith(", LTR_DUEL_COMPILER=fast\n")
    with pytest.raises(InputError, match="LTR_DUEL_COMPILER must be 'plain' or unset, not 'fast'"):
        compiler()


def test_no_other_file_says_another_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "version" not in project and project["dynamic"] == ["version"]
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {package.__version__}\n" in citation
    assert json.loads((ROOT / ".zenodo.json").read_text())["version"] == package.__version__
    assert json.loads((ROOT / "clients" / "js" / "package.json").read_text())["version"] == package.__version__
    assert f"\n## {package.__version__} (2" in (ROOT / "CHANGELOG.md").read_text()  # with its date
    wheels = re.findall(r"ltr_duel-([\w.]+)-py3", (ROOT / "docs" / "index.md").read_text())
    assert set(wheels) == {package.__version__}
