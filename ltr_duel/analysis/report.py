"""One self-contained HTML page: what was asked, what came out, with what settings. It loads nothing from elsewhere."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ltr_duel.analysis.rankers import rankers_table
from ltr_duel.analysis.tables import policies_table
from ltr_duel.preferences.bounds import lower_bound
from ltr_duel.preferences.matrix import PreferenceMatrix
from ltr_duel.simulation.result import Results

_STYLE = """
:root { color-scheme: light; --ink: #1c1f23; --soft: #5d6670; --line: #e3e6ea; --paper: #fff; --accent: #0072b2; }
* { box-sizing: border-box; }
body { margin: 0; background: #f5f6f8; color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .25rem; } h2 { font-size: 1.1rem; margin: 0 0 .5rem; }
.soft { color: var(--soft); margin: 0 0 1rem; } section { background: var(--paper); border: 1px solid var(--line);
border-radius: .5rem; padding: 1rem 1.25rem; margin: 1rem 0; } .answer { border-left: 4px solid var(--accent); }
img { max-width: 100%; height: auto; display: block; margin: 0 auto; } .scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; } th, td { padding: .3rem .6rem; text-align: right;
border-bottom: 1px solid var(--line); white-space: nowrap; } th:first-child, td:first-child { text-align: left; }
th { color: var(--soft); font-weight: 600; } dl { display: grid; grid-template-columns: max-content 1fr;
gap: .2rem 1rem; margin: 0; font-size: .9rem; } dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
"""


def render_report(
    matrix: PreferenceMatrix,
    results: Results,
    figures: Sequence[tuple[str, Figure]],
    *,
    title: str,
    answer: Sequence[str],
    notes: Sequence[str] = (),
) -> str:
    """Return the page as text.

    Parameters
    ----------
    matrix : PreferenceMatrix
    results : Results
    figures : sequence of (caption, Figure)
    title : str
    answer : sequence of str
        The result in a few sentences; it stands at the top.
    notes : sequence of str
        What the reader should know of the data.
    """
    bound = lower_bound(matrix)
    subtitle = f"{len(matrix)} rankers, {len(results.policies)} policies, {len(results.runs)} runs" + (
        f"; asymptotic lower bound for pairwise policies: {bound:.4g} ln T" if bound is not None else ""
    )
    runs = results.runs[0].key
    settings = {
        **matrix.provenance,
        "horizon": f"{runs.horizon:,}",
        "repetitions": len({run.key.repetition for run in results.runs}),
        "simulation seed": runs.seed,
        "answers come from": runs.oracle.get("oracle"),
    }
    parts = [
        f"<h1>{escape(title)}</h1><p class=soft>{escape(subtitle)}</p>",
        _section("", "".join(f"<p>{escape(line)}</p>" for line in answer), "answer"),
        _section("What each policy paid", _table(policies_table(results))),
        *(_section(caption, _picture(figure, caption)) for caption, figure in figures),
        _section("The best rankers", _table(rankers_table(matrix))),
    ]
    if notes:
        parts.append(_section("Notes", "".join(f"<p>{escape(line)}</p>" for line in notes)))
    parts.append(_section("Settings", _definitions(settings)))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>\n"
        f"<body><main>{''.join(parts)}</main></body></html>\n"
    )


def _section(heading: str, body: str, kind: str = "") -> str:
    head = f"<h2>{escape(heading)}</h2>" if heading else ""
    return f'<section class="{kind}">{head}{body}</section>\n'


def _table(frame: Any) -> str:
    header = "".join(f"<th>{escape(str(name))}</th>" for name in frame.columns)
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(str(value))}</td>" for value in row) + "</tr>"
        for row in frame.itertuples(index=False)
    )
    return f'<div class="scroll"><table><thead><tr>{header}</tr></thead><tbody>{rows}</tbody></table></div>'


def _definitions(settings: dict[str, Any]) -> str:
    def plain(value: Any) -> str:
        if isinstance(value, dict):
            return ", ".join(f"{key} {entry}" for key, entry in value.items())
        if isinstance(value, (list, tuple, np.ndarray)):
            return ", ".join(str(entry) for entry in value)
        return str(value)

    return "<dl>" + "".join(f"<dt>{escape(k)}</dt><dd>{escape(plain(v))}</dd>" for k, v in settings.items()) + "</dl>"


def _picture(figure: Figure, caption: str) -> str:
    data = io.BytesIO()
    figure.savefig(data, format="png")
    encoded = base64.b64encode(data.getvalue()).decode()
    return f'<img alt="{escape(caption)}" src="data:image/png;base64,{encoded}">'
