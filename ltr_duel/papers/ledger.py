"""Format the ledger of claims as text, CSV, JSON and Markdown."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from ltr_duel.analysis import markdown_table
from ltr_duel.core import files
from ltr_duel.papers.declaration import paper_title
from ltr_duel.papers.verdicts import JUDGED, NOT_MADE, VERDICTS

_MOST_PANELS = 6  # largest number of panels in a line
_VERDICT = max(map(len, VERDICTS)) + 1  # width of the column of verdicts


def ledger_text(ledger: pd.DataFrame, width: int = 100) -> str:
    """Format the ledger for a terminal: for each claim, the verdict and the statement, then the numbers and the reason.

    Claims about figures that were not reproduced are only counted.
    """
    lines = []
    for paper, rows in ledger[ledger["verdict"] != NOT_MADE].groupby("paper", sort=False):
        lines += [paper_title(str(paper)), ""]
        for row in rows.to_dict("records"):
            head = f"{row['verdict']:<{_VERDICT}}{row['says']} [{row['where']}]"
            details = [f"{row['measure']}: {_brief(row)}; claimed: {row['criterion']}", *_remarks(row)]
            details += [f"{row['figure']}, {row['source'] or 'no data'}, {row['scale'] or 'not run'} ({row['claim']})"]
            lines += textwrap.wrap(head, width, subsequent_indent=" " * _VERDICT)
            for detail in details:
                lines += textwrap.wrap(
                    detail, width, initial_indent=" " * _VERDICT, subsequent_indent=" " * (_VERDICT + 2)
                )
        lines.append("")
    return "\n".join([*lines, ledger_sentence(ledger)]) + "\n"


def ledger_sentence(ledger: pd.DataFrame) -> str:
    """Return how many claims about reproduced figures have each verdict, and how many are about other figures."""
    made = ledger[ledger["verdict"] != NOT_MADE] if len(ledger) else ledger
    counts = {one: int((made["verdict"] == one).sum()) for one in VERDICTS} if len(made) else {}
    named = ", ".join(f"{one} {count}" for one, count in counts.items() if count)
    words = f"{len(made)} claim{'s' * (len(made) != 1)}, {sum(counts.get(one, 0) for one in JUDGED)} judged"
    words += f": {named}." if named else "."
    more = len(ledger) - len(made)
    return f"{words} About figures that were not made: {more}." if more else words


def ledger_json(ledger: pd.DataFrame) -> str:
    """Format the ledger as a JSON list of objects. Numbers have all digits; missing or infinite numbers are null."""
    rows = [
        {key: None if isinstance(one, float) and not math.isfinite(one) else one for key, one in row.items()}
        for row in ledger.to_dict("records")
    ]
    return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"


def save_ledger(ledger: pd.DataFrame, abouts: Mapping[str, Mapping[str, Any]], folder: str | Path) -> list[Path]:
    """Write claims.json, claims.csv and claims.md into a folder, and return their paths."""
    texts = {
        "claims.json": ledger_json(ledger),
        "claims.csv": ledger.to_csv(index=False, lineterminator="\n"),
        "claims.md": ledger_markdown(ledger, abouts),
    }
    for name, text in texts.items():
        files.write_text(Path(folder) / name, text)
    return [Path(folder) / name for name in texts]


def ledger_markdown(ledger: pd.DataFrame, abouts: Mapping[str, Mapping[str, Any]]) -> str:
    """Format the ledger as Markdown: how many claims have each verdict, `circumstances`, and a table for each paper.

    abouts: ``about.json`` of each figure, from which machine, date, scale and seconds are copied.
    """
    lines = [f"{ledger_sentence(ledger)} {circumstances(abouts)}".rstrip(), ""]
    for paper, rows in ledger.groupby("paper", sort=False):
        cells = [
            {
                "claim": row["says"],
                "where": row["where"],
                "measured": f"{row['measure']}: {_brief(row)}",
                "claimed": row["criterion"],
                "verdict": ". ".join([f"**{row['verdict']}**", *_remarks(row)]),
                "figure, data, scale": ", ".join(filter(None, (row["figure"], row["source"], row["scale"]))),
            }
            for row in rows.to_dict("records")
        ]
        lines += [f"### {paper_title(str(paper))}", "", markdown_table(pd.DataFrame(cells)), ""]
    return "\n".join(lines)


def _remarks(row: Mapping[Hashable, Any]) -> list[str]:
    """Return the reason why the verdict is not better, and the note on the claim."""
    return [str(row[key]) for key in ("reason", "note") if row.get(key)]


def _brief(row: Mapping[Hashable, Any]) -> str:
    """Return the numbers of all panels; if there are many, only the numbers of the panel furthest from the claim."""
    panels = row["panels"].split("; ") if row["panels"] else []
    if len(panels) <= _MOST_PANELS:
        return row["panels"] or "not measured"
    hardest = f"{row['measured']:.3g} ({row['low']:.3g} to {row['high']:.3g})"
    return f"{hardest} in the panel that is furthest from the claim, of {len(panels)} panels"


def circumstances(abouts: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the scale, machine and date of the figures, and their total duration."""

    def all_of(key: str) -> str:
        return ", ".join(dict.fromkeys(str(one[key]) for one in abouts.values() if one.get(key)))

    seconds = sum(float(one.get("seconds", 0)) for one in abouts.values())
    parts = [
        f"{word} {all_of(key)}"
        for word, key in (("Scale:", "scale"), ("machine:", "machine"), ("date:", "date"))
        if all_of(key)
    ]
    parts += [f"computed in {seconds / 60:.0f} minutes"] if seconds else []
    return "; ".join(parts) + ("." if parts else "")
