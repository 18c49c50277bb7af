"""The notebooks run from a clean kernel, from the first cell to the last, in an empty folder."""

from __future__ import annotations

import re

import pytest

from tests.site.snippets import DOCS

_CELL = re.compile(r"^```\{code-cell\}[^\n]*\n(---\n.*?\n---\n|(?::[^\n]*\n)*\n?)(.*?)^```$", re.M | re.S)


def outputs(page, folder):
    """Run a notebook; return the media types of the output of each cell with a result."""
    nbformat = pytest.importorskip("nbformat", reason="needs the extra docs")
    nbclient = pytest.importorskip("nbclient", reason="needs the extra docs")
    text = (DOCS / "notebooks" / page).read_text(encoding="utf-8")
    cells = [nbformat.v4.new_code_cell(cell[2].rstrip("\n")) for cell in _CELL.finditer(text)]
    assert len(cells) == text.count("```{code-cell}") > 3
    notebook = nbformat.v4.new_notebook(cells=cells)
    settings = {"timeout": 300, "kernel_name": "python3", "resources": {"metadata": {"path": str(folder)}}}
    nbclient.NotebookClient(notebook, **settings).execute()
    return [{kind for out in cell.outputs for kind in out.get("data", {out.output_type: 0})} for cell in notebook.cells]


# The kernel's channels are files in its folder; ipykernel warns about them, and about event loops that it leaves open.
quiet = pytest.mark.filterwarnings("ignore")


@quiet
def test_two_rankers_and_a_click_log(tmp_path):
    shown = outputs("rankers_and_log.md", tmp_path)
    assert any("image/svg+xml" in kinds for kinds in shown) and any("text/html" in kinds for kinds in shown)
    assert (tmp_path / "clicks.jsonl").stat().st_size > 100_000


@quiet
@pytest.mark.long
@pytest.mark.parametrize(("page", "pictures"), [("features_to_regret.md", 2), ("write_a_policy.md", 1)])
def test_the_other_notebooks(page, pictures, tmp_path):
    shown = outputs(page, tmp_path)
    assert sum("image/svg+xml" in kinds for kinds in shown) == pictures
    assert not any("stderr" in kinds for kinds in shown)
