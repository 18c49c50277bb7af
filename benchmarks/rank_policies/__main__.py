"""The command: choose problems and policies, measure, print and write the standings."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path

import pandas as pd

from benchmarks.rank_policies import __doc__ as about
from benchmarks.rank_policies.pages import plot_standings, standings_page
from benchmarks.rank_policies.standing import LIVE, MATRIX, Cell, able, default_method, measure, standings
from benchmarks.rank_policies.suite import Problem, suite
from ltr_duel.analysis import save_figure
from ltr_duel.core import InputError, load_plugin

QUICK = ("arxiv", "sushi", "arithmetic", "BT 16*", "two of 8", "circle of 3 in 5*", "circle 15*", "10 rankers, nav*")


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        "benchmarks.rank_policies", description=about, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--plugin", action="append", default=[], help="a Python file that defines policies; repeatable")
    parser.add_argument(
        "--policy", action="append", default=[], help="a further policy, or policy/method for live problems only"
    )
    parser.add_argument(
        "--problems", action="append", default=[], help="a name or a family (with *), matrices, or live"
    )
    parser.add_argument("--half", choices=("tune", "judge"), help="only this half of the suite")
    parser.add_argument(
        "--steps", action="append", type=lambda n: int(float(n)), help="horizons; default 1e3, 1e4, 1e5"
    )
    parser.add_argument("--runs", type=int, default=10, help="runs of each policy on each problem, at least 2")
    parser.add_argument("--no-batches", action="store_true", help="do not run in batches of 1 % of steps too")
    parser.add_argument("--quick", action="store_true", help="a few problems, 3 runs of 1,000 steps: two minutes")
    parser.add_argument("--data", type=Path, help="folder with MQ2008, OHSUMED, MSLR_excerpt, preference_matrices")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--out", type=Path, help="folder for cells.jsonl (reused results), standings.csv, .md and .png")
    given = parser.parse_args(words)
    try:
        rank(given)
    except InputError as error:
        parser.error(str(error))


def rank(given: argparse.Namespace) -> None:
    loaded = [load_plugin(path) for path in given.plugin]
    sources = {name: one.sha256 for one in loaded for kind, name in one.components if kind == "policy"}
    runs, lengths = given.runs, given.steps or [1_000, 10_000, 100_000]
    if given.quick:
        runs, lengths = min(runs, 3), given.steps or [1_000]
    if runs < 2 or min(lengths) < 100:
        raise InputError("--runs must be at least 2, and --steps at least 100")
    problems = chosen(given.problems or (QUICK if given.quick else ()), given.half, given.data)
    on_matrices = [*MATRIX, *(name for name in given.policy if "/" not in name and name not in MATRIX)]
    live = [*LIVE, *(name if "/" in name else default_method(name) for name in given.policy)]
    on_matrices, live = ([name for name in names if able(name)] for names in (on_matrices, dict.fromkeys(live)))
    cells = [
        Cell(problem, entry, steps, batched)
        for steps in sorted(lengths)
        for batched in ((False,) if given.quick or given.no_batches else (False, True))
        for problem in problems
        for entry in (live if problem.is_live else on_matrices)
    ]
    kept = None if given.out is None else given.out / "cells.jsonl"
    costs = measure(cells, kept, runs=runs, said=said, seed=given.seed, jobs=given.jobs, sources=sources)
    names = sorted({one.half for one in problems}, reverse=True)
    halves = {half: standings(one for one in costs if one.cell.problem.half == half) for half in names}
    print(standings_page(halves))
    if given.out is not None:
        pd.concat([frame.assign(half=name) for name, frame in halves.items()]).to_csv(
            given.out / "standings.csv", index=False
        )
        (given.out / "standings.md").write_text(standings_page(halves), encoding="utf-8")
        save_figure(plot_standings(halves), given.out / "standings.png")


def chosen(patterns: Sequence[str], half: str | None, data: Path | None) -> list[Problem]:
    """Return the problems of a half that match a pattern: of a name, a family or a kind; all if there is none."""

    def matches(problem: Problem, pattern: str) -> bool:
        kind = "live" if problem.is_live else "matrices"
        return any(fnmatch(name, pattern) for name in (problem.name, problem.family, kind))

    there = [one for one in suite(data) if not half or one.half == half]
    for pattern in patterns:
        if not any(matches(one, pattern) for one in there) and pattern not in QUICK:
            raise InputError(
                f"there is no problem {pattern}; there are {', '.join(dict.fromkeys(p.family for p in there))}"
            )
    return [one for one in there if not patterns or any(matches(one, pattern) for pattern in patterns)]


def said(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
