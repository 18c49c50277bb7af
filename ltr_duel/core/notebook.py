"""Show an object in a notebook, with a few sentences and a small table.

The HTML contains no styles and no scripts, so the notebook sets the colours. All text is escaped.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from numbers import Integral

MOST_ROWS = 12
_LONGEST = 80  # characters of a cell


def notebook_html(said: Sequence[str], header: Sequence[object] = (), rows: Iterable[Sequence[object]] = ()) -> str:
    """Return sentences and, if there are rows, a table as HTML. The first cell of each row is its heading."""
    lines = list(rows)
    body = "".join(
        f"<tr><th>{_cell(first)}</th>{''.join(f'<td>{_cell(one)}</td>' for one in others)}</tr>"
        for first, *others in lines[:MOST_ROWS]
    )
    heads = "".join(f"<th>{_cell(one)}</th>" for one in header)
    sentences = "".join(f"<p>{html.escape(one)}</p>" for one in said)
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>" if lines else ""
    more = f"<p>and {len(lines) - MOST_ROWS:,} more</p>" if len(lines) > MOST_ROWS else ""
    return f"<div>{sentences}{table}{more}</div>"


def _cell(value: object) -> str:
    if value is None or value != value:
        return "–"
    text = _number(value) if isinstance(value, float) else f"{value:,}" if isinstance(value, Integral) else str(value)
    return html.escape(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…")


def _number(value: float) -> str:
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
