"""The numbers of comparisons stay as they were: counts exactly, other numbers to ten digits, which any scipy gives."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.logs.golden import FILE, REAL, golden


def different(found: Any, kept: Any, place: str) -> Iterator[str]:
    """Yield each number or text that differs, with its place."""
    if isinstance(kept, dict) and isinstance(found, dict) and found.keys() == kept.keys():
        for name, value in kept.items():
            yield from different(found[name], value, f"{place}, {name}")
    elif found != (pytest.approx(kept, rel=1e-10, abs=1e-12, nan_ok=True) if isinstance(kept, float) else kept):
        yield f"{place}: {found}, not {kept}"


def test_comparisons_have_the_golden_numbers_in_each_form_of_a_log(tmp_path):
    kept, met, wrong = json.loads(FILE.read_text()), set[str](), list[str]()
    for name, found in golden(tmp_path):
        met.add(name)
        wrong += different(found, kept[name], name)
    assert wrong == []
    assert met == kept.keys() - ({"Wikimedia"} if not REAL.exists() else set())
