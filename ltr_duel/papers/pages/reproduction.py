"""The report of a reproduction: the figures of each paper, with the claims about them and the measured results."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from ltr_duel.analysis import render_page
from ltr_duel.core import columns as col
from ltr_duel.experiment import duration
from ltr_duel.papers.declaration import paper_title
from ltr_duel.papers.figures.table import format_number
from ltr_duel.papers.ledger import ledger_sentence
from ltr_duel.papers.pages.state_of_the_art import state_of_the_art
from ltr_duel.simulation import averaged, comparable_rows

MOST_ROWS = 2000
_KEYS = (col.PROBLEM, col.RANKERS, col.SIZE, col.GAMMA, col.CLICKS, col.SOURCE, col.STUDY, col.POLICY, col.HORIZON)
_DATA = {
    "surrogate": "synthetic data in place of the corpus",
    "real data": "the corpus itself",
    "excerpt": "an excerpt of the corpus",
    "published matrix": "a published matrix",
    "made by a rule": "problems made by a rule",
    "as in the paper": "the problems of the paper",
}
_TEMPLATE = Path(__file__).parent / "templates" / "reproduction.html"


class Reproduced(NamedTuple):
    """A reproduced figure: its description, its table, and the picture as PNG."""

    about: Mapping[str, Any]
    frame: pd.DataFrame
    png: bytes


def reproduction_page(figures: Sequence[Reproduced], ledger: pd.DataFrame, *, title: str) -> str:
    """Return the page as HTML: for each paper, its figures in the given order with their claims from the ledger."""
    shown = [str(figure.about["name"]) for figure in figures]
    claims: dict[str, list[dict[str, Any]]] = {}
    for row in ledger.to_dict("records"):
        claim = _claim(row)
        for name in [one for one in claim["figures"] if one in shown][:1]:  # a claim is shown below its first figure
            claims.setdefault(name, []).append(claim)
    papers: dict[str, list[dict[str, Any]]] = {}
    for figure in figures:
        name = paper_title(str(figure.about["figure"]["paper"]))
        papers.setdefault(name, []).append(_figure(figure, claims.get(str(figure.about["name"]), [])))
    abouts = [figure.about for figure in figures]
    return render_page(
        _TEMPLATE,
        title=title,
        subtitle=_subtitle(abouts),
        answer=([ledger_sentence(ledger)] if len(ledger) else []) + _origin(abouts),
        papers=papers,
        shown=shown,
    )


def _subtitle(abouts: Sequence[Mapping[str, Any]]) -> str:
    seconds = sum(float(one.get("seconds", 0)) for one in abouts)
    parts = [f"{_figures(len(abouts))}; made in {duration(seconds)}"]
    for key in ("scale", "machine", "date"):
        found = dict.fromkeys(str(one[key]) for one in abouts if one.get(key))
        parts += [f"{key}: {', '.join(found)}"] if found else []
    return "; ".join(parts)


def _figures(n: int) -> str:
    return f"{n} figure{'s' * (n != 1)}"


def _origin(abouts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return sentences with the number of figures for each kind of data."""
    found = [dict.fromkeys(str(one["source"]) for one in about.get("sources", [])) for about in abouts]
    kinds, counts = [kind for one in found for kind in one], []
    for kind in dict.fromkeys(kinds):
        n = kinds.count(kind)
        data = _DATA.get(kind, f"data of the kind '{kind}'")
        counts.append(f"{_figures(n)} {'uses' if n == 1 else 'use'} {data}.")
    return [" ".join(counts)] if counts else []


def _claim(row: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the values of one row of the ledger for the template."""
    text = {key: _text(value) for key, value in row.items()}
    remarks = (text["reason"], text.get("note", ""))
    return {
        **{key: text[key] for key in ("verdict", "says", "measure", "where")},
        "figures": [one.strip() for one in text["figure"].split(",") if one.strip()],
        "measured": _measured(row),
        "claimed": text["criterion"],
        "remarks": [one for one in (*remarks, ", ".join(filter(None, (text["source"], text["scale"])))) if one],
    }


def _measured(row: Mapping[Any, Any]) -> str:
    """Format the measured number with its interval."""
    value, low, high = (
        format_number(float(row[name])) if _text(row[name]) else "" for name in ("measured", "low", "high")
    )
    if not value:
        return "—"
    return f"{value} [{low}, {high}]" if low and high and (low, high) != (value, value) else value


def _text(value: Any) -> str:
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else str(value)


def _figure(figure: Reproduced, claims: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the values of one figure for the template."""
    about, described = figure.about, figure.about["figure"]
    text, words = data_csv(figure.frame, about)
    made = (f"in {duration(float(about.get('seconds', 0)))}", str(about.get("date", "")))
    facts = {
        "Setting": described.get("setting", ""),
        "Data": _sources(about),
        "Scale": _scale(about),
        "Made": ", ".join(filter(None, made)),
    }
    ranked = described["paper"] == "state_of_the_art" and col.POLICY in figure.frame
    return {
        "name": str(about["name"]),
        "number": str(described["number"]),
        "heading": f"{described['number']}: {described['title']}",
        "shows": str(described.get("shows", "")),
        "png": figure.png,
        "facts": {key: value for key, value in facts.items() if value},
        "notes": [str(one) for one in (*about.get("notes", []), *described.get("notes", []))],
        "claims": claims,
        "csv": text,
        "csv_words": words,
        "standings": state_of_the_art(figure.frame, about) if ranked else None,
    }


def _sources(about: Mapping[str, Any]) -> str:
    """Describe in words the sources of the data, with their problems and notes."""
    groups: dict[tuple[str, str], list[str]] = {}
    for one in about.get("sources", []):
        groups.setdefault((str(one["source"]), str(one.get("note") or "")), []).append(str(one.get("problem") or ""))
    parts = []
    for (source, note), problems in groups.items():
        named = ", ".join(filter(None, problems[:4])) + ", …" * (len(problems) > 4) if len(groups) > 1 else ""
        parts.append(source + (f" ({named})" if named else "") + (f": {note}" if note else ""))
    return "; ".join(parts)


def _scale(about: Mapping[str, Any]) -> str:
    parts = [str(about["scale"])] if about.get("scale") else []
    parts += [f"{about['runs']:,} runs"] if about.get("runs") else []
    parts += [f"{about['horizon']:,} steps at most"] if about.get("horizon") else []
    return ", ".join(parts)


def data_csv(frame: pd.DataFrame, about: Mapping[str, Any]) -> tuple[bytes, str]:
    """Return a figure's data as CSV, and a description of the data.

    For runs, the data are mean, spread and accuracy of each curve at each checkpoint. If there would be more than
    `MOST_ROWS` rows, only every n-th checkpoint is included.
    """
    if not {col.POLICY, col.T, col.REPETITION} <= set(frame.columns):
        table, words = frame.head(MOST_ROWS), "the table"
        if len(frame) > len(table):
            words = f"the first {len(table):,} of {len(frame):,} rows"
        return _bytes(table), words
    options = about.get("figure", {}).get("options", {})
    table = means(frame, str(options.get("column", col.REGRET)))
    lines = [name for name in _KEYS if name in table]
    step, place = 1, table.groupby(lines, dropna=False).cumcount(ascending=False)  # counted from the end
    while (place % step == 0).sum() > MOST_ROWS and step < 1000:
        step += 1
    thinned = f", every {step}th checkpoint" if step > 1 else ""
    return _bytes(table[place % step == 0].head(MOST_ROWS)), f"mean and spread{thinned}"


def means(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return mean, sd, minimum and maximum of a column over runs, and accuracy, for each curve and checkpoint."""
    rows = comparable_rows(frame, [col.PROBLEM])
    keys = [name for name in _KEYS if name in rows and rows[name].notna().any()]
    table = averaged(rows, [*keys, col.T], column).rename(columns={"mean": column})
    if col.CORRECT in rows:
        share = (
            rows.groupby([*keys, col.T], sort=False, dropna=False)[col.CORRECT].mean().rename("accuracy").reset_index()
        )
        table = table.merge(share, on=[*keys, col.T], how="left")
    return table


def _bytes(table: pd.DataFrame) -> bytes:
    return table.to_csv(index=False, float_format="%.6g", lineterminator="\n").encode()
