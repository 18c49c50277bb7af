"""One self-contained HTML page: what was asked, what came out, with what settings. It loads nothing from elsewhere."""

from __future__ import annotations

import io
from collections.abc import Sequence
from html import escape

from matplotlib.figure import Figure

from ltr_duel.analysis.html import definitions, page, paragraphs, picture, section, table
from ltr_duel.analysis.rankers import rankers_table
from ltr_duel.analysis.style import METADATA
from ltr_duel.analysis.tables import policies_table
from ltr_duel.preferences import PreferenceMatrix, lower_bound
from ltr_duel.simulation import Results


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
        f'<h1>{escape(title)}</h1><p class="soft">{escape(subtitle)}</p>',
        section("", paragraphs(answer), "answer"),
        section("What each policy paid", table(policies_table(results))),
        *(section(caption, picture(_png(figure), caption)) for caption, figure in figures),
        section("The best rankers", table(rankers_table(matrix))),
    ]
    if notes:
        parts.append(section("Notes", paragraphs(notes)))
    return page(title, [*parts, section("Settings", definitions(settings))])


def _png(figure: Figure) -> bytes:
    data = io.BytesIO()
    figure.savefig(data, format="png", metadata=METADATA[".png"])
    return data.getvalue()
