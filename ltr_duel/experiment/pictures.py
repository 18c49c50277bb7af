"""The figures and the LaTeX table of a study, and the sentences that belong to them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from ltr_duel.analysis import latex_table, spread_sentence, summary_table, winner_sentence
from ltr_duel.core import columns
from ltr_duel.experiment.results import StudyResults

_NEEDED = {"ndcg": 'it needs simulated users, and regrets = "ndcg"', "utility": "it needs [[utilities]]"}
_TESTS = (
    "p: paired two-sided Wilcoxon test of the regret at the horizon against the policy with the lowest mean,"
    " corrected for all pairs by Holm's method. effect: mean paired difference divided by its sd (Cohen's d_z)"
)


def study_figures(
    results: StudyResults, frame: pd.DataFrame, names: Sequence[str], *, x: str, kind: str, **choices: Any
) -> Iterator[tuple[str, Callable[[Path], Any]]]:
    """Yield the name of each figure's file, and a function that writes this file.

    frame: the result of `StudyResults.to_frame`.
    names: columns of regrets.
    x: the unit of the horizontal axis, see `ltr_duel.plot_regret`.
    kind: ending of the files, such as "png".
    """
    from ltr_duel.analysis import drawn_bound, plot_facets, plot_regret, save_figure  # Matplotlib takes long to import

    keys = [columns.PROBLEM, columns.HORIZON, columns.POLICY]
    bounds = {problem: drawn_bound(results.matrix(problem)) for problem in results.problems}
    methods = [results.sets[key].get(columns.METHOD) for key in zip(frame[keys[0]], frame[keys[2]], strict=True)]
    frame = frame.assign(**{columns.LOWER_BOUND: frame[columns.PROBLEM].map(bounds)})
    frame = frame.assign(**{columns.SLATES: methods})
    frame = frame.merge(results.summary(columns.REGRET)[[*keys, columns.REFERENCE_ERROR]], "left", keys)
    if len(results.problems) > 1 or len(names) > 1:
        yield f"regret.{kind}", partial(save_figure, plot_facets(frame, names, **choices))
    for (problem, horizon), runs in frame.groupby(keys[:2], sort=False):
        column = columns.defined_regret(runs, names[0])
        if runs[column].isna().all():
            continue  # the regret is not defined without a Condorcet winner
        title = f"{problem}, horizon {horizon:,}" + f"\n{columns.NOBODY}" * (column != names[0])
        ax = plot_regret(runs, x=x, column=column, title=title, among=results.policies, **choices)
        name = re.sub(r"[^A-Za-z0-9.=-]+", "-", str(problem)).strip("-")
        yield f"regret-{name}-{horizon}.{kind}", partial(save_figure, ax)


def study_latex(table: pd.DataFrame, notes: Sequence[str], regret: str = "") -> str:
    """Return a table of a regret as LaTeX with notes. A horizon that all rows share is a note and not a column."""
    if regret:
        label = columns.regret_label(columns.regret_column(regret))
        table = table.rename(columns=lambda name: f"{label}, {name}" if name == "mean ± sd" else name)
    horizons = table[columns.HORIZON].unique()
    if len(horizons) > 1:
        return latex_table(table, notes=notes)
    return latex_table(table.drop(columns=columns.HORIZON), notes=[f"horizon: {horizons[0]} steps", *notes])


def study_notes(results: StudyResults, summaries: Mapping[str, pd.DataFrame]) -> list[str]:
    """Return sentences to print below tables of regrets: which winners are uncertain, and what the columns mean.

    summaries: the results of `StudyResults.summary`, by the name of the regret, or "" for the usual regret.
    """
    notes = []
    for problem in results.problems:
        matrix = results.matrix(problem)
        if matrix.standard_error.any() or matrix.condorcet_winner is None:
            notes.append(f"{problem}: {winner_sentence(matrix)}")
    for regret, summary in summaries.items():
        problems = summary.loc[summary["mean"].isna(), columns.PROBLEM].unique().astype(str)
        if regret and len(problems):
            why = _NEEDED.get(regret, "there is no Condorcet winner; use --regret copeland")
            label = columns.regret_label(columns.regret_column(regret))
            notes.append(f"{label} on {', '.join(problems)} is undefined, because {why}")
    runs, pairs = results.repetitions[0], math.comb(len(results.policies), 2)
    needed = 2 + math.floor(math.log2(max(1, pairs) / 0.05))  # the least p is 2^(1 - runs), corrected for all pairs
    if pairs and runs < needed:
        notes.append(
            f"with {runs} repetitions, p is at least {min(1, pairs * 0.5 ** (runs - 1)):.2g} and the effect is"
            f" inaccurate; at least {needed} repetitions are needed for p < 0.05"
        )
    errors = dict.fromkeys(spread_sentence(summary_table(one)) for one in summaries.values())
    return [*notes, _TESTS, *errors, *results.notes]
