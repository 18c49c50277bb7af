"""Sentences and tables on the best policy for each problem, computed from the runs."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ltr_duel.analysis import markdown_table
from ltr_duel.bandits import marked
from ltr_duel.core import columns as col
from ltr_duel.papers.figures.table import format_number
from ltr_duel.papers.standings import PAIRS, standings

_CLOSE = 2.0  # a policy that may be the best is marked ≈ if its ratio to the best is at most this
_MOST_NAMED = 5
_NEAR = 1.005  # ratios below this are rounded to 1.00
_LARGE = 1000.0  # ratios above this are not printed
_WRONG = 0.05  # expected share of tables with a wrong bound
_CAPTION = (
    "{regret} at the horizon: mean and median over the runs. {meaning} × best: the mean as a multiple of the lowest"
    " mean of the table. Bounds: limits of the ratio of a policy's true mean to that of the truly best policy; they"
    " hold for all policies of a table at once with 95 % confidence (multiple comparisons with the best: Edwards and"
    " Hsu 1983, with the bootstrap-t of 4,000 resamples of the runs, balanced after Beran 1988; not for fewer than six"
    " runs).{tables} The bounds cannot account for events so rare that they happened in no run. Lower bound 1: the"
    " policy may be the best; > 1.00: it is not the best, although its ratio may be close to 1. ≈: the policy may be"
    " the best, and its regret is at most {close:g} times the lowest; ?: the policy may be the best, but these runs do"
    " not show it. > 1,000: larger than 1,000.{few}"
)
_MEANING = {
    col.REGRET: "A step adds the mean gap of the compared rankers; the gap of a ranker is the probability that the"
    " Condorcet winner beats it, minus 1/2.",
    "regret_ndcg": "A step adds the highest NDCG@10 of a ranker, minus the mean NDCG@10 of the two or more rankers"
    " that are compared.",
}
_TABLES = " The confidence applies to each table: of {tables} tables, {wrong:.1g} on average may have a wrong bound."
_FEW = (
    " If the lower bound is 1.00 and the upper bound > 1,000, a few runs cause most of the mean regret, so the runs"
    " hardly limit the ratio."
)
_BOUND = (
    " × bound: the mean as a multiple of c ln T, the asymptotic lower bound on average regret for policies that compare"
    " pairs (Komiyama et al., COLT 2015, Theorem 1). The constant c sums over all arms i except the winner: each adds"
    " the minimum of (gap i + gap j) / (2 d(p_ij, 1/2)) over the arms j that beat arm i; d is the relative entropy of"
    " two coins, and p_ij the probability that i beats j. Any policy may stay below the bound at a finite horizon;"
    " blank if the winner of an estimated matrix is not certain."
)
_DEFINED = "All regrets are defined in [docs/explanations/regrets.md](explanations/regrets.md)."
_REFERENCE = (
    " ± reference: an upper limit on how far the mean of a policy moves if the estimated matrix is wrong by one"
    " standard error. The regret of all runs of a table is computed from one matrix, so another estimate would change"
    " the means and their ratios. The best policy, the marks ≈ and ?, and the bounds take this matrix as exact."
)
_ACCURACY = (
    " Names the winner: share of the runs that name the Condorcet winner at the end; blank if the winner of an"
    " estimated matrix is not certain."
)
_NDCG = " Names the NDCG-best: share of the runs that name the ranker with the highest NDCG@10."


class StateOfTheArt(NamedTuple):
    """The comparison in sentences, a table for each problem (with heading and a note on the regret), and a caption."""

    lines: list[str]
    tables: list[tuple[str, str, pd.DataFrame]]
    caption: str


def state_of_the_art(frame: pd.DataFrame, about: Mapping[str, Any]) -> StateOfTheArt:
    """Compare the policies on each problem; policies that compare pairs and policies that compare sets are separate."""
    column = str(about["figure"].get("options", {}).get("column", col.REGRET))
    ranked, references = standings(frame, column), about.get("references", {})
    tables, told = [], set[str]()
    for (name, _), rows in ranked.groupby([col.PROBLEM, "compares"], sort=False):
        measured = "Measured as above." if name in told else str(references.get(name, {}).get("text", ""))
        told.add(str(name))
        tables.append((_heading(str(name), rows), f"{_regret(column)}. {measured}".strip(), _texts(rows)))
    wrong = sum(one["bounds"].ne("").any() for _, _, one in tables if "bounds" in one) * _WRONG
    said = _CAPTION.format(
        regret=_regret(column),
        meaning=_MEANING.get(column, ""),
        close=_CLOSE,
        tables=_TABLES.format(tables=len(tables), wrong=wrong) if wrong > _WRONG else "",
        few=_FEW if ((ranked["low"] == 1) & (ranked["high"] > _LARGE)).any() else "",
    )
    said += _BOUND if ranked["to_bound"].notna().any() else ""
    said += _REFERENCE if (ranked["reference_error"] > 0).any() else ""
    said += _ACCURACY if ranked["accuracy"].notna().any() else ""
    said += _NDCG if ranked["ndcg_accuracy"].notna().any() else ""
    return StateOfTheArt([*best_lines(ranked), *_over_all(ranked), *_unranked(frame, ranked)], tables, said)


def state_of_the_art_markdown(frame: pd.DataFrame, about: Mapping[str, Any], circumstances: str = "") -> str:
    """Return the comparison as Markdown; ``circumstances`` is a sentence on machine, date and scale."""
    found, described, name = state_of_the_art(frame, about), about["figure"], str(about["name"])
    lines = [f"# {name.replace('_', ' ').capitalize()}", "", f"{described['title']}. {described['shows']}", ""]
    lines += [f"```\nltr-duel reproduce {name} --scale {about['scale']} --data DIR --out figures\n```", ""]
    lines += [f"![{described['title']}]({name}.png)", "", f"Setting: {described['setting']} {_runs(frame, about)}", ""]
    lines += [f"- {note}" for note in described.get("notes", [])] + [""]
    lines += ["This page is computed from runs.", ""]
    lines += [circumstances, ""] if circumstances else []
    lines += ["## Who may be the best", "", *(f"- {line}" for line in found.lines), ""]
    lines += [f"{found.caption} {_DEFINED}", ""]
    for heading, measured, table in found.tables:
        lines += [f"## {_escaped(heading)}", "", _escaped(measured), "", markdown_table(table), ""]
    return "\n".join(lines)


def best_lines(ranked: pd.DataFrame) -> list[str]:
    """Return a sentence for each problem: the best policy, or the policies that may be the best."""
    lines, unknown, fewest = [], [], []
    for (name, compares), rows in ranked.groupby([col.PROBLEM, "compares"], sort=False):
        place = f"{name} (K = {rows[col.RANKERS].iloc[0]}, {compares})"
        may_be = [marked(label) for label in rows.loc[rows["low"] == 1, col.POLICY]]
        if len(rows) == 1:
            continue
        if rows["low"].isna().all():
            unknown.append(place)
            fewest.append(int(rows["runs"].min()))
        elif len(may_be) == 1:
            nearest = rows.loc[rows["low"] > 1, "low"].min()
            median = rows[col.POLICY].iloc[int(rows["median"].argmin())]
            but = "" if median == rows[col.POLICY].iloc[0] else f"; {marked(str(median))} has the lowest median"
            times = f"at least {nearest:.3g} times as high" if nearest >= _NEAR else "higher"
            lines.append(
                f"{place}: {may_be[0]} has the lowest mean; with 95 % confidence every other mean is {times}{but}."
            )
        else:
            more = f" and {len(may_be) - _MOST_NAMED} more" if len(may_be) > _MOST_NAMED else ""
            lines.append(f"{place}: not told apart: {', '.join(may_be[:_MOST_NAMED])}{more}.")
    few = f"Not compared, as {_span(fewest)} runs are too few: {', '.join(unknown)}." if unknown else ""
    return [*lines, few] if few else lines


def _runs(frame: pd.DataFrame, about: Mapping[str, Any]) -> str:
    """Return a sentence on the horizon and the number of runs of each policy, which depend on the scale."""
    studies = frame.groupby([col.PROBLEM, col.POLICY, col.HORIZON], sort=False)[col.REPETITION].nunique()
    steps, runs = _span(frame[col.HORIZON]), _span(studies)
    return f"Scale {about['scale']}: {steps} steps, {runs} runs of each policy on each problem."


def _span(numbers: Collection[int] | pd.Series) -> str:
    low, high = min(numbers), max(numbers)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _over_all(ranked: pd.DataFrame) -> list[str]:
    """Return one sentence for pairs and one for sets, on the policies with the lowest geometric mean of ``to_best``."""
    lines = []
    for compares, rows in ranked.groupby("compares", sort=False):
        problems = rows[col.PROBLEM].nunique()
        counted = rows.groupby(col.POLICY, sort=False)["to_best"].agg(["count", _geometric])
        everywhere = counted.loc[counted["count"] == problems, "_geometric"].sort_values(kind="stable")
        if problems > 1 and len(everywhere) > 1:
            first = ", ".join(
                f"{marked(str(label))} {ratio:.2f}" for label, ratio in everywhere.head(_MOST_NAMED).items()
            )
            lowest = f"lowest {_MOST_NAMED} of the " * (len(everywhere) > _MOST_NAMED)
            lines.append(
                f"Geometric mean of × best over the {problems} problems with {compares}, for the {lowest}"
                f"{len(everywhere)} policies that were run on all of them: {first}. These are point estimates, without"
                " a test."
            )
    return lines


def _unranked(frame: pd.DataFrame, ranked: pd.DataFrame) -> list[str]:
    """Return a sentence on the problems that are not ranked, because their regret needs a Condorcet winner."""
    missing = [str(one) for one in frame[col.PROBLEM].unique() if one not in set(ranked[col.PROBLEM])]
    words = "no ranker beats all others in the estimate by which regret is measured, perhaps because of noise"
    return [f"Not ranked ({words}): {', '.join(missing)}."] if missing else []


def _heading(problem: str, rows: pd.DataFrame) -> str:
    """Return the heading of a problem: name, pairs or sets, size, clicks, source, simulated users, horizon."""
    first = rows.iloc[0]
    clicks = first[col.CLICKS] if isinstance(first[col.CLICKS], str) and first[col.CLICKS] not in problem else ""
    facts = [f"K = {first[col.RANKERS]}", f"{clicks} clicks" if clicks else "", str(first[col.SOURCE] or "")]
    facts += ["simulated users" if first[col.ANSWERS] == "live" else "", f"{first[col.HORIZON]:,} steps"]
    kind = "" if first["compares"] == PAIRS else ", sets"
    return f"{problem}{kind}: {', '.join(filter(None, facts))}"


def _texts(rows: pd.DataFrame) -> pd.DataFrame:
    records = rows.to_dict("records")
    texts = {
        col.POLICY: [_sign(one) + marked(one[col.POLICY]) for one in records],
        "regret": [format_number(one) for one in rows["regret"]],
        "± reference": [f"± {format_number(one)}" if one > 0 else "" for one in rows["reference_error"]],
        "median": [format_number(float(one)) for one in rows["median"]],
        "× best": [_ratio(one) for one in rows["to_best"]],
        "bounds": [_bounds(one["low"], one["high"]) if one["low"] > 0 else "" for one in records],
        "× bound": [_ratio(one) for one in rows["to_bound"]],
        "names the winner": [_share(one) for one in rows["accuracy"]],
        "names the NDCG-best": [_share(one) for one in rows["ndcg_accuracy"]],
        "runs": list(rows["runs"]),
    }
    return pd.DataFrame({name: values for name, values in texts.items() if any(str(one) for one in values)})


def _regret(column: str) -> str:
    label = col.regret_label(column)
    return label[0].upper() + label[1:]


def _sign(row: Mapping[Any, Any]) -> str:
    if row["low"] != 1 or row["place"] == 1:
        return ""
    return "≈ " if row["high"] <= _CLOSE else "? "


def _bounds(low: float, high: float) -> str:
    """Format both ends of an interval so that an end above 1 is not rounded to 1.00."""
    least = "> 1.00" if 1 < low < _NEAR else _ratio(low)
    return f"{least} to {'1.01' if 1 < high < _NEAR else _ratio(high)}"


def _ratio(value: float) -> str:
    if math.isnan(value):
        return ""
    return f"{value:.2f}" if value < 9.995 else f"{value:,.1f}" if value <= _LARGE else "> 1,000"


def _share(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.0%}"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def _geometric(values: pd.Series) -> float:
    known = values[values > 0]
    return float(np.exp(np.log(known).mean())) if len(known) else float("nan")
