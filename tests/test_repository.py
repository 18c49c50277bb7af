"""The files around the package agree with it: classifiers, the workflow, templates, packed files."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

import ltr_duel
from tests.conftest import LONGEST
from tools import floors, release_check

ROOT = Path(__file__).resolve().parents[1]
ROOTS = ROOT, Path(ltr_duel.__file__).parents[1]  # the package may be installed
GITHUB = ROOT / ".github"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.mark.skipif(not GITHUB.is_dir(), reason="an sdist has no .github")
def test_the_workflow_does_what_ci_run_does_on_every_supported_python():
    jobs = yaml.safe_load((GITHUB / "workflows" / "ci.yml").read_text())["jobs"]
    assert jobs["run"]["strategy"]["matrix"]["python"] == release_check.supported()
    assert jobs["run"]["steps"][-1]["run"] == "bash .ci/run" and (ROOT / ".ci" / "run").is_file()
    assert jobs["release"]["steps"][1]["with"]["python-version"].split() == release_check.supported()
    lowest = PROJECT["requires-python"].removeprefix(">=")
    assert jobs["lowest"]["steps"][1]["with"]["python-version"] == lowest == release_check.supported()[0]


@pytest.mark.skipif(not GITHUB.is_dir(), reason="an sdist has no .github")
def test_a_release_is_published_by_its_tag_after_the_check_and_without_a_password():
    text = (GITHUB / "workflows" / "release.yml").read_text()
    release = yaml.safe_load(text)
    build, publish = release["jobs"]["build"], release["jobs"]["publish"]
    assert release[True] == {"push": {"tags": ["v*"]}}  # YAML reads "on" as true
    assert build["steps"][1]["with"]["python-version"].split() == release_check.supported()
    assert "make release-check REQUIRE=1" in [step.get("run") for step in build["steps"]]
    assert publish["needs"] == "build" and publish["permissions"] == {"id-token": "write"} and "secrets" not in text


def test_contributing_names_files_that_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    files = re.findall(r"`((?:ltr_duel|tests)/[\w/]+(?:[.]py)?)`", text)
    assert len(files) >= 5 and all(any((root / file).exists() for root in ROOTS) for file in files)


@pytest.mark.skipif(not GITHUB.is_dir(), reason="an sdist has no .github")
def test_a_report_of_a_bug_asks_for_versions():
    form = yaml.safe_load((GITHUB / "ISSUE_TEMPLATE" / "bug.yml").read_text())
    asked = {one["id"]: one for one in form["body"]}
    assert "ltr-duel --version" in asked["versions"]["attributes"]["label"]
    assert all(one["validations"]["required"] for one in asked.values())


def test_the_tests_that_come_first_are_there():
    assert all((ROOT / "tests" / path).is_file() for path in LONGEST)


def test_the_tests_of_a_release_are_there():
    assert all((ROOT / path).exists() for path in release_check.SMOKE)


def test_what_is_missing_or_stray_in_a_package_ends_the_check(capsys):
    release_check.compare(Path("a.whl"), {"x"}, {"x"})
    assert capsys.readouterr().out == "a.whl: 1 files, the same files as in git\n"
    with pytest.raises(SystemExit, match=r"^a.whl: lacks y, z$"):
        release_check.compare(Path("a.whl"), {"x"}, {"x", "y", "z"})
    with pytest.raises(SystemExit, match=r"^a.whl: contains files that are not in git: x$"):
        release_check.compare(Path("a.whl"), {"x"}, set())


def test_a_python_that_is_not_there_is_not_found():
    assert release_check.interpreter("3.99") is None


def test_the_table_of_floors_has_every_floor_from_the_top_and_no_size_that_misleads():
    page = floors.PAGE.read_text(encoding="utf-8")
    printed = floors.sizes_of(page)
    assert list(printed) == [*floors.floors(), floors.WHOLE]
    for floor, said in printed.items():
        counted = floors.size(floor)
        assert not any(map(floors.misleads, said, counted)), f"{floor}: {said}, {counted}: make tables"
    assert floors.sizes_of(floors.renewed(page)) == {floor: floors.size(floor) for floor in printed}


def test_sizes_are_renewed_before_they_mislead_and_not_with_every_line():
    assert not floors.misleads(4300, 4600) and not floors.misleads(10_900, 11_900) and not floors.misleads(3, 7)
    assert floors.misleads(4300, 4800) and floors.misleads(10_900, 12_200) and floors.misleads(3, 8)


def test_a_module_that_is_gone_or_not_listed_is_named():
    page = floors.PAGE.read_text(encoding="utf-8").replace("- **live**: settings ", "- **live**: options ")
    assert "Modules of live: the list and the folder differ in options, settings" in floors.strange_modules(page)
