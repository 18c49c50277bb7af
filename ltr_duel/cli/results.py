"""``ltr-duel results``: make tables and figures from the results of an experiment."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ltr_duel import analysis, experiment, simulation
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import OUT_FIGURE, OUT_FILE, PATH, Figures, Place
from ltr_duel.cli._output import echo_lines, print_table
from ltr_duel.cli._words import Command
from ltr_duel.core import InputError, columns, errors, files

if TYPE_CHECKING:
    import pandas as pd


_ENOUGH_RUNS = 6  # minimum number of runs with which Wilcoxon's test can give p < 0.05

_TESTS = (
    "{regret} at the horizon. p: paired two-sided Wilcoxon signed-rank test against the policy with the lowest mean,"
    " corrected for all pairs of policies by Holm's method. effect: mean paired difference divided by its standard"
    " deviation (Cohen's d_z)."
)
_NEEDED = {  # requirements of the regrets that cannot be computed from the matrix
    "ndcg": 'a corpus with answers = "users", and "ndcg" among the regrets of the experiment',
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
@click.option("--latex", type=OUT_FILE, help="Write a LaTeX table, policies by problems, to this file.")
@click.option("--plots", type=Place(results=("*.png", "*.pdf", "*.svg")), help="Write the figures into this folder.")
@click.option("--facets", type=OUT_FIGURE, help="Write one figure of all problems to this file (.png, .pdf or .svg).")
@click.option("--bibtex", is_flag=True, help="Print only the works to cite, as BibTeX.")
@options.plugin
@options.figures
@options.wide
def command(
    folder: Path, studies: tuple[str, ...], regrets: tuple[str, ...], csv: Path | None, latex: Path | None,
    plots: Path | None, facets: Path | None, bibtex: bool, figures: Figures,
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
    options.require_start(figures, max(condition.horizon for condition in results.conditions))
    winners = [
        f"{problem}: {analysis.winner_sentence(matrix)}"
        for problem, matrix in ((one, results.matrix(one)) for one in results.problems)
        if matrix.standard_error.any() or matrix.condorcet_winner is None
    ]
    wanted = dict.fromkeys(regrets or ("average",))
    summaries = [_summary(results, one, named=bool(regrets)) for one in wanted]
    tables = [_table(results, one, summary) for one, summary in zip(wanted, summaries, strict=True)]
    if csv is not None:  # first, because printing may end early if a reader such as head closes the pipe
        with files.replacing(csv) as temporary:
            results.to_frame().to_csv(temporary, index=False, lineterminator="\n")
    if latex is not None:
        told = [re.sub(r" `--[^.]*[.]", "", one) for one in winners]  # without advice on commands, for a paper
        parts = [
            analysis.latex_table(analysis.slim_table(summary), notes=[*notes, *told])
            for summary, (_, notes) in zip(summaries, tables, strict=True)
        ]
        files.write_text(latex, "\n".join(parts))
    for table, notes in tables:
        print_table(table)
        echo_lines(notes)
    for sentence in winners:
        click.echo(sentence, err=True)
    fewest = results.repetitions[0]
    if len(results.policies) > 1 and fewest < _ENOUGH_RUNS:
        click.echo(_few_runs_sentence(fewest), err=True)
    if plots is not None:
        echo_lines(_draw(results, plots, regret, figures))
    if facets is not None:
        click.echo(_draw_facets(results, facets, regrets, figures))


def _few_runs_sentence(runs: int) -> str:
    """Return a warning that there are too few repetitions for a significant test."""
    why = f"p cannot fall below {0.5 ** (runs - 1):.2g}, and the effect is inaccurate"
    return (
        f"With {runs} repetition{'s' if runs > 1 else ''}, p and effect are almost meaningless:"
        f" {why if runs > 1 else 'there is no spread'}; at least {_ENOUGH_RUNS} repetitions are needed for p < 0.05;"
        " 20 or more are recommended."
    )


def _summary(results: experiment.StudyResults, regret: str, *, named: bool) -> pd.DataFrame:
    """Return the summary of a regret, with the regret's label in each row if regrets differ."""
    summary = results.summary(columns.regret_column(regret))
    return _explained(results, summary, regret) if named else _defined(results, summary)


def _table(results: experiment.StudyResults, regret: str, summary: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Return the table of a summary, and the notes below it."""
    label = columns.regret_label(columns.regret_column(regret))
    names = summary["regret"].unique().tolist() if "regret" in summary else [label]
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


def _measured(results: experiment.StudyResults, frame: pd.DataFrame) -> pd.DataFrame:
    """Return a tidy table with the lower bound of each problem, and the errors that estimated matrices cause."""
    bounds = {name: analysis.drawn_bound(results.matrix(name)) for name in frame[columns.PROBLEM].unique()}
    frame = frame.assign(**{columns.LOWER_BOUND: frame[columns.PROBLEM].map(bounds)})
    mean = [columns.PROBLEM, columns.HORIZON, columns.POLICY]
    return frame.merge(results.summary()[[*mean, columns.REFERENCE_ERROR]], "left", mean)


def _draw_facets(results: experiment.StudyResults, path: Path, regrets: tuple[str, ...], figures: Figures) -> Path:
    """Draw all problems in one figure, each at its longest horizon; by default with the regret of `_defined`."""
    frame = _measured(results, results.to_frame(regrets or ("average", "copeland")))
    wanted = [columns.regret_column(one) for one in regrets or ("average",)]
    drawn = analysis.plot_facets(frame, wanted, spread=figures.spread, start=figures.start, width=figures.width)
    return analysis.save_figure(drawn, path)


def _draw(results: experiment.StudyResults, folder: Path, regret: str, figures: Figures) -> list[Path]:
    """Draw all figures of all problems, and return their paths."""
    column, copeland = columns.regret_column(regret), columns.regret_column("copeland")
    paths: list[Path] = []
    look: dict[str, Any] = {"among": results.policies, "width": figures.width}
    wanted = tuple(dict.fromkeys((regret, "copeland")))
    final, frame = (_measured(results, table(wanted)) for table in (results.final, results.to_frame))
    for condition in results.conditions:
        name = re.sub(r"[^A-Za-z0-9.=-]+", "-", condition.problem).strip("-")
        title = f"{condition.problem}, horizon {condition.horizon:,}"
        runs, ends = (
            table[(table[columns.PROBLEM] == condition.problem) & (table[columns.HORIZON] == condition.horizon)]
            for table in (frame, final)
        )
        if ends.empty:
            continue
        drawn = {
            "regret": analysis.plot_regret(
                runs, x=figures.x, title=title, spread=figures.spread, start=figures.start,
                column=column if runs[column].notna().any() else copeland, **look,
            )
        }  # fmt: skip
        if results.matrix(condition.problem).condorcet_winner:
            drawn["accuracy"] = analysis.plot_accuracy(runs, title=title, start=figures.start, **look)
            drawn["identification"] = analysis.plot_identification(ends, title=title, **look)
        paths += [
            analysis.save_figure(ax, folder / f"{name}-{condition.horizon}-{kind}.{figures.suffix}")
            for kind, ax in drawn.items()
        ]
    for horizon, runs in final.groupby(columns.HORIZON):
        if _differ_in_size(runs) and runs[column].notna().any():
            ax = analysis.plot_against_arms(
                runs, column=column, title=f"horizon {horizon:,}", spread=figures.spread, **look
            )
            paths.append(analysis.save_figure(ax, folder / f"all-{horizon}-arms.{figures.suffix}"))
    return paths
