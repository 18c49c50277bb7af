"""The columns of a click log: names, types and meanings. A log is a table with one row for each impression.

Logs are stored as JSON lines, CSV or Parquet. All readers return batches with these columns and types, in this order.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from ltr_duel.core import IntVector, as_writable


class LogColumn(NamedTuple):
    """A column of a log."""

    kind: Any  # Arrow type
    needed: bool  # whether each row must have a value
    meaning: str


_TEXT, _TEXTS = pa.string(), pa.list_(pa.string())
_REAL, _WHOLES = pa.float64(), pa.list_(pa.int32())
_TIME = "time of the impression: seconds or milliseconds since 1970, or ISO 8601 (UTC by default)"
_OWNERS = "for each shown document its ranker, by name or index in 'rankers' (first: 0); null, '' or -1 for none"

LOG_COLUMNS: Final[dict[str, LogColumn]] = {
    "impression": LogColumn(_TEXT, True, "name of the impression"),
    "time": LogColumn(_REAL, True, _TIME),
    "query": LogColumn(_TEXT, True, "the query"),
    "user": LogColumn(_TEXT, False, "id of the user; without it, every impression counts as a separate user"),
    "shown": LogColumn(_TEXTS, True, "ids of the shown documents, from the top"),
    "clicks": LogColumn(_WHOLES, True, "clicked positions, in any order; 1 is the top; an empty list for none"),
    "page": LogColumn(_TEXT, False, "the page token of `interleave`, from `Page.to_json`"),
    "rankers": LogColumn(_TEXTS, False, "names of the rankers that were interleaved"),
    "owners": LogColumn(_WHOLES, False, _OWNERS),
    "method": LogColumn(_TEXT, False, "the comparison method, with parameters; if empty, team_draft"),
    "outcome": LogColumn(_TEXT, False, "the outcome rule of the method; if empty, the method's first rule"),
    "policy": LogColumn(_TEXT, False, "the policy that chose the rankers, with parameters; empty if no policy did"),
    "propensity": LogColumn(_REAL, False, "probability with which the policy chose this set of rankers"),
    "grades": LogColumn(_WHOLES, False, "relevance grades of the shown documents, if known"),
}
LEGAL: Final = {  # valid values of a column, for messages
    **dict.fromkeys(("impression", "query", "user"), "a string or a number"),
    **dict.fromkeys(("shown", "rankers"), "a list of strings"),
    "clicks": "a list of positions on the page, 1 for the top",
    "grades": "a list of whole numbers",
    **dict.fromkeys(("method", "outcome", "page", "policy"), "a string"),
    "time": "a number of seconds or a date and time in ISO 8601",
    "owners": "a list with a ranker for each shown document, null for no ranker",
    **dict.fromkeys(("propensity", "value"), "a number"),
    "position": "a whole number, 1 for the top",
    "dwell": "a number of seconds",
}
MILLISECONDS: Final = 1e11  # larger times are in milliseconds; seconds reach this number in the year 5138
FIRST_HOUR: Final = 3600.0  # if the first time is below this, times count from 0 and are no dates
EARLIEST: Final = 631_152_000.0  # 1990; earlier dates are times in another unit
LATEST: Final = 4_102_444_800.0  # 2100
NO_RANKER: Final = -2  # number of an owner that is not a ranker of the row
NO_CREDIT: Final = (
    "clicks cannot be credited: there is no page token and there are no owners; an A/B test (one ranker per list)"
    " is not interleaved, and this program compares only interleaved rankers"
)
NO_RANKERS: Final = (  # for a log or a row without rankers
    '\'rankers\' is missing; if all rows have the same, map it with --source: rankers = ["old", "new"]'
)
EXPOSURE: Final = (
    "impression", "time", "user", "query", "shown", "page", "rankers", "owners", "method", "outcome", "policy",
    "propensity",
)  # fmt: skip
EVENT: Final = {
    **dict.fromkeys(("impression", "user", "item"), "VARCHAR"), "position": "BIGINT", "owner": "VARCHAR",
    "kind": "VARCHAR", **dict.fromkeys(("value", "dwell", "time"), "DOUBLE"),
}  # fmt: skip
LISTS: Final = {"shown", "owners"}  # exposures have lists if they have at least one of these columns
SCHEMA: Final = pa.schema([(name, column.kind) for name, column in LOG_COLUMNS.items()])


class Impressions(NamedTuple):
    """Consecutive checked rows of a log, with the line of each row in the file."""

    table: pa.RecordBatch
    lines: IntVector


def ragged(column: Any) -> tuple[Any, IntVector]:
    """Return the entries of a column of lists, and an array ``ptr``. Row r has the entries ``ptr[r]:ptr[r + 1]``."""
    ptr = as_writable(column.offsets.to_numpy()).astype(np.int64)
    values = column.values
    if pa.types.is_string(values.type) or pa.types.is_list(values.type):
        return values, ptr
    return as_writable((values.fill_null(0) if values.null_count else values).to_numpy()), ptr


def date_words(seconds: float) -> str:
    """Return a time as a readable UTC date."""
    try:
        return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None).isoformat(" ", "seconds")
    except (ValueError, OverflowError, OSError):
        return f"{seconds:g} s"
