"""The version has one source, and a bug report contains the necessary facts and no secret."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

import ltr_duel as package
from ltr_duel.cli import _version
from ltr_duel.core import versions_of

ROOT = Path(__file__).resolve().parents[2]


def test_the_version_is_that_of_the_package(ltr_duel):
    assert ltr_duel("--version").out == f"ltr-duel, version {package.__version__}\n"


@pytest.mark.parametrize("words", [("--version", "--json"), ("--json", "--version")])
def test_with_json_it_says_what_a_report_needs(ltr_duel, words, tmp_path, monkeypatch):
    monkeypatch.setenv("LTR_DUEL_HOME", str(tmp_path / "not" / "yet"))
    monkeypatch.setenv("LTR_DUEL_API_KEY", "a secret of thirty-two characters")
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    answer = ltr_duel(*words)
    said = json.loads(answer.out)
    assert answer.code == 0 and said["ltr-duel"] == package.__version__
    assert said["cache"] == {"folder": str(tmp_path / "not" / "yet"), "exists": False, "writable": True}
    assert said["environment"]["OMP_NUM_THREADS"] == "3" and "secret" not in answer.out
    assert {"python", "system", "processor", "cores", "threads"} <= set(said)
    assert not (tmp_path / "not").exists(), "asking makes no folder"


def test_every_library_that_users_may_need_is_named():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [one for name in _version._EXTRAS for one in project["optional-dependencies"][name]]
    wanted = {re.split(r"[\[>]", one)[0] for one in [*project["dependencies"], *extras]}
    named = {name.replace("-", "_") for name in _version.about()["libraries"]}
    assert {name.replace("-", "_") for name in wanted} | {"llvmlite"} == named


def test_a_library_that_is_not_there_has_no_version():
    assert versions_of(["ltr-duel", "no-such-library"]) == {"ltr-duel": package.__version__, "no-such-library": None}


@pytest.mark.parametrize("words", [("--version",), ("--version", "--json")])
def test_a_compiler_that_does_not_exist_is_refused(ltr_duel, words, monkeypatch):
    monkeypatch.setenv("LTR_DUEL_COMPILER", "fast")
    answer = ltr_duel(*words)
    assert answer.code == 2 and answer.out == ""
    assert answer.err == "ltr-duel: LTR_DUEL_COMPILER must be 'plain' or unset, not 'fast'\n"


@pytest.mark.parametrize("words", [("--json",), ("--json", "policies")])
def test_json_before_a_command_goes_with_version_only(ltr_duel, words):
    answer = ltr_duel(*words)
    assert answer.code == 2 and "--json before a command requires --version" in answer.err


def test_no_other_file_says_another_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "version" not in project and project["dynamic"] == ["version"]
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {package.__version__}\n" in citation
    assert json.loads((ROOT / ".zenodo.json").read_text())["version"] == package.__version__
    assert json.loads((ROOT / "clients" / "js" / "package.json").read_text())["version"] == package.__version__
    assert f"\n## {package.__version__} (2" in (ROOT / "CHANGELOG.md").read_text()  # with its date
    wheels = re.findall(r"ltr_duel-([\w.]+)-py3", (ROOT / "docs" / "install.md").read_text())
    assert set(wheels) == {package.__version__}
