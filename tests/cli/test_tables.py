"""The tables of components in docs/ match the registries; tables and lists on a terminal fit its width."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pandas as pd
import pytest

from ltr_duel.bandits import POLICIES
from ltr_duel.cli._output import print_table
from ltr_duel.interleaving import METHODS
from tools import component_tables

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_tables_of_the_docs_are_up_to_date_and_each_kind_has_one():
    # In another process, which has no plug-ins of other tests.
    script = "import sys; from pathlib import Path; from tools import component_tables\n"
    script += "print([path.name for path, _ in component_tables.outdated(Path(sys.argv[1]))])"
    outdated = subprocess.check_output([sys.executable, "-c", script, str(DOCS)], text=True)
    assert outdated.strip() == "[]", "run `make tables`"
    text = "".join(page.read_text(encoding="utf-8") for page in DOCS.glob("*.md"))
    assert all(text.count(f"<!-- begin: {name} -->") == 1 for name in component_tables.TABLES)


def test_an_outdated_table_is_renewed_and_nothing_else(tmp_path):
    text = "# Models\n\n<!-- begin: click models -->\nold\n<!-- end: click models -->\n\n| a | b |\n"
    (tmp_path / "page.md").write_text(text)
    ((path, renewed),) = component_tables.outdated(tmp_path)
    assert path == tmp_path / "page.md" and "| `perfect` | 2, 3, 5 | 0 1; 0 0.5 1;" in renewed
    assert renewed.startswith("# Models\n\n<!-- begin")
    assert renewed.endswith("<!-- end: click models -->\n\n| a | b |\n")


@click.command()
def table():
    names = [f"column {k}" for k in range(7)]
    print_table(pd.DataFrame([[f"{name}, row {row}" for name in names] for row in range(2)], columns=names), 5, "rows")


def printed(monkeypatch, capsys, width, *, terminal=True):
    """Return the lines that a command prints on a terminal with the given number of columns."""
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    table.main([], standalone_mode=False)
    *lines, more = capsys.readouterr().out.splitlines()
    assert more == "3 more rows; --rows 5 lists them"
    return lines


def test_a_table_wider_than_the_terminal_is_folded_without_losing_a_cell(monkeypatch, capsys):
    """Seven columns of 15 characters and their gaps need 117 characters; 70 fit the first column and three others."""
    lines = printed(monkeypatch, capsys, 70)
    assert max(map(len, lines)) == 15 + 3 * 17
    for row in range(2):
        assert [line.count(f"row {row}") for line in lines if f"row {row}" in line] == [4, 4]
        assert all(any(f"column {k}, row {row}" in line for line in lines) for k in range(7))


@pytest.mark.parametrize(("width", "terminal"), [(117, True), (70, False)])
def test_a_table_is_whole_where_it_fits_or_is_piped(monkeypatch, capsys, width, terminal):
    assert list(map(len, printed(monkeypatch, capsys, width, terminal=terminal))) == [117, 117, 117]


@pytest.mark.parametrize(("name", "registry"), [("policies", POLICIES), ("methods", METHODS)])
def test_a_list_of_components_has_a_line_for_each_and_fits_a_screen(succeed, monkeypatch, name, registry):
    monkeypatch.setenv("COLUMNS", "80")
    *lines, _, total = succeed("list", name).splitlines()
    assert [line.split()[0] for line in lines] == registry.names() and max(map(len, lines)) <= 80
    assert total == f"{len(registry.names())} in all; --long, or a name, prints every fact"
    long = succeed("list", name, "--long").splitlines()
    assert [line for line in long if line[:1] not in ("", " ")] == [
        *registry.names(),
        f"{len(registry.names())} in all",
    ]
    assert max(map(len, long)) <= 80
