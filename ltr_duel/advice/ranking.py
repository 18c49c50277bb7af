"""Standings of policies on a suite of problems (`ltr_duel.advice.suite`): measurements, tables, a plot and a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ltr_duel.advice.standing import LIVE, MATRIX, Cell, measure, standings
from ltr_duel.advice.suite import Problem, suite
from ltr_duel.analysis import markdown_table, prepared_axes
from ltr_duel.bandits import POLICIES, suited
from ltr_duel.core import InputError, errors
from ltr_duel.interleaving import METHODS

LONGEST = 10**9
QUICK = ("arxiv", "sushi", "arithmetic", "BT 16*", "two of 8", "circle of 3 in 5*", "circle 15*", "10 rankers, nav*")
_ABOUT = ["problems", "batches", "steps"]


class Ranking(NamedTuple):
    """The requested measurements, and the file of their results."""

    policies: Sequence[str]  # policies in addition to `MATRIX` and `LIVE`; ``policy/method`` only for live problems
    problems: Sequence[str]  # patterns of names, families or kinds ("matrices", "live"); all if empty
    half: str  # half of the suite; both if empty
    steps: Sequence[int]
    runs: int
    batches: bool
    data: Path | None  # folder of the data that are not part of the package
    kept: Path | None  # file of the stored measurements
    seed: int
    jobs: int
    sources: Mapping[str, str]  # digests of the files that define policies outside the package


def rank_policies(wanted: Ranking, said: Callable[[str], None]) -> dict[str, pd.DataFrame]:
    """Return the standings (`standings`) of each half of the suite, or of the requested half."""
    policies, problems, half, steps, runs, batches, data, kept, seed, jobs, sources = wanted
    runs = errors.require_whole("the number of runs", runs, 2, 10_000)
    for one in steps:
        errors.require_whole("the number of steps", one, 100, LONGEST)
    chosen = [one for one in suite(data) if (not half or one.half == half) and _is_wanted(one, problems)]
    families = list(dict.fromkeys(one.family for one in suite(data)))
    if unknown := [one for one in problems if not any(_is_wanted(problem, [one]) for problem in chosen)]:
        raise InputError(f"there is no problem {errors.listed(unknown, 'or')}; there are {errors.listed(families)}")
    on_matrices = [*MATRIX, *(one for one in policies if "/" not in one and one not in MATRIX)]
    live = [*LIVE, *(one if "/" in one else _on_a_page(one) for one in policies)]
    live = list(dict.fromkeys(live))
    for entry in (*on_matrices, *live):
        policy, _, method = entry.partition("/")
        compared = METHODS.configure(method or "sosm").component
        given = suited(POLICIES.configure(policy), to_sets=compared.slates).component
        if method and not (compared.pairs if given.feedback == "duel" else compared.slates):
            raise InputError(f"method '{method}' cannot compare the choices of policy '{policy}'")
    able = [one for one in on_matrices if POLICIES.configure(one).component.feedback == "duel"]
    cells = [
        Cell(problem, entry, horizon, batched)
        for horizon in sorted(steps)
        for batched in ((False, True) if batches else (False,))
        for problem in chosen
        for entry in (live if problem.is_live else able)
    ]
    costs = measure(cells, kept, runs=runs, seed=seed, jobs=jobs, said=said, sources=sources)
    halves = dict.fromkeys(one.half for one in chosen)
    return {name: standings(one for one in costs if one.cell.problem.half == name) for name in sorted(halves)[::-1]}


def _on_a_page(policy: str) -> str:
    """Return a policy with its default method."""
    pairs = suited(POLICIES.configure(policy), to_sets=True).component.feedback == "duel"
    return f"{policy}/{'team_draft' if pairs else 'sosm'}"


def _is_wanted(problem: Problem, patterns: Sequence[str]) -> bool:
    kind = "live" if problem.is_live else "matrices"
    return not patterns or any(fnmatch(name, one) for one in patterns for name in (problem.name, problem.family, kind))


def standings_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return standings as a table of strings: one row per policy, the best first.

    frame: standings of one kind of problems and one number of steps, with or without batches.
    """
    names = list(frame.columns)
    families = [name for name in names[names.index("error") + 1 :] if frame[name].notna().any()]
    rows = [
        {
            "policy": row["policy"],
            "× best": f"{row['times the best']:.2f}",
            "95 %": "" if np.isnan(row["low"]) else f"{row['low']:.2f} to {row['high']:.2f}",
            "worst": f"{row['worst']:.1f}",
            "worst on": row["worst on"],
            "wrong": f"{row['wrong']:.0%}",
        }
        | {family: f"{row[family]:.2f}" for family in families}
        for row in frame.to_dict("records")
    ]
    return pd.DataFrame(rows)


def parts_of(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Divide standings into a table for each kind of problems, number of steps and use of batches, keyed by title."""
    parts = {}
    for (problems, batches, steps), part in frame.groupby(_ABOUT, sort=False):
        late = " in batches of 1 %" if batches != "no" else ""
        parts[f"{problems}, {steps:,} steps{late}"] = part
    return parts


def standings_page(halves: Mapping[str, pd.DataFrame]) -> str:
    """Return all tables as Markdown."""
    lines = []
    for half, frame in halves.items():
        for title, part in parts_of(frame).items():
            wrong = f"The best policy of each problem is wrong in {part['wrong at best'].iloc[0]:.0%} of runs."
            lines += [f"## {half.capitalize()} half: {title}", wrong, markdown_table(standings_table(part))]
    return "\n\n".join(lines) + "\n"


def plot_standings(halves: Mapping[str, pd.DataFrame]) -> Axes:
    """Plot the geometric mean and the worst problem of each policy on the last of the ``halves``, without batches.

    There is a panel for matrices and one for live problems, and a dot for each number of steps, from light to dark.
    """
    frame = list(halves.values())[-1]
    frame = frame[frame["batches"] == "no"]
    kinds = list(dict.fromkeys(frame["problems"]))
    figure = Figure(figsize=(6 * len(kinds), 4.4), dpi=150, layout="constrained")
    panels = np.atleast_1d(figure.subplots(1, len(kinds)))
    for panel, kind in zip(panels, kinds, strict=False):
        part = frame[frame["problems"] == kind]
        mean = part.groupby("policy")["times the best"].mean().sort_values(ascending=False)
        place = {name: number for number, name in enumerate(mean.index)}
        prepared_axes(panel, 6, 4.4, title=f"{kind}: regret as a multiple of the best policy's", grid="x")
        lengths = sorted(set(part["steps"]))
        for number, steps in enumerate(lengths):
            rows = part[part["steps"] == steps]
            at = rows["policy"].map(place) + 0.16 * (number - (len(lengths) - 1) / 2)
            colour = str(0.75 - 0.75 * number / max(1, len(lengths) - 1)) if len(lengths) > 1 else "0"
            panel.hlines(at, rows["times the best"], rows["worst"], color=colour, lw=0.8)
            panel.plot(rows["times the best"], at, "o", color=colour, ms=4, label=f"{steps:,} steps")
            panel.plot(rows["worst"], at, "|", color=colour, ms=5)
        panel.set_xscale("log")
        panel.set_yticks(range(len(place)), list(place), fontsize=8)
        panel.set_xlabel("geometric mean (dot) and worst problem (end)")
        panel.legend(fontsize=7, frameon=False)
    axes: Axes = panels[0]
    return axes
