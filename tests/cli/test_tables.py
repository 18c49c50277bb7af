"""The tables of docs/ that list components say what the registries say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ltr_duel.cli import _tables

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_tables_of_the_docs_are_up_to_date():
    script = "import sys; from pathlib import Path; from ltr_duel.cli import _tables\n"
    script += "print([path.name for path, _ in _tables.outdated(Path(sys.argv[1]))])"  # no plug-ins of other tests here
    found = subprocess.check_output([sys.executable, "-c", script, str(DOCS)], text=True)
    assert found.strip() == "[]", "run `make tables`"


@pytest.mark.parametrize("name", _tables.TABLES)
def test_every_kind_has_its_table_somewhere(name):
    assert sum(f"<!-- begin: {name} -->" in page.read_text(encoding="utf-8") for page in DOCS.glob("*.md")) == 1


def test_an_outdated_table_is_found_and_renewed_and_nothing_else(tmp_path):
    page = tmp_path / "page.md"
    text = "# Models\n\n<!-- begin: click models -->\nold\n<!-- end: click models -->\n\n| a | b |\n"
    page.write_text(text)
    ((path, renewed),) = _tables.outdated(tmp_path)
    assert path == page and "| `perfect` | 2, 3, 5 | 0 1; 0 0.5 1;" in renewed
    assert renewed.startswith("# Models\n\n<!-- begin") and renewed.endswith(
        "<!-- end: click models -->\n\n| a | b |\n"
    )
    assert _tables.with_tables(renewed) == renewed
