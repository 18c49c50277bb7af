"""Write a page of plain lists as JSON, and read and check the JSON.

The stored text may have been changed, so it is not trusted: it is parsed as JSON, its sizes are limited, each value is
checked, and nothing in it is executed. The name of the method is looked up among the registered methods.
"""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple

import numpy as np

from ltr_duel.core import InputError

VERSION = 1
MOST_RANKERS = 200
MOST_DOCUMENTS = 10_000  # documents in all lists together
MOST_PLACES = 500_000  # rankers times documents
MOST_SHOWN = 1_000
LONGEST_TEXT = 4_000_000  # characters
_LONGEST_METHOD = 200  # characters of a method with its parameters


class Stored(NamedTuple):
    """The content of a page; the fields are the keys of its JSON form. Before the checks, values may have any type."""

    version: Any  # int
    method: Any  # str
    outcome: Any  # str
    rankers: Any  # list of str
    shown: Any  # list of document ids
    owners: Any  # list of int: for each shown document, the position of its ranker in `rankers`; -1 for no ranker
    numbers: Any  # list of int: the numbers of the shown documents
    orders: Any  # list of lists of int: the numbers of all documents for each ranker, best first
    kept: Any  # list of float: the values that the method stored when it drew the list


def portable(document: Any) -> Any:
    """Return a document id in a form that JSON can represent."""
    value = document.item() if isinstance(document, np.generic) else document
    if not _is_id(value):
        raise InputError(f"document id {document!r} is neither a string nor a finite number, so JSON cannot store it")
    return value


def write_page(stored: Stored) -> str:
    """Return a page as JSON, in ASCII and without spaces."""
    try:
        text = json.dumps(stored._asdict(), separators=(",", ":"), allow_nan=False)
    except ValueError:
        raise InputError("the page contains a number that JSON cannot store") from None
    if len(text) > LONGEST_TEXT:
        raise InputError(f"the page is too large for JSON: {len(text):,} characters; the limit is {LONGEST_TEXT:,}")
    return text


def read_page(text: str) -> Stored:
    """Read and check the text of a page."""
    if not isinstance(text, str):
        raise InputError(f"a page must be a string, not {type(text).__name__}")
    if len(text) > LONGEST_TEXT:
        raise InputError(f"not a page: the text has {len(text):,} characters; at most {LONGEST_TEXT:,} are allowed")
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError("not a page: the text is not valid JSON") from None
    if not isinstance(given, dict) or type(given.get("version")) is not int:
        raise InputError("not a page: the text was not written by Page.to_json")
    if given["version"] != VERSION:
        raise InputError(f"the page has a different version; only version {VERSION} can be read")
    if set(given) != set(Stored._fields):
        raise InputError("not a page: the keys differ from the keys that Page.to_json writes")
    stored = Stored(**given)
    fault = wrong_names(stored) or _wrong_list(stored)
    if fault:
        raise InputError(f"not a page: {fault}")
    return stored


def wrong_names(stored: Stored) -> str:
    """Return an error message about method, outcome rule and rankers; empty if they are valid."""
    for name in (stored.method, stored.outcome):
        if not isinstance(name, str) or len(name) > _LONGEST_METHOD:
            return f"method and outcome rule must be strings of at most {_LONGEST_METHOD} characters"
    if not isinstance(stored.rankers, list) or not all(isinstance(name, str) for name in stored.rankers):
        return "'rankers' must be a list of strings"
    if not 2 <= len(stored.rankers) <= MOST_RANKERS or len(set(stored.rankers)) < len(stored.rankers):
        return f"there must be from 2 to {MOST_RANKERS} rankers with different names"
    return ""


def _wrong_list(stored: Stored) -> str:
    """Return an error message about orders and the shown list; empty if they are valid. Requires valid names."""
    orders, shown, numbers, owners = stored.orders, stored.shown, stored.numbers, stored.owners
    if not isinstance(orders, list) or len(orders) != len(stored.rankers):
        return "'orders' must be a list with one order for each ranker"
    size = len(orders[0]) if isinstance(orders[0], list) else 0
    if not 1 <= size <= MOST_DOCUMENTS or size * len(orders) > MOST_PLACES:
        return f"an order must have 1 to {MOST_DOCUMENTS:,} documents, and all together at most {MOST_PLACES:,}"
    if not all(_are_whole(order, 0, size - 1) and len(order) == len(set(order)) == size for order in orders):
        return f"each order must contain each number from 0 to {size - 1} once"
    if not isinstance(shown, list) or not 1 <= len(shown) <= MOST_SHOWN:
        return f"'shown' must be a list of 1 to {MOST_SHOWN:,} documents"
    if not all(map(_is_id, shown)):
        return "document ids must be strings or finite numbers"
    if not _are_whole(numbers, 0, size - 1) or not _are_whole(owners, -1, len(orders) - 1):
        return f"'numbers' must be from 0 to {size - 1}, and 'owners' from -1 to {len(orders) - 1}"
    if not len(shown) == len(set(shown)) == len(numbers) == len(set(numbers)) == len(owners):
        return "'shown', 'numbers' and 'owners' must have equal lengths, and no document may be shown twice"
    if not isinstance(stored.kept, list) or not all(type(x) is float and math.isfinite(x) for x in stored.kept):
        return "'kept' must be a list of finite numbers"
    return ""


def _is_id(value: Any) -> bool:
    return isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))


def _are_whole(values: Any, low: int, high: int) -> bool:
    return isinstance(values, list) and all(type(value) is int and low <= value <= high for value in values)
