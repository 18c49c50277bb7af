"""Write a page for each paper: the table of its statements, and the reproduced figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ltr_duel.analysis import markdown_table, png_bytes, render_page, save_figure
from ltr_duel.core import files
from ltr_duel.experiment import duration
from ltr_duel.papers.declaration import PAPERS, Figure
from ltr_duel.papers.figures import draw_figure
from ltr_duel.papers.reproduce import Made
from ltr_duel.papers.table import paper_table

_TEMPLATE = Path(__file__).parent / "templates" / "paper.html"


def write_pages(figures: Mapping[str, Figure], reproduced: Mapping[str, Made], out: Path) -> dict[Path, pd.DataFrame]:
    """Write ``PAPER.html`` and ``PAPER.md`` for each paper that has a reproduced figure.

    Returns the table of each page (see `paper_table`), by the path of the page.
    """
    pages = {}
    for paper, title in PAPERS.items():
        declared = [figure for figure in figures.values() if figure.facts["paper"] == paper]
        shown = [reproduced[figure.name] for figure in declared if figure.name in reproduced]
        if not shown:
            continue
        rows = paper_table(declared, reproduced)
        page = render_page(
            _TEMPLATE, title=title, subtitle=_subtitle(shown), rows=rows, figures=[_section(figure) for figure in shown]
        )
        files.write_text(out / f"{paper}.html", page)
        pages[out / f"{paper}.html"] = rows
        files.write_text(out / f"{paper}.md", f"{_subtitle(shown)}\n\n{markdown_table(rows)}\n")
    return pages


def _subtitle(shown: Sequence[Made]) -> str:
    facts = pd.DataFrame([figure.facts for figure in shown])
    parts = [", ".join(facts[key].astype(str).unique()) for key in ("scale", "machine", "date")]
    return f"Scale: {'; '.join(parts)}; made in {duration(facts['seconds'].sum())}."


def _section(figure: Made) -> dict[str, Any]:
    facts, described, png = figure.facts, figure.facts["figure"], b""
    if described["drawing"]:
        picture = draw_figure(figure.frame, facts)
        save_figure(picture, figure.folder / "figure.svg")
        png = png_bytes(picture)
        (figure.folder / "figure.png").write_bytes(png)
    runs = f", {facts['runs']:,} runs" if facts["runs"] else ""
    return {
        "name": facts["name"],
        "heading": f"{described['number']}: {described['title']}",
        "shows": described["shows"],
        "png": png,
        "table": figure.frame.map(
            lambda cell: "" if pd.isna(cell) else f"{cell:.4g}" if isinstance(cell, float) else cell
        ),
        "facts": {
            "Setting": described["setting"],
            "Data": _sources(facts),
            "Made": f"{facts['scale']} scale{runs}, in {duration(facts['seconds'])}, {facts['date']}",
        },
        "notes": described["notes"],
    }


def _sources(facts: Mapping[str, Any]) -> str:
    kinds = dict.fromkeys(
        f"{source['source']}: {source['note']}" if source["note"] else source["source"] for source in facts["sources"]
    )
    return "; ".join(kinds)
