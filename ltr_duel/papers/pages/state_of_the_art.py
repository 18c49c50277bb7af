"""Which policy is best where: sentences and tables that are computed from the runs."""

from __future__ import annotations

import math
from collections import Counter
from typing import NamedTuple

import numpy as np
import pandas as pd

from ltr_duel.analysis import markdown_table
from ltr_duel.core import columns as col
from ltr_duel.papers.figures.table import format_number
from ltr_duel.papers.standings import standings

CAPTION = (
    "Regret at the horizon: mean over the runs, with its 95 % interval. × best: as a multiple of the best policy's."
    " × bound: as a multiple of c ln T, the asymptotic lower bound for policies that compare pairs; those that compare"
    " sets may stay below it, and so may any policy at a finite horizon. Accuracy: share of the runs that name the"
    " winner at the end. ≈: the paired interval of the difference from the best covers zero."
)


class StateOfTheArt(NamedTuple):
    """The comparison in sentences, and a table of texts for each problem with its heading."""

    lines: list[str]
    tables: list[tuple[str, pd.DataFrame]]
    caption: str = CAPTION


def state_of_the_art(frame: pd.DataFrame, column: str = col.REGRET) -> StateOfTheArt:
    """Compare the policies on each problem.

    Parameters
    ----------
    frame : DataFrame
        As for `standings`.
    column : str
        Which regret.
    """
    ranked = standings(frame, column)
    tables = [(heading(str(name), rows), _texts(rows)) for name, rows in ranked.groupby(col.PROBLEM, sort=False)]
    return StateOfTheArt([*best_lines(ranked), *_unranked(frame, ranked)], tables)


def state_of_the_art_markdown(
    frame: pd.DataFrame, circumstances: str = "", title: str = "State of the art", column: str = col.REGRET
) -> str:
    """Return the comparison as Markdown.

    Parameters
    ----------
    frame : DataFrame
        As for `standings`.
    circumstances : str
        A sentence on machine, date and scale, for the top.
    title : str
    column : str
        Which regret.
    """
    found = state_of_the_art(frame, column)
    lines = [f"# {title}", "", "This page is computed from runs; no number in it is written by hand.", ""]
    lines += [circumstances, ""] if circumstances else []
    lines += [*(f"- {line}" for line in found.lines), "", found.caption, ""]
    for name, table in found.tables:
        escaped = name.replace("|", "\\|").replace("<", "&lt;")
        lines += [f"## {escaped}", "", markdown_table(table), ""]
    return "\n".join(lines)


def best_lines(ranked: pd.DataFrame) -> list[str]:
    """Say in sentences who is best: for each number of rankers, for each click model, and over all problems."""
    best = ranked[ranked["place"] == 1]
    lines = []
    for key, words in ((col.RANKERS, "K = {}"), (col.CLICKS, "{} clicks")):
        known = best[best[key].notna()]
        if known[key].nunique() < 2 and key == col.CLICKS:
            continue
        for value, rows in known.groupby(key, sort=key == col.RANKERS):
            wins = Counter(rows[col.POLICY]).most_common()
            lines.append(f"Best at {words.format(value)}: {', '.join(_won(one, len(rows)) for one in wins)}.")
    counted = ranked.groupby(col.POLICY, sort=False)["to_best"].agg(["count", _geometric])
    everywhere = counted[counted["count"] == len(best)].sort_values("_geometric", kind="stable")
    if len(best) > 1 and len(everywhere):
        policy, ratio = everywhere.index[0], everywhere["_geometric"].iloc[0]
        lines.append(
            f"Of the {len(everywhere)} policies that were run on each of the {len(best)} problems, {policy} stays"
            f" nearest to the best: {ratio:.2f} times its regret (geometric mean)."
        )
    return lines


def _unranked(frame: pd.DataFrame, ranked: pd.DataFrame) -> list[str]:
    """Name the problems that have no standings: without a Condorcet winner there is no such regret."""
    missing = [str(one) for one in frame[col.PROBLEM].unique() if one not in set(ranked[col.PROBLEM])]
    return [f"Not ranked (no Condorcet winner): {', '.join(missing)}."] if missing else []


def heading(problem: str, rows: pd.DataFrame) -> str:
    """Return what a problem is: its name, size, clicks, source and horizon."""
    first = rows.iloc[0]
    clicks = first[col.CLICKS] if isinstance(first[col.CLICKS], str) and first[col.CLICKS] not in problem else ""
    facts = [f"K = {first[col.RANKERS]}", f"{clicks} clicks" if clicks else "", str(first[col.SOURCE] or "")]
    return f"{problem}: {', '.join(filter(None, facts))}, {first[col.HORIZON]:,} steps"


def _texts(rows: pd.DataFrame) -> pd.DataFrame:
    records = rows.to_dict("records")
    texts = {
        col.POLICY: [f"{'≈ ' if one['tied'] and one['place'] > 1 else ''}{one[col.POLICY]}" for one in records],
        "regret": [format_number(one) for one in rows["regret"]],
        "95 % interval": [
            f"{format_number(one['low'])} to {format_number(one['high'])}" if math.isfinite(one["low"]) else "—"
            for one in records
        ],
        "× best": [_ratio(one) for one in rows["to_best"]],
        "× bound": [_ratio(one) for one in rows["to_bound"]],
        "accuracy": ["" if math.isnan(one) else f"{one:.0%}" for one in rows["accuracy"]],
        "runs": list(rows["runs"]),
    }
    return pd.DataFrame({name: values for name, values in texts.items() if any(str(one) for one in values)})


def _won(count: tuple[str, int], problems: int) -> str:
    policy, wins = count
    return policy if problems == 1 else f"{policy} on {wins} of {problems} problems"


def _ratio(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.2f}" if value < 9.995 else f"{value:,.1f}"


def _geometric(values: pd.Series) -> float:
    known = values[values > 0]
    return float(np.exp(np.log(known).mean())) if len(known) else float("nan")
