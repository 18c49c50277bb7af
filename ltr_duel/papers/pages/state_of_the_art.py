"""Which policy is best where: sentences and tables that are computed from the runs, as HTML and as Markdown."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pandas as pd

from ltr_duel.analysis import bullets, section, table
from ltr_duel.papers.figures.table import number
from ltr_duel.papers.standings import standings

CAPTION = (
    "Regret at the horizon: mean over the runs, with its 95 % interval. × best: as a multiple of the best policy's."
    " × bound: as a multiple of c ln T, the asymptotic lower bound for policies that compare pairs; those that compare"
    " sets may stay below it, and so may any policy at a finite horizon. Accuracy: share of the runs that name the"
    " winner at the end. ≈: the paired interval of the difference from the best covers zero."
)


def state_of_the_art_page(frame: pd.DataFrame, column: str = "regret_average") -> str:
    """Return the standings as sections of a page.

    Parameters
    ----------
    frame : DataFrame
        As for `standings`.
    column : str
        Which regret.
    """
    table_of_all = standings(frame, column)
    parts = [section("Which policy is best where", bullets(best_lines(table_of_all)) + _no_winner(frame, table_of_all))]
    for problem, rows in table_of_all.groupby("problem", sort=False):
        parts.append(section(heading(str(problem), rows), table(_texts(rows))))
    return "".join([*parts, f'<p class="soft">{CAPTION}</p>'])


def state_of_the_art_markdown(frame: pd.DataFrame, circumstances: str = "", column: str = "regret_average") -> str:
    """Return the same as Markdown.

    Parameters
    ----------
    frame : DataFrame
        As for `standings`.
    circumstances : str
        A sentence on machine, date and scale, for the top.
    column : str
        Which regret.
    """
    table_of_all = standings(frame, column)
    lines = ["# State of the art", "", "This page is computed from runs; no number in it is written by hand.", ""]
    lines += [circumstances, ""] if circumstances else []
    lines += [f"- {line}" for line in best_lines(table_of_all)]
    missing = without_standing(frame, table_of_all)
    lines += [f"- {missing}"] if missing else []
    lines += ["", CAPTION, ""]
    for problem, rows in table_of_all.groupby("problem", sort=False):
        texts = _texts(rows)
        lines += [f"## {_escaped(heading(str(problem), rows))}", "", f"| {' | '.join(texts.columns)} |"]
        lines += [f"|{' --- |' * len(texts.columns)}"]
        lines += [f"| {' | '.join(_escaped(str(one)) for one in row)} |" for row in texts.itertuples(index=False)] + [
            ""
        ]
    return "\n".join(lines)


def best_lines(table_of_all: pd.DataFrame) -> list[str]:
    """Say in sentences who is best: for each number of rankers, for each click model, and over all problems."""
    best = table_of_all[table_of_all["place"] == 1]
    lines = []
    for key, words in (("rankers", "K = {}"), ("clicks", "{} clicks")):
        known = best[best[key].notna()]
        if known[key].nunique() < 2 and key == "clicks":
            continue
        for value, rows in known.groupby(key, sort=key == "rankers"):
            wins = Counter(rows["policy"]).most_common()
            lines.append(f"Best at {words.format(value)}: {', '.join(_won(one, len(rows)) for one in wins)}.")
    counted = table_of_all.groupby("policy", sort=False)["to_best"].agg(["count", _geometric])
    everywhere = counted[counted["count"] == len(best)].sort_values("_geometric", kind="stable")
    if len(best) > 1 and len(everywhere):
        policy, ratio = everywhere.index[0], everywhere["_geometric"].iloc[0]
        lines.append(
            f"Of the {len(everywhere)} policies that were run on each of the {len(best)} problems, {policy} stays"
            f" nearest to the best: {ratio:.2f} times its regret (geometric mean)."
        )
    return lines


def without_standing(frame: pd.DataFrame, table_of_all: pd.DataFrame) -> str:
    """Name the problems that have no standings: without a Condorcet winner there is no such regret."""
    missing = [str(one) for one in frame["problem"].unique() if one not in set(table_of_all["problem"])]
    return f"Not ranked, for want of a Condorcet winner: {', '.join(missing)}." if missing else ""


def heading(problem: str, rows: pd.DataFrame) -> str:
    """Return what a problem is: its name, size, clicks, source and horizon."""
    first = rows.iloc[0]
    clicks = first["clicks"] if isinstance(first["clicks"], str) and first["clicks"] not in problem else ""
    facts = [f"K = {first['rankers']}", f"{clicks} clicks" if clicks else "", str(first["source"] or "")]
    return f"{problem}: {', '.join(filter(None, facts))}, {first['horizon']:,} steps"


def _texts(rows: pd.DataFrame) -> pd.DataFrame:
    records = rows.to_dict("records")
    texts = {
        "policy": [f"{'≈ ' if one['tied'] and one['place'] > 1 else ''}{one['policy']}" for one in records],
        "regret": [number(one) for one in rows["regret"]],
        "95 % interval": [
            f"{number(one['low'])} to {number(one['high'])}" if math.isfinite(one["low"]) else "—" for one in records
        ],
        "× best": [_ratio(one) for one in rows["to_best"]],
        "× bound": [_ratio(one) for one in rows["to_bound"]],
        "accuracy": ["" if math.isnan(one) else f"{one:.0%}" for one in rows["accuracy"]],
        "runs": list(rows["runs"]),
    }
    return pd.DataFrame({name: values for name, values in texts.items() if any(str(one) for one in values)})


def _no_winner(frame: pd.DataFrame, table_of_all: pd.DataFrame) -> str:
    missing = without_standing(frame, table_of_all)
    return bullets([missing]) if missing else ""


def _won(count: tuple[str, int], problems: int) -> str:
    policy, wins = count
    return policy if problems == 1 else f"{policy} on {wins} of {problems} problems"


def _ratio(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.2f}" if value < 9.995 else f"{value:,.1f}"


def _geometric(values: pd.Series) -> float:
    known = values[values > 0]
    return float(np.exp(np.log(known).mean())) if len(known) else float("nan")


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
