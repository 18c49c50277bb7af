"""The command: choose problems and policies, measure, and write the league."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path

from benchmarks.rank_policies import __doc__ as about
from benchmarks.rank_policies.league import PAIRS, USERS, Cell, compared, made, measure
from benchmarks.rank_policies.page import draw_league, league_markdown, leagues, renewed
from benchmarks.rank_policies.suite import CORPORA, SURE, Problem, suite, winner_probability
from ltr_duel.analysis import save_figure
from ltr_duel.bandits import POLICIES
from ltr_duel.core import InputError, load_plugin
from ltr_duel.preferences import PreferenceMatrix

PAGE = Path(__file__).parents[2] / "docs" / "policies_compared.md"
QUICK = ("arxiv", "arithmetic", "BT 10*", "two of 8", "random 8", "10 rankers, info*")
LONG = ("rmed1", "mdb"), 1_000_000  # on real corpora: the comparison of the paper on multi-dueling bandits


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        "benchmarks.rank_policies", description=about, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--plugin", action="append", default=[], help="a Python file that defines policies; repeatable")
    parser.add_argument("--policy", action="append", default=[], help="a further policy")
    parser.add_argument("--problems", action="append", default=[], help="a name or a family, with *")
    parser.add_argument("--half", choices=("tune", "judge"), default="judge", help="this half of the matrices")
    parser.add_argument("--steps", action="append", type=lambda n: int(float(n)), help="horizons; default 1e4, 1e5")
    parser.add_argument(
        "--runs",
        type=int,
        default=10,
        help="runs on each problem with a Condorcet winner, at least 2; twice as many on others",
    )
    parser.add_argument("--quick", action="store_true", help="a few problems, 3 runs of 1,000 steps: a minute")
    parser.add_argument(
        "--data", type=Path, help="folder with NP2004, MQ2008, OHSUMED, MSLR_excerpt, preference_matrices"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--out", type=Path, help="folder for cells.jsonl (reused results), league.csv and .png")
    parser.add_argument("--page", action="store_true", help="make docs/policies_compared.md and league.csv anew")
    given = parser.parse_args(words)
    try:
        rank(given)
    except InputError as error:
        parser.error(str(error))


def rank(given: argparse.Namespace) -> None:
    loaded = [load_plugin(path) for path in given.plugin]
    sources = {name: one.sha256 for one in loaded for kind, name in one.components if kind == "policy"}
    runs, lengths = given.runs, given.steps or [10_000, 100_000]
    if given.quick:
        runs, lengths = min(runs, 3), given.steps or [1_000]
    if runs < 2 or min(lengths) < 100:
        raise InputError("--runs must be at least 2, and --steps at least 100")
    problems = list(sure(chosen(given.problems or (QUICK if given.quick else ()), given.half, given.data)))
    pairs = dict.fromkeys([*PAIRS, *(name for name in given.policy if compares_pairs(name))])
    users = dict.fromkeys([*USERS, *given.policy])

    def runs_of(problem: Problem) -> int:  # without a winner, and with users, few runs cause most of the regret
        return runs if problem.panel == "winner" else 2 * runs

    cells = [
        Cell(problem, policy, steps, runs_of(problem))
        for steps in sorted(lengths)
        for problem in problems
        for policy in (users if problem.clicks else pairs)
    ]
    if not given.quick and not given.steps:
        cells += [
            Cell(problem, name, LONG[1], runs_of(problem))
            for problem in problems
            if problem.family == CORPORA
            for name in LONG[0]
        ]
    kept = None if given.out is None else given.out / "cells.jsonl"
    cells = [cell for cell in cells if cell.fits]
    costs = measure(cells, kept, say=say, seed=given.seed, jobs=given.jobs, sources=sources)
    tables = league_markdown(costs)
    print(tables)
    if given.page:
        PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8"), tables), encoding="utf-8")
    places = [(PAGE.with_suffix(".png"), Path(__file__).with_name("league.csv"))] * given.page
    places += [] if given.out is None else [(given.out / "league.png", given.out / "league.csv")]
    for picture, table in places:
        save_figure(draw_league(leagues(costs)), picture)
        compared(costs).to_csv(table, index=False, float_format="%.5g", lineterminator="\n")


def compares_pairs(policy: str) -> bool:
    return POLICIES.configure(policy).component.feedback == "duel"


def chosen(patterns: Sequence[str], half: str, data: Path | None) -> list[Problem]:
    """Return the problems of a half whose name or family matches a pattern; all if there is none."""
    there = [one for one in suite(data) if one.half == half or one.family == CORPORA]
    for pattern in patterns:
        if not any(fnmatch(name, pattern) for one in there for name in (one.name, one.family)) and pattern not in QUICK:
            families = ", ".join(dict.fromkeys(one.family for one in there))
            raise InputError(f"there is no problem {pattern}; there are {families}")
    wanted = patterns or ["*"]
    return [
        one for one in there if any(fnmatch(name, pattern) for name in (one.name, one.family) for pattern in wanted)
    ]


def sure(problems: Sequence[Problem]) -> Iterator[Problem]:
    """Yield the problems whose winner is known; regret by a matrix with a doubtful winner would rank nothing."""
    for problem in problems:
        world = made(problem)
        chance = winner_probability(world) if isinstance(world, PreferenceMatrix) else 1.0
        if chance < SURE:
            say(f"left out: {problem.name}, whose winner has a probability of {chance:.2f}")
        else:
            yield problem


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
