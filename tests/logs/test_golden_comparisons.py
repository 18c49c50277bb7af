"""The numbers of comparisons stay as they were: counts exactly, other numbers to ten digits, which any scipy gives."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from ltr_duel.logs import ClickLog
from tests.logs.golden import FILE, REAL, cases, numbers

KEPT = json.loads(FILE.read_text())


def different(found: Any, kept: Any, place: str) -> Iterator[str]:
    """Yield each number or text that differs, with its place."""
    if isinstance(kept, dict) and isinstance(found, dict) and found.keys() == kept.keys():
        for name, value in kept.items():
            yield from different(found[name], value, f"{place}, {name}")
    elif found != (pytest.approx(kept, rel=1e-10, abs=1e-12, nan_ok=True) if isinstance(kept, float) else kept):
        yield f"{place}: {found}, not {kept}"


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """Return all forms of each log, with the settings of their comparison, by the name of the comparison."""
    found: dict[str, list[tuple[ClickLog, dict[str, Any]]]] = {}
    for name, log, settings in cases(tmp_path_factory.mktemp("logs")):
        found.setdefault(name, []).append((log, settings))
    return found


@pytest.mark.parametrize("name", KEPT)
def test_a_comparison_has_the_golden_numbers_in_each_form_of_its_log(name, logs):
    if name == "Wikimedia" and not REAL.exists():
        pytest.skip("needs the log of Wikimedia in ../shared/data")
    for log, settings in logs[name]:
        assert list(different(numbers(log, settings), KEPT[name], name)) == []


def test_every_golden_comparison_has_a_log(logs):
    assert logs.keys() == KEPT.keys() - ({"Wikimedia"} if not REAL.exists() else set())
