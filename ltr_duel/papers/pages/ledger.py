"""The ledger of claims as a table with a verdict in words and colour."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from html import escape
from typing import Any

import pandas as pd

from ltr_duel.analysis import Markup, link, table
from ltr_duel.papers.bibliography import paper_title
from ltr_duel.papers.figures.table import number

VERDICTS = {
    "holds": "holds", "holds in part": "in-part", "does not hold": "does-not-hold", "needs data": "needs-data",
}  # fmt: skip


def verdict(words: str) -> Markup:
    """Return a verdict, coloured; the word says the same as the colour."""
    return Markup(f'<span class="verdict {VERDICTS.get(words, "needs-data")}">{escape(words)}</span>')


def ledger_table(ledger: pd.DataFrame, figures: Collection[str]) -> str:
    """Return the ledger, a row for each claim, with links to the figures that are on the page.

    Parameters
    ----------
    ledger : DataFrame
        Columns claim, paper, where, says, figure, measure, measured, low, high, criterion, verdict, source, scale; and,
        if there are, panels (the numbers of each panel) and reason.
    figures : collection of str
        Names of the figures on the page.
    """
    rows = [
        {
            "verdict": verdict(str(row["verdict"])),
            "claim": Markup(f"{escape(_text(row['says']))}{_soft(_where(row))}{_origin(row, figures)}"),
            "measured": measured(row),
            "how, and what is claimed": Markup(f"{escape(_text(row['measure']))}{_soft(_claimed(row))}"),
        }
        for row in ledger.to_dict("records")
    ]
    return table(pd.DataFrame(rows, dtype=object), text=("claim", "how, and what is claimed"))


def measured(row: Mapping[Any, Any]) -> str:
    """Return the number with its interval."""
    value, low, high = (_number(row[name]) for name in ("measured", "low", "high"))
    if not value:
        return "—"
    return f"{value} [{low}, {high}]" if low and high and (low, high) != (value, value) else value


def _number(value: Any) -> str:
    return number(float(value)) if value is not None and not math.isnan(float(value)) else ""


def _origin(row: Mapping[Any, Any], known: Collection[str]) -> Markup:
    """Return the figures, as links if they are on the page, and the data and the scale."""
    names = [one.strip() for one in _text(row["figure"]).split(",") if one.strip()]
    parts = [link(f"figure-{one}", one) if one in known else escape(one) for one in names]
    parts += [escape(one) for one in (_text(row["source"]), _text(row["scale"])) if one]
    return Markup(f'<br><span class="soft">{", ".join(parts)}</span>')


def _where(row: Mapping[Any, Any]) -> str:
    paper = str(row["paper"])
    return f"{paper_title(paper)}, {_text(row['where'])}"


def _claimed(row: Mapping[Any, Any]) -> str:
    return "; ".join(one for one in (f"claimed: {_text(row.get('criterion'))}", _text(row.get("reason"))) if one)


def _soft(text: str) -> str:
    return f'<br><span class="soft">{escape(text)}</span>'


def _text(value: Any) -> str:
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else str(value)
