"""``ltr-duel results``: tables and figures from the results of an experiment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ltr_duel.cli._options import print_table

if TYPE_CHECKING:
    import pandas as pd

    from ltr_duel.experiment import Study, StudyResults


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--regret", default="average", show_default=True, help="Which regret the summary is of.")
@click.option("--csv", type=click.Path(path_type=Path), help="Write the tidy table here.")
@click.option("--latex", type=click.Path(path_type=Path), help="Write the summary as a LaTeX table here.")
@click.option("--plots", type=click.Path(path_type=Path), help="Write the figures into this folder.")
@click.option("--format", "suffix", default="png", show_default=True, help="Of the figures: png, pdf or svg.")
@click.option("--band", default="quantiles", show_default=True, help="'quantiles' or 'standard error'.")
def command(
    folder: Path, regret: str, csv: Path | None, latex: Path | None, plots: Path | None, suffix: str, band: str
) -> None:
    """Summarise the finished runs in FOLDER: mean, spread, and paired tests against the best policy."""
    from ltr_duel.analysis import latex_table, summary_table
    from ltr_duel.core import InputError, replacing
    from ltr_duel.experiment import StudyResults

    results = StudyResults(folder)
    summary = results.summary(f"regret_{regret}")
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

    paths, column = [], f"regret_{regret}"
    final = results.final((regret,))
    frame = results.to_frame((regret,))
    for study, one in results:
        name = re.sub(r"[^A-Za-z0-9.=-]+", "-", study.problem).strip("-")
        title = f"{study.problem}, horizon {study.horizon:,}"

        def here(table: pd.DataFrame, study: Study = study) -> pd.DataFrame:
            return table[(table["problem"] == study.problem) & (table["horizon"] == study.horizon)]

        figures = {
            "regret": plot_regret(one.to_frame((regret, "copeland")), one.matrix, title, band=band, column=column)
        }
        if one.matrix.condorcet_winner:
            figures["accuracy"] = plot_accuracy(here(frame), title)
            figures["identification"] = plot_identification(here(final), title)
        paths += [save_figure(fig, folder / f"{name}-{study.horizon}-{kind}{suffix}") for kind, fig in figures.items()]
    for horizon, runs in final.groupby("horizon"):
        if runs["rankers"].nunique() > 1 and runs[column].notna().any():
            figure = plot_against_arms(runs, column, f"horizon {horizon:,}", band=band)
            paths.append(save_figure(figure, folder / f"all-{horizon}-arms{suffix}"))
    return paths
