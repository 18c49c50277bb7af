"""``ltr-duel results``: make tables and figures from the results of an experiment."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ltr_duel import analysis, experiment, preferences, simulation
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import COUNT, OUT_FIGURE, OUT_FILE, PATH, Place
from ltr_duel.cli._output import echo_lines, print_table
from ltr_duel.cli._words import Command
from ltr_duel.core import InputError, columns, errors, files

if TYPE_CHECKING:
    import pandas as pd


_FORMAT = click.Choice(("png", "pdf", "svg"), case_sensitive=False)
_ENOUGH_RUNS = 6  # minimum number of runs with which Wilcoxon's test can give p < 0.05
_BAND = click.Choice(("quantiles", "standard error", "sd", "range", "none"))

_TESTS = (
    "{regret} at the horizon. p: paired two-sided Wilcoxon signed-rank test against the policy with the lowest mean,"
    " corrected for all pairs of policies by Holm's method. effect: mean paired difference divided by its standard"
    " deviation (Cohen's d_z)."
)
_NEEDED = {  # requirements of the regrets that cannot be computed from the matrix
    "ndcg": 'a corpus with answers = "live", and "ndcg" among the regrets of the experiment',
    "utility": "utilities: [[utilities]] in the experiment",
}


@click.command(cls=Command)
@click.argument("folder", type=PATH)
@click.option("--study", "studies", multiple=True, help="First digits of a study; may be repeated.  [default: all]")
@click.option(
    "--regret", "regrets", multiple=True, show_default="average; copeland for problems without a Condorcet winner",
    help="A regret to tabulate; may be repeated. --facets draws all given regrets, --plots the first.",
)  # fmt: skip
@click.option("--csv", type=OUT_FILE, help="Write the tidy table to this file.")
@click.option("--latex", type=OUT_FILE, help="Write the summary as a LaTeX table to this file.")
@click.option("--plots", type=Place(results=("*.png", "*.pdf", "*.svg")), help="Write the figures into this folder.")
@click.option("--facets", type=OUT_FIGURE, help="Write one figure of all problems to this file (.png, .pdf or .svg).")
@click.option("--start", type=COUNT, default=100, show_default=True, help="First step shown in figures.")
@click.option("--bibtex", is_flag=True, help="Print only the works to cite, as BibTeX.")
@options.plugin
@click.option("--format", "suffix", type=_FORMAT, default="png", show_default=True, help="Format of the figures.")
@options.abscissa
@click.option("--band", type=_BAND, default="quantiles", show_default=True, help="Statistic that the bands show.")
@options.wide
def command(
    folder: Path, studies: tuple[str, ...], regrets: tuple[str, ...], csv: Path | None, latex: Path | None,
    plots: Path | None, facets: Path | None, start: int, bibtex: bool, suffix: str, x: str, band: str,
) -> None:  # fmt: skip
    """Summarise the finished runs in FOLDER: mean, spread, and paired tests against the best policy."""
    for one in regrets:
        errors.require_one_of("regret", one, simulation.REGRETS)
    results, regret = experiment.StudyResults(folder, studies), regrets[0] if regrets else "average"
    if bibtex:
        click.echo(experiment.study_bibtex(results), nl=False)
        return
    if not results.policies:
        raise InputError(f"{folder}: no run is done yet")
    winners = [
        f"{problem}: {analysis.winner_sentence(matrix)}"
        for problem, matrix in ((one, results.matrix(one)) for one in results.problems)
        if matrix.standard_error.any() or matrix.condorcet_winner is None
    ]
    wanted = dict.fromkeys(regrets or ("average",))
    tables = [_table(results, one, named=bool(regrets)) for one in wanted]
    if csv is not None:  # first, because printing may end early if a reader such as head closes the pipe
        with files.replacing(csv) as temporary:
            results.to_frame().to_csv(temporary, index=False, lineterminator="\n")
    if latex is not None:
        told = [re.sub(r" `--[^.]*[.]", "", one) for one in winners]  # without advice on commands, for a paper
        files.write_text(
            latex, "\n".join(analysis.latex_table(table, notes=[*notes, *told]) for table, notes in tables)
        )
    for table, notes in tables:
        print_table(table)
        echo_lines(notes)
    for sentence in winners:
        click.echo(sentence, err=True)
    fewest = results.repetitions[0]
    if len(results.policies) > 1 and fewest < _ENOUGH_RUNS:
        click.echo(_few_runs_sentence(fewest), err=True)
    if plots is not None:
        echo_lines(_draw(results, plots, f".{suffix}", regret, band, x, start))
    if facets is not None:
        click.echo(_draw_facets(results, facets, regrets, band, start))


def _few_runs_sentence(runs: int) -> str:
    """Return a warning that there are too few repetitions for a significant test."""
    why = f"p cannot fall below {0.5 ** (runs - 1):.2g}, and the effect is inaccurate"
    return (
        f"With {runs} repetition{'s' if runs > 1 else ''}, p and effect are almost meaningless:"
        f" {why if runs > 1 else 'there is no spread'}; at least {_ENOUGH_RUNS} repetitions are needed for p < 0.05;"
        " 20 or more are recommended."
    )


def _table(results: experiment.StudyResults, regret: str, *, named: bool) -> tuple[pd.DataFrame, list[str]]:
    """Return the table of a regret, with the regret's label in each row if regrets differ, and the notes below it."""
    column = columns.regret_column(regret)
    summary = results.summary(column)
    summary = _explained(results, summary, regret) if named else _defined(results, summary)
    names = summary["regret"].unique().tolist() if "regret" in summary else [columns.regret_label(column)]
    words = _TESTS if len(summary) > 1 else f"{_TESTS.partition('.')[0]}."
    table = analysis.summary_table(summary)
    return table, [words.format(regret=errors.listed(names)), analysis.spread_sentence(table), *results.notes]


def _defined(results: experiment.StudyResults, summary: pd.DataFrame) -> pd.DataFrame:
    """Return the summary; its rows for problems without a Condorcet winner contain the Copeland regret."""
    import pandas as pd

    undecided = summary["mean"].isna()
    if not undecided.any():
        return summary
    column = columns.regret_column("copeland")
    copeland = results.summary(column)
    problems = ", ".join(_undecided(results, summary))
    click.echo(f"no Condorcet winner, so the regret is the Copeland regret: {problems}", err=True)
    named = [summary.assign(regret="average regret"), copeland.assign(regret=columns.regret_label(column))]
    return pd.concat([named[0][~undecided], named[1][undecided]]).sort_index()


def _explained(results: experiment.StudyResults, summary: pd.DataFrame, regret: str) -> pd.DataFrame:
    """Return the summary, and print why a requested regret is undefined on some problems."""
    if regret in _NEEDED:
        problems, why = _undefined(summary), f"undefined, because it needs {_NEEDED[regret]}"
    else:
        problems, why = _undecided(results, summary), "undefined without a Condorcet winner; use --regret copeland"
    if problems:
        label = columns.regret_label(columns.regret_column(regret))
        click.echo(f"{label} on {', '.join(problems)}: {why}", err=True)
    return summary


def _undefined(summary: pd.DataFrame) -> list[str]:
    """Return the problems on which the regret is undefined."""
    return list(dict.fromkeys(summary.loc[summary["mean"].isna(), columns.PROBLEM].astype(str)))


def _undecided(results: experiment.StudyResults, summary: pd.DataFrame) -> list[str]:
    """Return the problems on which the regret is undefined because there is no Condorcet winner."""
    return [one for one in _undefined(summary) if results.matrix(one).condorcet_winner is None]


def _differ_in_size(runs: pd.DataFrame) -> bool:
    """Return whether only the number of rankers varies: one corpus with one click model, or one family."""
    kinds = runs.reindex(columns=[columns.CORPUS, columns.CLICKS, columns.FAMILY]).drop_duplicates()
    known = kinds[[columns.CORPUS, columns.FAMILY]].notna().any(axis=None)
    return len(kinds) == 1 and bool(known) and runs[columns.RANKERS].nunique() > 1


def _draw_facets(results: experiment.StudyResults, path: Path, regrets: tuple[str, ...], band: str, start: int) -> Path:
    """Draw all problems in one figure, each at its longest horizon; by default with the regret of `_defined`."""
    frame = results.to_frame(regrets or ("average", "copeland"))
    bounds = {name: preferences.lower_bound(results.matrix(name)) for name in frame[columns.PROBLEM].unique()}
    frame[columns.LOWER_BOUND] = frame[columns.PROBLEM].map(bounds).astype(float)
    return analysis.save_figure(
        analysis.plot_facets(
            frame, [columns.regret_column(one) for one in regrets or ("average",)], spread=band, start=start
        ),
        path,
    )


def _draw(
    results: experiment.StudyResults, folder: Path, suffix: str, regret: str, band: str, x: str, start: int
) -> list[Path]:
    """Draw all figures of all problems, and return their paths."""
    column, copeland = columns.regret_column(regret), columns.regret_column("copeland")
    paths, among = [], results.policies
    wanted = tuple(dict.fromkeys((regret, "copeland")))
    final, frame = results.final(wanted), results.to_frame(wanted)
    for condition in results.conditions:
        name = re.sub(r"[^A-Za-z0-9.=-]+", "-", condition.problem).strip("-")
        title = f"{condition.problem}, horizon {condition.horizon:,}"

        def here(table: pd.DataFrame, condition: experiment.Condition = condition) -> pd.DataFrame:
            return table[(table[columns.PROBLEM] == condition.problem) & (table[columns.HORIZON] == condition.horizon)]

        if here(final).empty:
            continue
        matrix = results.matrix(condition.problem)
        bound = preferences.lower_bound(matrix)
        runs = here(frame).assign(**{columns.LOWER_BOUND: float("nan") if bound is None else bound})
        drawn = column if runs[column].notna().any() else copeland
        regret_axes = analysis.plot_regret(runs, x=x, title=title, spread=band, column=drawn, start=start, among=among)
        figures = {"regret": regret_axes}
        if matrix.condorcet_winner:
            figures["accuracy"] = analysis.plot_accuracy(here(frame), title=title, start=start, among=among)
            figures["identification"] = analysis.plot_identification(here(final), title=title, among=among)
        paths += [
            analysis.save_figure(ax, folder / f"{name}-{condition.horizon}-{kind}{suffix}")
            for kind, ax in figures.items()
        ]
    for horizon, runs in final.groupby(columns.HORIZON):
        if _differ_in_size(runs) and runs[column].notna().any():
            ax = analysis.plot_against_arms(runs, column=column, title=f"horizon {horizon:,}", spread=band, among=among)
            paths.append(analysis.save_figure(ax, folder / f"all-{horizon}-arms{suffix}"))
    return paths
