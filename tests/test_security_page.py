"""Each row of SECURITY.md names tests, and these tests exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
ROWS = [row.strip("| ").split(" | ") for row in PAGE.splitlines() if row.startswith("| ") and row.strip("| -")]


@cache
def functions_of(module: str) -> set[str]:
    tree = ast.parse((ROOT / module).read_text(encoding="utf-8"))
    return {one.name for one in tree.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][:40])
def test_each_thing_that_holds_names_tests_that_are_there(row):
    what, shown = row
    assert what
    for part in shown.split("; "):
        module, named = re.fullmatch(r"`(tests/\S+\.py)`: (`test_\w+`(?:, `test_\w+`)*)", part).groups()
        missing = set(re.findall(r"`(test_\w+)`", named)) - functions_of(module)
        assert not missing, f"{module} has no {sorted(missing)}"


def test_the_tables_are_read():
    assert len(ROWS) > 5 and PAGE.count("`test_") == sum(shown.count("`test_") for _, shown in ROWS)
