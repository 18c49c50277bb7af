"""Every command and all Python code of the site's pages runs as printed, in the order of the page."""

from __future__ import annotations

import re

import pytest

from ltr_duel.bandits import POLICIES
from ltr_duel.core import plugins
from tests.site.snippets import DOCS, blocks, commands, run_page

QUICK = (
    "explanations/click_models.md",
    "explanations/ties_and_dead_columns.md",
    "tutorials/click_log.md",  # pages that quote numbers
    "tutorials/first_regret_curve.md",
    "tutorials/two_rankers.md",
)
LONG = sorted(
    path.relative_to(DOCS).as_posix()
    for folder in ("tutorials", "explanations", "notebooks")
    for path in (DOCS / folder).glob("*.md")
    if path.name not in ("index.md", "figure_on_mslr.md") and len(list(blocks(path.relative_to(DOCS).as_posix()))) > 1
)


@pytest.fixture
def empty(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LTR_DUEL_PROGRESS", "0")
    monkeypatch.setattr(plugins, "_loaded", {})
    known = POLICIES.names()
    yield tmp_path
    for name in set(POLICIES.names()) - set(known):  # policies that a page added
        POLICIES.remove(name)


@pytest.mark.parametrize("page", QUICK)
def test_a_quick_page_runs_as_printed(page, empty):
    assert run_page(page) >= 3


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")  # a warning of Ibis's DuckDB backend
@pytest.mark.parametrize("page", sorted({*LONG, "howto.md", "gallery.md"} - set(QUICK)))
def test_a_page_runs_as_printed(page, empty):
    assert run_page(page) >= 2


@pytest.mark.long
def test_the_figure_on_mslr_is_made_of_the_excerpt(real_data, empty):
    (empty / "corpora").mkdir()
    (empty / "corpora" / "MSLR_excerpt").symlink_to(real_data / "MSLR_excerpt")
    assert run_page("tutorials/figure_on_mslr.md") == 2
    assert "MSLR" in (empty / "figures" / "report.html").read_text(encoding="utf-8")


def test_a_command_that_prints_something_else_is_noticed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tests.site.snippets.DOCS", tmp_path)
    page = "`a.txt`:\n\n```text\nx\n```\n\nRun\n\n```console\n"
    page += "$ ltr-duel list policies rucb --bibtex  # a remark\n@inproceedings{...\n```\n"
    (tmp_path / "page.md").write_text(page)
    assert run_page("page.md") == 2 and (tmp_path / "a.txt").read_text() == "x\n"
    (tmp_path / "page.md").write_text(page.replace("@inproceedings", "@article"))
    with pytest.raises(AssertionError, match=r"page\.md:9: ltr-duel list policies rucb --bibtex"):
        run_page("page.md")
    (tmp_path / "page.md").write_text(page.replace("rucb", "rubc"))
    with pytest.raises(AssertionError, match="did you mean"):
        run_page("page.md")


def test_what_pages_show_is_found():
    found = blocks("notebooks/write_a_policy.md")
    (written,) = [block for block in found if block.file]
    assert written.file == "fast_greedy.py" and "def select" in written.text
    assert not any(block.text.startswith("%") for block in found)
    assert list(commands("$ a b \\\n  c  # why\nout\n$ d\n")) == [("a b   c", "out\n"), ("d", "")]


NUMBER = re.compile(r"(?<![\w.])(?:\d[\d,_]*)?(?:\.\d+)?(?!\w)")
GIVEN = {"3.11", "2016", "1.2", "3.3"}  # a version of Python, a year, the size of a download in GB, a width in inches


def numbers(text):
    return [one for one in NUMBER.findall(text) if re.search(r"\d", one)]


@pytest.mark.parametrize("page", [page for page in (*LONG, "howto.md") if "explanations" not in page])
def test_a_number_between_the_blocks_stands_in_a_block_which_is_run_as_printed(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    fenced = re.compile(r"^```.*?^```$", re.M | re.S)
    known = [
        float(one.strip(",_").replace(",", "").replace("_", "")) for one in numbers(" ".join(fenced.findall(text)))
    ]
    prose = re.sub(r"`[^`]*`|\]\([^)]*\)", "", fenced.sub("", text))
    for one in {number.strip(",") for number in numbers(prose)} - GIVEN:
        value, digits = float(one.replace(",", "")), len(one.partition(".")[2])
        near = (abs(round(scale * other, digits) - value) < 1e-9 for other in known for scale in (1, 100))
        assert ("." not in one and value < 100) or any(near), f"{page}: where does {one} come from?"
