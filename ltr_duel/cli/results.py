"""``ltr-duel results``: tables and figures from the results of an experiment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ltr_duel.cli._options import OUT_FILE, print_table

if TYPE_CHECKING:
    import pandas as pd

    from ltr_duel.experiment import Study, StudyResults


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--regret", default="average", show_default=True, help="Which regret the summary is of.")
@click.option("--csv", type=OUT_FILE, help="Write the tidy table here.")
@click.option("--latex", type=OUT_FILE, help="Write the summary as a LaTeX table here.")
@click.option("--plots", type=click.Path(path_type=Path), help="Write the figures into this folder.")
@click.option("--format", "suffix", default="png", show_default=True, help="Of the figures: png, pdf or svg.")
@click.option("--band", default="quantiles", show_default=True, help="quantiles, standard error, sd, range or none.")
def command(
    folder: Path, regret: str, csv: Path | None, latex: Path | None, plots: Path | None, suffix: str, band: str
) -> None:
    """Summarise the finished runs in FOLDER: mean, spread, and paired tests against the best policy."""
    from ltr_duel.analysis import latex_table, summary_table
    from ltr_duel.core import InputError, regret_column, replacing
    from ltr_duel.experiment import StudyResults

    results = StudyResults(folder)
    summary = results.summary(regret_column(regret))
    if summary.empty:
        raise InputError(f"{folder}: no run is done yet")
    table = summary_table(summary)
    print_table(table)
    if csv is not None:
        results.to_csv(csv)
    if latex is not None:
        with replacing(latex) as temporary:
            temporary.write_text(latex_table(table), encoding="utf-8")
    if plots is not None:
        for path in _draw(results, plots, f".{suffix.lower().lstrip('.')}", regret, band):
            click.echo(path)


def _draw(results: StudyResults, folder: Path, suffix: str, regret: str, band: str) -> list[Path]:
    """Draw all figures of all problems, and return where they are."""
    import re

    from ltr_duel.analysis import plot_accuracy, plot_against_arms, plot_identification, plot_regret, save_figure
    from ltr_duel.core import HORIZON, PROBLEM, RANKERS, regret_column

    paths, column = [], regret_column(regret)
    final = results.final((regret,))
    frame = results.to_frame((regret,))
    for study, one in results:
        name = re.sub(r"[^A-Za-z0-9.=-]+", "-", study.problem).strip("-")
        title = f"{study.problem}, horizon {study.horizon:,}"

        def here(table: pd.DataFrame, study: Study = study) -> pd.DataFrame:
            return table[(table[PROBLEM] == study.problem) & (table[HORIZON] == study.horizon)]

        figures = {"regret": plot_regret(one, title=title, spread=band, column=column)}
        if one.matrix.condorcet_winner:
            figures["accuracy"] = plot_accuracy(here(frame), title=title)
            figures["identification"] = plot_identification(here(final), title=title)
        paths += [save_figure(ax, folder / f"{name}-{study.horizon}-{kind}{suffix}") for kind, ax in figures.items()]
    for horizon, runs in final.groupby(HORIZON):
        if runs[RANKERS].nunique() > 1 and runs[column].notna().any():
            ax = plot_against_arms(runs, column=column, title=f"horizon {horizon:,}", spread=band)
            paths.append(save_figure(ax, folder / f"all-{horizon}-arms{suffix}"))
    return paths
