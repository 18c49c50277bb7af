"""Format results as tables of strings, and tables as LaTeX and Markdown."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import pandas as pd

from ltr_duel.core import arguments, columns
from ltr_duel.simulation import Results

REFERENCE_ERROR = "error of the reference matrix"
_NAMED = "runs that name the winner"
IDENTIFIED = "median identification time"
_MEAN = "mean ± sd"
_UNKNOWN = "not known"
_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
        "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": "$<$", ">": "$>$", "±": r"$\pm$",
    }
)  # fmt: skip


def policies_table(results: Results) -> pd.DataFrame:
    """Return a table of strings with a row for each policy: its regret, and how often and soon it names the winner.

    Without a Condorcet winner, the regret is Copeland regret, and the columns about the winner are left out.
    With a single run of each policy, the column of identification times is left out.
    """
    arguments.require_type("results", results, Results)
    final, decided, summary = results.final(), bool(results.matrix.condorcet_winner), results.summary()
    label = columns.regret_label(columns.regret_column("average" if decided else "copeland"))
    table = pd.DataFrame({columns.POLICY: summary[columns.POLICY], f"{label}, {_MEAN}": _means(summary)})
    table["runs"] = summary["runs"].astype(str)
    _add_reference_errors(table, summary)
    if decided:
        table[_NAMED] = [f"{share:.0%}" for share in final["accuracy"]]
    if decided and summary["runs"].max() > 1:  # a single run may guess the winner from the start
        table[IDENTIFIED] = [
            f"{steps:,.0f}" if math.isfinite(steps) else "not within the horizon" for steps in final["steps_to_winner"]
        ]
    return table


def summary_table(summary: pd.DataFrame) -> pd.DataFrame:
    """Format a summary as a table of strings for a paper.

    Parameters
    ----------
    summary : DataFrame
        The result of `Results.summary` or `StudyResults.summary`.

    Returns
    -------
    DataFrame
        The columns are policy, mean ± sd, median, p and effect. The columns problem, horizon and regret come first if
        the summary has them. If a matrix was estimated, there is a column for the error from this estimate. ``p`` is
        the p-value of Wilcoxon's test against the policy with the lowest mean. If a problem has a Condorcet winner, the
        last column is the share of runs that name this winner.

    Examples
    --------
    >>> from ltr_duel import simulate
    >>> from ltr_duel.preferences import arxiv
    >>> results = simulate(arxiv(), ["rucb", "rmed1"], horizon=100, repetitions=3)
    >>> summary_table(results.summary()).columns.to_list()
    ['policy', 'mean ± sd', 'median', 'p', 'effect', 'runs that name the winner']
    """
    arguments.require_type("the table", summary, pd.DataFrame)
    table = summary[[name for name in (columns.PROBLEM, columns.HORIZON, "regret", columns.POLICY) if name in summary]]
    table = table.assign(**{name: table[name].map("{:,}".format) for name in table if name == columns.HORIZON})
    table[_MEAN] = _means(summary)
    _add_reference_errors(table, summary)
    table["median"] = [_number(one, ",.1f") for one in summary["median"]]
    table["p"] = ["<0.001" if p < 0.001 else _number(p, ".3f") for p in summary["p_wilcoxon"]]
    table["effect"] = [_number(one, ".2f") for one in summary["effect"]]
    if "accuracy" in summary and summary["accuracy"].notna().any():
        table[_NAMED] = [_number(share, ".0%") for share in summary["accuracy"]]
    return table


def _means(summary: pd.DataFrame) -> list[str]:
    return [
        _number(mean, ",.1f", missing="not defined") + _number(sd, ",.1f", before=" ± ")
        for mean, sd in zip(summary["mean"], summary["sd"], strict=True)
    ]


def _add_reference_errors(table: pd.DataFrame, summary: pd.DataFrame) -> None:
    errors = summary.get(columns.REFERENCE_ERROR, pd.Series([0.0]))
    if not (errors == 0).all():
        table[REFERENCE_ERROR] = ["0" if error == 0 else _number(error, ",.1f", missing=_UNKNOWN) for error in errors]


def _number(value: float, form: str, *, before: str = "", missing: str = "") -> str:
    return missing if math.isnan(value) else f"{before}{value:{form}}"


def spread_sentence(table: pd.DataFrame) -> str:
    """Return sentences that explain the errors in a table of `policies_table` or `summary_table`."""
    unknown = table[REFERENCE_ERROR] == _UNKNOWN if REFERENCE_ERROR in table else pd.Series()
    explanation = (
        f" {REFERENCE_ERROR}: regret is computed from an estimated matrix; this is the part of the standard error of"
        " the mean that comes from that estimate, or an upper limit on it if sets of rankers were compared."
    )
    other = f" {REFERENCE_ERROR} not known: another estimate of the matrix may give a very different regret."
    words = "sd: standard deviation of the regret over the runs."
    return words + explanation * (not unknown.all()) + other * bool(unknown.any())


def latex_table(frame: pd.DataFrame, *, caption: str = "", label: str = "", notes: Sequence[str] = ()) -> str:
    r"""Return a table as LaTeX, for the package booktabs. Text is aligned at the left, numbers at the right.

    Parameters
    ----------
    frame : DataFrame
    caption, label : str
        The caption and the label of the table. If you give one of them, the result is a floating ``table``.
    notes : sequence of str
        Sentences that are written above the table as LaTeX comments.

    Returns
    -------
    str

    Examples
    --------
    >>> print(latex_table(pd.DataFrame({"policy": ["a_b"], "regret": [1.5]})), end="")
    \begin{tabular}{lr}
    \toprule
    policy & regret \\
    \midrule
    a\_b & 1.5 \\
    \bottomrule
    \end{tabular}
    """
    arguments.require_type("the table", frame, pd.DataFrame)
    cells = frame.map(lambda cell: _number(cell, ".4g") if isinstance(cell, float) else str(cell))
    numeric = [all(re.fullmatch(rf"[-+<\d.,e±% ]*|{_UNKNOWN}", cell) for cell in cells[name]) for name in cells]
    text = cells.map(_escaped).rename(columns=lambda name: _escaped(str(name))).style.hide(axis="index").to_latex(
        column_format="".join("r" if right else "l" for right in numeric), hrules=True,
        caption=_escaped(caption) or None, label=label or None,
        position_float="centering" if caption or label else None,
    )  # fmt: skip
    return "".join(f"% {' '.join(note.split())}\n" for note in notes) + str(text)


def _escaped(text: str) -> str:
    return re.sub(r"`([^`]*)`", r"\\texttt{\1}", text.translate(_LATEX).replace("--", "-{}-"))


def markdown_table(frame: pd.DataFrame) -> str:
    """Return a table as Markdown.

    Parameters
    ----------
    frame : DataFrame
        A table of strings. ``|`` and ``<`` are escaped, and line breaks become spaces.

    Examples
    --------
    >>> print(markdown_table(pd.DataFrame({"policy": ["rucb"], "regret": ["1.5"]})))
    | policy | regret |
    | --- | --- |
    | rucb | 1.5 |
    """
    arguments.require_type("the table", frame, pd.DataFrame)
    rows = [list(frame.columns), ["---"] * frame.shape[1], *frame.to_numpy(object).tolist()]
    cells = [[" ".join(str(cell).split()).replace("|", "\\|").replace("<", "&lt;") for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)
