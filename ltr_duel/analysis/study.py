"""Write a whole study into a folder: the matrix, the results, the pictures and the page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ltr_duel.analysis.heatmap import plot_preferences
from ltr_duel.analysis.plots import plot_regret
from ltr_duel.analysis.rankers import winner_sentence
from ltr_duel.analysis.report import render_report
from ltr_duel.analysis.style import save_figure
from ltr_duel.core import replacing
from ltr_duel.preferences import save_preferences
from ltr_duel.simulation import Results


def study_answer(results: Results) -> list[str]:
    """Say which ranker won, by how much, and what each policy paid to find out."""
    matrix, final = results.matrix, results.final()
    runs = results.runs[0].key
    lines = [winner_sentence(matrix)]
    for row in final.itertuples():
        if matrix.condorcet_winner:
            lines.append(
                f"{row.policy} paid {row.regret_average:,.1f} (regret after {runs.horizon:,} steps);"
                f" {row.accuracy:.0%} of its runs name the winner."
            )
        else:
            lines.append(
                f"{row.policy} paid {row.regret_copeland:,.1f} (Copeland regret after {runs.horizon:,} steps)."
            )
    return lines


def save_study(results: Results, folder: str | Path, *, title: str, notes: Sequence[str] = ()) -> list[str]:
    """Write preferences.parquet, results.parquet, pulls.parquet, the pictures and report.html; return the answer.

    Parameters
    ----------
    results : Results
    folder : path
        Made if need be; files of the same names are replaced.
    title : str
    notes : sequence of str
        For the page: what the reader should know of the data.

    Returns
    -------
    list of str
        The answer, as in `study_answer`.
    """
    folder, matrix = Path(folder), results.matrix
    regret, preferences = plot_regret(results.to_frame(), matrix, title), plot_preferences(matrix)
    answer = study_answer(results)
    page = render_report(
        matrix,
        results,
        [("Regret", regret), ("Who beats whom", preferences)],
        title=title,
        answer=answer,
        notes=notes,
    )
    save_preferences(matrix, folder / "preferences.parquet")
    results.save(folder)
    for name, figure in (("regret.png", regret), ("preferences.png", preferences)):
        save_figure(figure, folder / name)
    with replacing(folder / "report.html") as temporary:
        temporary.write_text(page, encoding="utf-8")
    return answer
