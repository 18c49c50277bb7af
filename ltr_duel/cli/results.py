"""``ltr-duel results``: make tables and figures from the results of an experiment."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ltr_duel import analysis, experiment, simulation
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import PATH, FigureOptions, OutputPath, figure_options
from ltr_duel.cli._output import print_answer, print_table, write_files
from ltr_duel.cli._words import Command
from ltr_duel.core import InputError, columns, errors

_RESULTS = OutputPath(results=("results.csv", "table.tex", "regret*.*"))


@click.command(cls=Command)
@click.argument("folder", type=PATH)
@click.option("--study", "studies", multiple=True, help="First digits of a study; may be repeated.  [default: all]")
@click.option("--regret", "regrets", multiple=True, help="Repeatable.  [default: average; copeland without a winner]")
@click.option("-o", "--out", type=_RESULTS, help="A folder for results.csv, table.tex and figures.")
@click.option("--bibtex", is_flag=True, help="Print only the works to cite, as BibTeX.")
@options.plugin
@figure_options
@options.explain
def command(
    folder: Path, studies: tuple[str, ...], regrets: tuple[str, ...], out: Path | None, bibtex: bool,
    figure: FigureOptions,
) -> None:  # fmt: skip
    """Summarise the finished runs in FOLDER: means, spread, and paired tests of each policy against the best one."""
    for regret in regrets:
        errors.require_one_of("regret", regret, simulation.REGRETS)
    results = experiment.StudyResults(folder, studies)
    if bibtex:
        click.echo(experiment.study_bibtex(results), nl=False)
        return
    if not results.policies:
        raise InputError(f"{folder}: no run is done yet")
    names = [columns.regret_column(regret) for regret in dict.fromkeys(regrets)]
    summaries = {regret: results.summary(regret and columns.regret_column(regret)) for regret in regrets or ("",)}
    tables, notes = list(map(analysis.summary_table, summaries.values())), experiment.study_notes(results, summaries)
    if out is not None:
        latex = "\n".join(map(experiment.study_latex, tables, [notes] * len(tables), summaries))
        frame, chosen = results.to_frame(regrets or ("average", "copeland")), (*results.regrets, *regrets)
        pictures = experiment.study_figures(
            results, frame, names or [columns.REGRET], x=figure.x, kind=figure.figures, **figure.keywords
        )
        writers: dict[str, Callable[[Path], Any]] = {
            "results.csv": lambda path: results.to_frame(chosen).to_csv(path, index=False, lineterminator="\n"),
            "table.tex": lambda path: path.write_text(latex, encoding="utf-8"),
        }
        write_files(out, writers | dict(pictures))
    for name, table in zip(names or ["average"], tables, strict=True):
        if len(names) > 1:
            click.echo(f"{columns.regret_label(name)}:")
        print_table(table)
    print_answer("", "", notes)
