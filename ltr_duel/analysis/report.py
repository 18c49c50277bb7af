"""Save everything about a simulation in a folder: the matrix, the results, figures, and a web page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ltr_duel.analysis.html import render_page
from ltr_duel.analysis.matrix import plot_preferences
from ltr_duel.analysis.matrix_words import rankers_table, winner_lines
from ltr_duel.analysis.regret import plot_regret
from ltr_duel.analysis.style import png_bytes, save_figure
from ltr_duel.analysis.tables import IDENTIFIED, policies_table, spread_sentence
from ltr_duel.core import arguments, files, several
from ltr_duel.preferences import save_preferences
from ltr_duel.simulation import COINS_NOTE, INDEPENDENT_COINS, Results

_TEMPLATE = Path(__file__).parent / "templates" / "study.html"
_IDENTIFICATION = (
    f"{IDENTIFIED.capitalize()}: the first checkpoint from which a run names the winner until its end; median over"
    " runs. This time is known only afterwards, so no policy stops then. Regret may still rise long afterwards, because"
    " a policy continues to compare the winner's rivals."
)


def save_study(results: Results, folder: str | Path, *, title: str, notes: Sequence[str] = ()) -> None:
    """Write preferences.parquet, the results, the figures and report.html to a folder."""
    arguments.require_type("results", results, Results)
    regret, preferences = plot_regret(results, title=title), plot_preferences(results.matrix)
    pictures = {"Regret": png_bytes(regret), "Who beats whom": png_bytes(preferences)}
    page = render_report(results, pictures, title=title, notes=notes)
    with files.replacing_files(folder) as temporary:
        save_preferences(results.matrix, temporary / "preferences.parquet")
        results.save(temporary)
        save_figure(regret, temporary / "regret.png")
        save_figure(preferences, temporary / "preferences.png")
        (temporary / "report.html").write_text(page, encoding="utf-8")


def render_report(results: Results, pictures: Mapping[str, bytes], *, title: str, notes: Sequence[str] = ()) -> str:
    """Return the web page of a simulation.

    pictures: PNG files, by their captions.
    """
    matrix, policies, key = results.matrix, policies_table(results), results.runs[0].key
    size = [several(len(matrix), "ranker"), several(len(results.policies), "policy"), several(len(results.runs), "run")]
    settings = {
        **matrix.provenance,
        "horizon": f"{key.horizon:,}",
        "repetitions": len({run.key.repetition for run in results.runs}),
        "simulation seed": key.seed,
        "answers come from": key.oracle.get("oracle"),
        **_comparison_of_sets(results),
    }
    return render_page(
        _TEMPLATE,
        title=title,
        subtitle=", ".join(size),
        answer=winner_lines(matrix),
        policies=policies,
        pictures=list(pictures.items()),
        rankers=rankers_table(matrix),
        notes=[spread_sentence(policies), *[_IDENTIFICATION] * (IDENTIFIED in policies), *results.notes, *notes],
        settings={name: in_words(value) for name, value in settings.items()},
    )


def _comparison_of_sets(results: Results) -> dict[str, str]:
    methods = dict.fromkeys(results.slates.values())
    methods |= {INDEPENDENT_COINS.replace("_", " "): None} if COINS_NOTE in results.notes else {}
    return {"sets are compared by": ", ".join(methods)} if methods else {}


def in_words(value: Any) -> Any:
    """Return the value of a setting as readers should see it, without brackets and quotes."""
    if isinstance(value, Mapping):
        value = [f"{name} {entry}" for name, entry in value.items()]
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else value
