"""The tables of components in docs/ match the registries; tables on a terminal fit its width."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pandas as pd
import pytest

from ltr_duel.bandits import POLICIES
from ltr_duel.cli import _options as options
from ltr_duel.cli._output import print_table
from ltr_duel.interleaving import METHODS
from tools import component_tables

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_tables_of_the_docs_are_up_to_date():
    # In another process, which has no plug-ins of other tests.
    script = "import sys; from pathlib import Path; from tools import component_tables\n"
    script += "print([path.name for path, _ in component_tables.outdated(Path(sys.argv[1]))])"
    found = subprocess.check_output([sys.executable, "-c", script, str(DOCS)], text=True)
    assert found.strip() == "[]", "run `make tables`"


@pytest.mark.parametrize("name", component_tables.TABLES)
def test_every_kind_has_its_table_somewhere(name):
    assert sum(f"<!-- begin: {name} -->" in page.read_text(encoding="utf-8") for page in DOCS.glob("*.md")) == 1


def test_an_outdated_table_is_found_and_renewed_and_nothing_else(tmp_path):
    page = tmp_path / "page.md"
    text = "# Models\n\n<!-- begin: click models -->\nold\n<!-- end: click models -->\n\n| a | b |\n"
    page.write_text(text)
    ((path, renewed),) = component_tables.outdated(tmp_path)
    assert path == page and "| `perfect` | 2, 3, 5 | 0 1; 0 0.5 1;" in renewed
    assert renewed.startswith("# Models\n\n<!-- begin") and renewed.endswith(
        "<!-- end: click models -->\n\n| a | b |\n"
    )
    assert component_tables.with_tables(renewed) == renewed


@click.command()
@options.wide
def table():
    names = [f"column {k}" for k in range(7)]
    print_table(pd.DataFrame([[f"{name}, row {row}" for name in names] for row in range(2)], columns=names))


def printed(monkeypatch, capsys, width, *words, terminal=True):
    """Return the lines that a command prints on a terminal with the given number of columns."""
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    table.main(list(words), standalone_mode=False)
    return capsys.readouterr().out.splitlines()


def test_a_table_wider_than_the_terminal_is_folded_without_losing_a_cell(monkeypatch, capsys):
    """Seven columns of 15 characters and their gaps need 117 characters; 70 fit the first column and three others."""
    lines = printed(monkeypatch, capsys, 70)
    assert lines[-1] == "the table is split into 2 parts to fit the terminal; --wide prints it unsplit"
    assert max(map(len, lines[:-1])) == 15 + 3 * 17
    for row in range(2):
        assert [line.count(f"row {row}") for line in lines if f"row {row}" in line] == [4, 4]
        assert all(any(f"column {k}, row {row}" in line for line in lines) for k in range(7))


@pytest.mark.parametrize("width, words, terminal", [(117, (), True), (70, ("--wide",), True), (70, (), False)])
def test_a_table_is_whole_where_it_fits_or_is_piped_or_wide(monkeypatch, capsys, width, words, terminal):
    assert list(map(len, printed(monkeypatch, capsys, width, *words, terminal=terminal))) == [117, 117, 117]


@pytest.mark.parametrize("name, registry", [("policies", POLICIES), ("methods", METHODS)])
def test_a_list_of_components_has_a_line_for_each_and_fits_a_screen(ltr_duel, monkeypatch, name, registry):
    monkeypatch.setitem(os.environ, "COLUMNS", "80")
    lines = ltr_duel("list", name).out.splitlines()
    assert sorted(line.split()[0] for line in lines if line.startswith("  ")) == registry.names()
    assert len(lines) <= len(registry.names()) + 5 and max(map(len, lines)) <= 80
    assert "--long" in lines[-1] and len(ltr_duel("list", name, "--long").out.splitlines()) > 5 * len(lines)
