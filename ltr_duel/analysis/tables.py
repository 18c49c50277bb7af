"""Format tables of results as text, LaTeX and Markdown."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import pandas as pd

from ltr_duel.core import arguments, columns
from ltr_duel.simulation import Results

_SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": "$<$", ">": "$>$", "±": r"$\pm$",
}  # fmt: skip


_MEAN = "mean ± sd"
REFERENCE_ERROR = "error of the reference matrix"
_UNKNOWN = "not known"
IDENTIFIED = "median identification time"


def policies_table(results: Results) -> pd.DataFrame:
    """Return a table of strings with one row per policy: regret at the horizon, and identification of the winner.

    If there is no Condorcet winner, regret is Copeland regret, and the columns about the winner are omitted.
    """
    arguments.require_type("results", results, Results)
    frame = results.final()
    decided = bool(results.matrix.condorcet_winner)
    column = columns.regret_column("average" if decided else "copeland")
    spread = results.summary(column)
    table = pd.DataFrame({columns.POLICY: spread[columns.POLICY]})
    table[f"{columns.regret_label(column)}, {_MEAN}"] = _means(spread)
    table["runs"] = spread["runs"].astype(str)
    if results.matrix.standard_error.any():
        errors = [f"{value:,.1f}" if decided else _UNKNOWN for value in results.reference_errors()]
        table[REFERENCE_ERROR] = errors
    if decided:
        table["runs that name the winner"] = [f"{value:.0%}" for value in frame["accuracy"]]
        table[IDENTIFIED] = [
            f"{value:,.0f}" if math.isfinite(value) else "not within the horizon" for value in frame["steps_to_winner"]
        ]
    return table


def summary_table(summary: pd.DataFrame) -> pd.DataFrame:
    """Return a summary as a table of strings, formatted for a paper.

    Parameters
    ----------
    summary : DataFrame
        Result of `Results.summary` or `StudyResults.summary`.

    Returns
    -------
    DataFrame
        The columns are problem, horizon and regret (if the summary has them), policy, mean ± sd, error of the
        reference matrix (for estimated matrices; see `REFERENCE_ERROR`), median, p (Wilcoxon's test against the policy
        with the lowest mean) and effect.

    Examples
    --------
    >>> from ltr_duel import simulate
    >>> from ltr_duel.preferences import arxiv
    >>> results = simulate(arxiv(), ["rucb", "rmed1"], horizon=100, repetitions=3)
    >>> summary_table(results.summary()).columns.to_list()
    ['policy', 'mean ± sd', 'median', 'p', 'effect']
    """
    arguments.require_type("the table", summary, pd.DataFrame)
    table = pd.DataFrame(index=summary.index)
    for name in (columns.PROBLEM, columns.HORIZON):
        if name in summary:
            table[name] = [f"{one:,}" if name == columns.HORIZON else str(one) for one in summary[name]]
    if "regret" in summary:
        table["regret"] = summary["regret"]
    table[columns.POLICY] = summary[columns.POLICY]
    table[_MEAN] = _means(summary)
    if "reference_error" in summary and not (summary["reference_error"] == 0).all():
        errors = summary["reference_error"]
        table[REFERENCE_ERROR] = [_UNKNOWN if math.isnan(one) else f"{one:,.1f}" if one else "0" for one in errors]
    table["median"] = ["" if math.isnan(one) else f"{one:,.1f}" for one in summary["median"]]
    table["p"] = ["" if math.isnan(p) else "<0.001" if p < 0.001 else f"{p:.3f}" for p in summary["p_wilcoxon"]]
    table["effect"] = ["" if math.isnan(one) else f"{one:.2f}" for one in summary["effect"]]
    return table


def _means(summary: pd.DataFrame) -> list[str]:
    return [
        ("not defined" if math.isnan(mean) else f"{mean:,.1f}") + ("" if math.isnan(sd) else f" ± {sd:,.1f}")
        for mean, sd in zip(summary["mean"], summary["sd"], strict=True)
    ]


def spread_sentence(table: pd.DataFrame) -> str:
    """Return an explanation of the errors in a result of `policies_table` or `summary_table`."""
    words = "sd: standard deviation of the regret over the runs."
    unknown = table[REFERENCE_ERROR] == _UNKNOWN if REFERENCE_ERROR in table else pd.Series()
    if not unknown.all():
        words += (
            f" {REFERENCE_ERROR}: regret is computed from an estimated matrix; this is the part of the standard error"
            " of the mean that comes from that estimate, or an upper limit on it if pairs share queries."
        )
    if unknown.any():
        words += f" {REFERENCE_ERROR} not known: another estimate of the matrix may give a very different regret."
    return words


ENOUGH_RUNS = 6  # minimum number of runs with which Wilcoxon's test can give p < 0.05


def few_runs_sentence(runs: int) -> str:
    """Return a warning that there are too few repetitions for a significant test."""
    least = 0.5 ** (runs - 1)
    return (
        f"With {runs} repetition{'s' if runs > 1 else ''}, p and effect are almost meaningless: "
        + (f"p cannot fall below {least:.2g}, and the effect is inaccurate" if runs > 1 else "there is no spread")
        + f"; at least {ENOUGH_RUNS} repetitions are needed for p < 0.05; 20 or more are recommended."
    )


def latex_table(frame: pd.DataFrame, *, caption: str = "", label: str = "", notes: Sequence[str] = ()) -> str:
    r"""Return a table as LaTeX (package booktabs); text columns are left-aligned, other columns right-aligned.

    Parameters
    ----------
    frame : DataFrame
    caption, label : str
        Caption and label of the table; if either is given, the tabular is placed in a floating ``table``.
    notes : sequence of str
        Sentences below the table, in small print.

    Returns
    -------
    str
        LaTeX source.

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
    left = [not pd.api.types.is_numeric_dtype(frame[name]) and not _looks_numeric(frame[name]) for name in frame]
    table = frame.map(_cell).rename(columns=lambda name: _escaped(str(name)))
    text = table.style.hide(axis="index").to_latex(
        column_format="".join("l" if text else "r" for text in left), hrules=True, caption=_escaped(caption) or None,
        label=label or None, position_float="centering" if caption or label else None,
    )  # fmt: skip
    wide = f"\\multicolumn{{{frame.shape[1]}}}{{p{{\\linewidth}}}}"
    below = "".join(f"{wide}{{\\footnotesize {_escaped(note)}}} \\\\\n" for note in notes)
    return str(text).replace("\\end{tabular}", f"{below}\\end{{tabular}}")


def markdown_table(frame: pd.DataFrame) -> str:
    """Return a table as Markdown.

    Parameters
    ----------
    frame : DataFrame
        Table of strings; ``|`` and ``<`` are escaped; line breaks become spaces.

    Returns
    -------
    str
        Markdown source with unpadded cells.

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


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.4g}"
    return _escaped(str(value))


def _escaped(text: str) -> str:
    escaped = "".join(_SPECIAL.get(letter, letter) for letter in text).replace("--", "-{}-")
    return re.sub(r"`([^`]*)`", r"\\texttt{\1}", escaped)


def _looks_numeric(column: pd.Series) -> bool:
    texts = [str(one).replace(",", "").replace("±", "").replace(" ", "").lstrip("<") for one in column]
    return all(text.replace(".", "").replace("-", "").isdecimal() or not text for text in texts)
