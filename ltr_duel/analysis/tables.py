"""Tables for people: what each policy paid, as text and as LaTeX."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import pandas as pd

from ltr_duel.simulation import Results

_SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip


def policies_table(results: Results) -> pd.DataFrame:
    """Return one row for each policy, as text: regret at the horizon, and how soon the winner was settled on."""
    frame = results.final()
    decided = bool(results.matrix.condorcet_winner)
    table = pd.DataFrame({"policy": frame["policy"]})
    column = "regret_average" if decided else "regret_copeland"
    table["regret" if decided else "Copeland regret"] = [f"{value:,.1f}" for value in frame[column]]
    if decided:
        table["runs that name the winner"] = [f"{value:.0%}" for value in frame["accuracy"]]
        table["steps until it is settled (median)"] = [
            f"{value:,.0f}" if math.isfinite(value) else "not within the horizon" for value in frame["steps_to_winner"]
        ]
    return table


def summary_table(summary: pd.DataFrame) -> pd.DataFrame:
    """Return a summary (`ltr_duel.simulation.summary.summarise`) as text: what a paper's table would show.

    Columns: problem and horizon if the summary has them, policy, mean ± sd, median, p (Wilcoxon, against the policy
    with the lowest mean), effect.
    """
    table = pd.DataFrame(index=summary.index)
    for name in ("problem", "horizon"):
        if name in summary:
            table[name] = [f"{one:,}" if name == "horizon" else str(one) for one in summary[name]]
    table["policy"] = summary["policy"]
    table["mean ± sd"] = [
        f"{mean:,.1f}" + ("" if math.isnan(sd) else f" ± {sd:,.1f}")
        for mean, sd in zip(summary["mean"], summary["sd"], strict=True)
    ]
    table["median"] = [f"{one:,.1f}" for one in summary["median"]]
    table["p"] = [_p_value(one) for one in summary["p_wilcoxon"]]
    table["effect"] = ["" if math.isnan(one) else f"{one:.2f}" for one in summary["effect"]]
    return table


def latex_table(frame: pd.DataFrame, *, caption: str = "", label: str = "") -> str:
    """Write a table as LaTeX (package booktabs): text columns to the left, others to the right.

    Parameters
    ----------
    frame : DataFrame
    caption, label : str
        If one is given the table floats.
    """
    left = [not pd.api.types.is_numeric_dtype(frame[name]) and not _looks_numeric(frame[name]) for name in frame]
    lines = [f"\\begin{{tabular}}{{{''.join('l' if one else 'r' for one in left)}}}", "\\toprule"]
    lines += [_row(map(str, frame.columns)), "\\midrule"]
    lines += [_row(_cell(one) for one in row) for row in frame.itertuples(index=False)]
    lines += ["\\bottomrule", "\\end{tabular}"]
    if caption or label:
        head = ["\\begin{table}", "\\centering"]
        tail = [f"\\caption{{{_escaped(caption)}}}"] if caption else []
        tail += [f"\\label{{{label}}}"] if label else []
        lines = [*head, *lines, *tail, "\\end{table}"]
    return "\n".join(lines) + "\n"


def _row(cells: Iterable[str]) -> str:
    return " & ".join(_escaped(cell) for cell in cells) + r" \\"


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.4g}"
    return str(value)


def _escaped(text: str, special: Mapping[str, str] = _SPECIAL) -> str:
    return "".join(special.get(letter, letter) for letter in text).replace("±", r"$\pm$")


def _looks_numeric(column: pd.Series) -> bool:
    texts = [str(one).replace(",", "").replace("±", "").replace(" ", "").lstrip("<") for one in column]
    return all(text.replace(".", "").replace("-", "").isdecimal() or not text for text in texts)


def _p_value(p: float) -> str:
    return "" if math.isnan(p) else "<0.001" if p < 0.001 else f"{p:.3f}"
