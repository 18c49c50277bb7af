"""The page of a paper: the table of what it prints and what we measure, and below it the reproduced figures."""

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


def write_pages(figures: Mapping[str, Figure], made: Mapping[str, Made], out: Path) -> dict[Path, pd.DataFrame]:
    """Write ``PAPER.html`` and ``PAPER.md`` into ``out`` for each paper of which a figure is reproduced.

    Returns the paths of the pages with their tables (`paper_table`).
    """
    pages = {}
    for paper, title in PAPERS.items():
        declared = [figure for figure in figures.values() if figure.about["paper"] == paper]
        shown = [made[figure.name] for figure in declared if figure.name in made]
        if not shown:
            continue
        rows = paper_table(declared, made)
        page = render_page(
            _TEMPLATE, title=title, subtitle=_subtitle(shown), rows=rows, figures=[_section(one) for one in shown]
        )
        files.write_text(out / f"{paper}.html", page)
        pages[out / f"{paper}.html"] = rows
        files.write_text(out / f"{paper}.md", f"{_subtitle(shown)}\n\n{markdown_table(rows)}\n")
    return pages


def _subtitle(shown: Sequence[Made]) -> str:
    """Return scale, machine, dates and the whole duration of the figures."""
    parts = [", ".join(dict.fromkeys(str(one.about[key]) for one in shown)) for key in ("scale", "machine", "date")]
    return f"Scale: {'; '.join(parts)}; made in {duration(sum(one.about['seconds'] for one in shown))}."


def _section(made: Made) -> dict[str, Any]:
    """Return the values of one figure for the template, and save its picture."""
    about, described, png = made.about, made.about["figure"], b""
    if described["drawing"]:
        picture = draw_figure(made.frame, about)
        save_figure(picture, made.folder / "figure.svg")
        png = png_bytes(picture)
        (made.folder / "figure.png").write_bytes(png)
    runs = f", {about['runs']:,} runs" if about["runs"] else ""
    return {
        "name": about["name"],
        "heading": f"{described['number']}: {described['title']}",
        "shows": described["shows"],
        "png": png,
        "table": made.frame.map("{:.4g}".format, na_action="ignore").fillna(""),
        "facts": {
            "Setting": described["setting"],
            "Data": _sources(about),
            "Made": f"{about['scale']} scale{runs}, in {duration(about['seconds'])}, {about['date']}",
        },
        "notes": described["notes"],
    }


def _sources(about: Mapping[str, Any]) -> str:
    """Describe in words the sources of the data."""
    kinds = dict.fromkeys(
        f"{one['source']}: {one['note']}" if one["note"] else one["source"] for one in about["sources"]
    )
    return "; ".join(kinds)
