"""``ltr-duel results``: make tables and figures from the results of an experiment."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ltr_duel import analysis, experiment, simulation
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import PATH, FigureOptions, OutputPath, figure_options
from ltr_duel.cli._output import print_answer, print_table, write_files
from ltr_duel.cli._words import Command
from ltr_duel.core import InputError, columns, errors

if TYPE_CHECKING:
    import pandas as pd

_TESTS = (
    "p: paired two-sided Wilcoxon test of the regret at the horizon against the policy with the lowest mean,"
    " corrected for all pairs by Holm's method. effect: mean paired difference divided by its sd (Cohen's d_z)"
)
_NEEDED = {"ndcg": 'it needs simulated users, and regrets = "ndcg"', "utility": "it needs [[utilities]]"}
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
    summaries = [results.summary(name) for name in names or [""]]
    tables = [analysis.summary_table(summary) for summary in summaries]
    notes = list(_notes(results, dict(zip(dict.fromkeys(regrets), summaries, strict=False))))
    notes += dict.fromkeys([_TESTS, *map(analysis.spread_sentence, tables), *results.notes])
    if out is not None:
        latex = "\n".join(map(partial(_latex, notes=notes), tables))
        frame = results.to_frame(regrets or ("average", "copeland"))
        writers: dict[str, Callable[[Path], Any]] = {
            "results.csv": lambda path: results.to_frame().to_csv(path, index=False, lineterminator="\n"),
            "table.tex": lambda path: path.write_text(latex, encoding="utf-8"),
        }
        write_files(out, writers | dict(_figures(results, frame, names or [columns.REGRET], figure)))
    for name, table in zip(names or ["average"], tables, strict=True):
        if len(names) > 1:
            click.echo(f"{columns.regret_label(name)}:")
        print_table(table)
    print_answer("", "", notes)


def _latex(table: pd.DataFrame, notes: list[str]) -> str:
    horizons = table[columns.HORIZON].unique()
    if len(horizons) > 1:
        return analysis.latex_table(table, notes=notes)
    return analysis.latex_table(table.drop(columns=columns.HORIZON), notes=[f"horizon: {horizons[0]} steps", *notes])


def _notes(results: experiment.StudyResults, summaries: dict[str, pd.DataFrame]) -> Iterator[str]:
    for problem in results.problems:
        matrix = results.matrix(problem)
        if matrix.standard_error.any() or matrix.condorcet_winner is None:
            yield f"{problem}: {analysis.winner_sentence(matrix)}"
    for regret, summary in summaries.items():
        problems = summary.loc[summary["mean"].isna(), columns.PROBLEM].unique().astype(str)
        why = _NEEDED.get(regret, "there is no Condorcet winner; use --regret copeland")
        if len(problems):
            label = columns.regret_label(columns.regret_column(regret))
            yield f"{label} on {', '.join(problems)} is undefined, because {why}"
    runs, pairs = results.repetitions[0], math.comb(len(results.policies), 2)
    needed = 2 + math.floor(math.log2(max(1, pairs) / 0.05))  # the least p is 2^(1 - runs), corrected for all pairs
    if pairs and runs < needed:
        yield (
            f"with {runs} repetitions, p is at least {min(1, pairs * 0.5 ** (runs - 1)):.2g} and the effect is"
            f" inaccurate; at least {needed} repetitions are needed for p < 0.05"
        )


def _figures(
    results: experiment.StudyResults, frame: pd.DataFrame, names: list[str], figure: FigureOptions
) -> Iterator[tuple[str, Callable[[Path], Any]]]:
    bounds = {problem: analysis.drawn_bound(results.matrix(problem)) for problem in results.problems}
    keys = [columns.PROBLEM, columns.HORIZON, columns.POLICY]
    frame = frame.assign(**{columns.LOWER_BOUND: frame[columns.PROBLEM].map(bounds)})
    frame = frame.merge(results.summary(columns.REGRET)[[*keys, columns.REFERENCE_ERROR]], "left", keys)
    methods = [results.sets[key].get(columns.METHOD) for key in zip(frame[keys[0]], frame[keys[2]], strict=True)]
    frame = frame.assign(**{columns.SLATES: methods})
    if len(results.problems) > 1:
        drawn = analysis.plot_facets(frame, names, **figure.keywords)
        yield f"regret.{figure.figures}", partial(analysis.save_figure, drawn)
    for (problem, horizon), runs in frame.groupby(keys[:2], sort=False):
        column = columns.defined_regret(runs, names[0])
        if runs[column].isna().all():
            continue  # the regret is not defined without a Condorcet winner
        title = f"{problem}, horizon {horizon:,}" + f"\n{columns.NOBODY}" * (column != names[0])
        ax = analysis.plot_regret(
            runs, x=figure.x, column=column, title=title, among=results.policies, **figure.keywords
        )
        name = re.sub(r"[^A-Za-z0-9.=-]+", "-", str(problem)).strip("-")
        yield f"regret-{name}-{horizon}.{figure.figures}", partial(analysis.save_figure, ax)
