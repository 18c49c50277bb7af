"""Read a page that was stored as JSON, and check it.

Somebody may have changed the stored text, so it is not trusted. Its length is limited, each value is checked, and
nothing in it is executed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

from ltr_duel.core import InputError

VERSION = 1
KEYS = ("version", "method", "outcome", "rankers", "shown", "owners", "numbers", "orders", "kept")
MOST_RANKERS = 200
MOST_DOCUMENTS = 10_000  # documents in all lists together
MOST_PLACES = 500_000  # rankers times documents
MOST_SHOWN = 1_000
LONGEST_TEXT = 4_000_000  # characters
_LONGEST_METHOD = 200  # characters of a method with its parameters


def read_page(text: str) -> dict[str, Any]:
    """Check a page that was stored as JSON, and return its values by name."""
    if not isinstance(text, str) or len(text) > LONGEST_TEXT:
        raise InputError(f"a page must be a string of at most {LONGEST_TEXT:,} characters")
    try:
        page = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError("not a page: the text is not valid JSON") from None
    if not isinstance(page, dict) or set(page) != set(KEYS):
        raise InputError("not a page: the text was not written by Page.to_json")
    if page["version"] != VERSION:
        raise InputError(f"the page has a different version; only version {VERSION} can be read")
    if key := _wrong_key(**page):
        raise InputError(f"not a page: the value of '{key}' is none that Page.to_json writes")
    return page


def is_id(value: Any) -> bool:
    """Return whether JSON can store a document id."""
    return isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))


def _wrong_key(
    version: Any, method: Any, outcome: Any, rankers: Any, shown: Any, owners: Any, numbers: Any, orders: Any, kept: Any
) -> str:
    """Return the name of an invalid value, or ``""`` if all values are valid."""
    if not all(isinstance(name, str) and len(name) <= _LONGEST_METHOD for name in (method, outcome)):
        return "method"
    if not _different(rankers, lambda name: isinstance(name, str), 2, MOST_RANKERS):
        return "rankers"
    if not isinstance(orders, list) or len(orders) != len(rankers) or not isinstance(orders[0], list):
        return "orders"
    n, is_number = len(orders[0]), _is_whole(0, len(orders[0]) - 1)
    if not 1 <= n <= min(MOST_DOCUMENTS, MOST_PLACES // len(orders)):
        return "orders"
    if not all(_different(order, is_number, n, n) for order in orders):
        return "orders"
    if not _different(shown, is_id, 1, MOST_SHOWN):
        return "shown"
    if not _different(numbers, is_number, len(shown), len(shown)):
        return "numbers"
    if (
        not isinstance(owners, list)
        or len(owners) != len(shown)
        or not all(map(_is_whole(-1, len(rankers) - 1), owners))
    ):
        return "owners"
    if not isinstance(kept, list) or not all(type(value) is float and math.isfinite(value) for value in kept):
        return "kept"
    return ""


def _different(values: Any, is_valid: Callable[[Any], bool], least: int, most: int) -> bool:
    return isinstance(values, list) and all(map(is_valid, values)) and least <= len(set(values)) == len(values) <= most


def _is_whole(low: int, high: int) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and low <= value <= high
