"""Save a whole study in a folder: matrix, results, figures and one self-contained page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ltr_duel.analysis.html import render_page
from ltr_duel.analysis.matrix import plot_preferences
from ltr_duel.analysis.matrix_words import rankers_table, winner_sentence
from ltr_duel.analysis.regret import plot_regret
from ltr_duel.analysis.style import png_bytes, save_figure
from ltr_duel.analysis.tables import IDENTIFIED, policies_table, spread_sentence
from ltr_duel.bandits import named_policy
from ltr_duel.core import arguments, files, several
from ltr_duel.preferences import lower_bound, save_preferences
from ltr_duel.simulation import COINS_NOTE, INDEPENDENT_COINS, Results

_TEMPLATE = Path(__file__).parent / "templates" / "study.html"
_LARGE_ERROR = 10  # numbers are shown without decimals if their standard deviation or error is at least this large


def render_report(
    results: Results,
    figures: Sequence[tuple[str, Axes | Figure]] = (),
    *,
    title: str,
    answer: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> str:
    """Return a self-contained HTML page of a study: answer, tables, figures with captions, and settings."""
    matrix, policies = results.matrix, policies_table(results)
    bound, run = lower_bound(matrix), results.runs[0].key
    of_estimate = " (of the estimate)" if matrix.standard_error.any() else ""
    settings = {
        **matrix.provenance,
        "horizon": f"{run.horizon:,}",
        "repetitions": len({one.key.repetition for one in results.runs}),
        "simulation seed": run.seed,
        "answers come from": run.oracle.get("oracle"),
        **_sets(results),
    }
    return render_page(
        _TEMPLATE,
        title=title,
        subtitle=f"{several(len(matrix), 'ranker')}, {several(len(results.policies), 'policy')},"
        f" {several(len(results.runs), 'run')}"
        + (
            f"; asymptotic lower bound for pairwise policies{of_estimate}: {bound:.4g} ln T"
            if bound is not None
            else ""
        ),
        answer=answer,
        policies=policies,
        pictures=[(caption, png_bytes(figure)) for caption, figure in figures],
        rankers=rankers_table(matrix),
        notes=[spread_sentence(policies), *_identified(policies), *results.notes, *notes],
        settings={key: _in_words(value) for key, value in settings.items()},
    )


def _sets(results: Results) -> dict[str, str]:
    """Return the methods that compared sets of rankers, if any; the matrix records only the method for pairs."""
    of_sets = [run for run in results.runs if (one := named_policy(run.label)) and one.feedback == "slate"]
    methods = dict.fromkeys(str(run.key.oracle["slates"]) for run in of_sets if "slates" in run.key.oracle)
    methods |= {INDEPENDENT_COINS.replace("_", " "): None} if COINS_NOTE in results.notes else {}
    return {"sets are compared by": ", ".join(methods)} if methods else {}


def _identified(table: pd.DataFrame) -> list[str]:
    """Return an explanation of the identification times if the table contains them."""
    said = "the first checkpoint from which a run names the winner until its end; median over runs"
    known = "This time is known only afterwards, so no policy stops then"
    rises = "Regret may still rise long afterwards, because a policy continues to compare the winner's rivals"
    return [f"{IDENTIFIED[0].upper()}{IDENTIFIED[1:]}: {said}. {known}. {rises}."] if IDENTIFIED in table else []


def study_answer(results: Results) -> list[str]:
    """Return sentences on the winner, its margin and the regret of each policy."""
    matrix, final = results.matrix, results.final()
    lines, won = [winner_sentence(matrix)], matrix.condorcet_winner is not None
    column, name = ("regret_average", "average regret") if won else ("regret_copeland", "Copeland regret")
    told = results.summary(column).set_index("policy").loc[final["policy"]]
    for row, n, mean, sd, moved in zip(
        final.itertuples(), told["runs"], told["mean"], told["sd"], results.reference_errors(), strict=True
    ):
        digits = 0 if sd >= _LARGE_ERROR or moved >= _LARGE_ERROR else 1
        line = f"{row.policy}: {name} {mean:,.{digits}f}"
        line += f" ± {sd:,.{digits}f} (mean ± sd of {n} runs)" if n > 1 else ""
        line += f" after {results.runs[0].key.horizon:,} steps"
        line += (
            f"; one standard error of the estimated matrix moves it by at most {moved:,.{digits}f}" if moved > 0 else ""
        )
        lines.append(line + (f"; {round(row.accuracy * n)} of {n} runs name the winner." if won else "."))
    return [*lines, *results.notes]


def save_study(results: Results, folder: str | Path, *, title: str, notes: Sequence[str] = ()) -> list[str]:
    """Write preferences.parquet, results.parquet, pulls.parquet, the figures and report.html; return the answer.

    The answer consists of sentences on the winner, its margin and the regret of each policy.
    """
    arguments.require_type("results", results, Results)
    matrix = results.matrix
    regret, preferences = plot_regret(results, title=title), plot_preferences(matrix)
    answer = study_answer(results)
    figures = [("Regret", regret), ("Who beats whom", preferences)]
    page = render_report(results, figures, title=title, answer=answer, notes=notes)
    with files.replacing_files(folder) as temporary:
        save_preferences(matrix, temporary / "preferences.parquet")
        results.save(temporary)
        save_figure(regret, temporary / "regret.png")
        save_figure(preferences, temporary / "preferences.png")
        (temporary / "report.html").write_text(page, encoding="utf-8")
    return answer


def _in_words(value: Any) -> Any:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {entry}" for key, entry in value.items())
    if isinstance(value, (list, tuple, np.ndarray)):
        return ", ".join(str(entry) for entry in value)
    return value
