"""The regret of policies on the problems of the suite, relative to the policy that is best in hindsight.

A cell is a policy on a problem for a number of steps. Measured cells are stored in a file, one per line, and are not
measured again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from benchmarks.rank_policies.suite import CORPORA, Problem, digest_of
from ltr_duel.bandits import POLICIES
from ltr_duel.core import FloatVector, InputError, IntVector, replacing, statistics, stream
from ltr_duel.preferences import PreferenceMatrix
from ltr_duel.rankers import Rankings, measure_by_query
from ltr_duel.simulation import FromMatrix, OracleSource, SimulatedUsers, simulate

DRAWS = 400  # resamples of the runs of each cell, for intervals
FEWEST = 6  # minimum number of runs for intervals
LEAST = 0.5  # minimum regret in ratios, because a lucky policy may have regret 0; about the maximum cost of one step
PAIRS = (
    *("auto", "double_thompson", "self_sparring", "versatile_db", "winner_stays_strong", "merge_dts", "rmed1"),
    *("ecw_rmed", "ccb", "rucb", "rcs", "merge_rucb"),
)
USERS = (
    *(name for name in PAIRS if name not in ("auto", "ecw_rmed", "ccb", "rcs")),
    "auto",
    "mdb",
    "multi_self_sparring",
)
LARGEST = {"ecw_rmed": 64}  # maximum number of arms for policies whose steps cost K^2 or more
TUNED = ("auto", "multi_self_sparring")  # policies with constants that were tuned on problems like these


class Cell(NamedTuple):
    """A policy on a problem."""

    problem: Problem
    policy: str
    steps: int
    runs: int

    @property
    def fits(self) -> bool:
        """Whether the problem is small enough for the policy."""
        return len(made(self.problem).names) <= LARGEST.get(self.policy, 10**9)


class Costs(NamedTuple):
    """The results of the runs of a cell."""

    cell: Cell
    regret: FloatVector  # regret of each run
    wrong: FloatVector  # 1 if the arm named at the end is not a Copeland winner, or not the best by NDCG@10


def measure(
    cells: Sequence[Cell], kept: Path | None, *, say: Callable[[str], None], seed: int = 0, jobs: int = -1,
    sources: Mapping[str, str] = MappingProxyType({}),
) -> list[Costs]:  # fmt: skip
    """Return the costs of cells; stored cells are read from the file ``kept``, and new ones are added to this file.

    sources: digests of the files that define policies outside the package, keyed by policy.
    """
    stored: dict[str, Any] = {}
    if kept is not None and kept.exists():
        for line in kept.read_text(encoding="utf-8").splitlines():
            with suppress(json.JSONDecodeError):  # a killed process may leave half a line; its cell is measured again
                row = json.loads(line)
                stored[row["key"]] = row
    costs = []
    for number, cell in enumerate(cells):
        key = _key(cell, seed, sources)
        if key not in stored:
            say(f"{number + 1} of {len(cells)}: {cell.problem.name}, {cell.policy}, {cell.steps:,} steps")
            stored[key] = {"key": key, "name": cell.problem.name, **_run(cell, seed, jobs)}
            if kept is not None:
                kept.parent.mkdir(parents=True, exist_ok=True)
                with replacing(kept) as temporary:
                    temporary.write_text("".join(f"{json.dumps(row)}\n" for row in stored.values()), encoding="utf-8")
        costs.append(Costs(cell, np.array(stored[key]["regret"]), np.array(stored[key]["wrong"])))
    return costs


@cache
def made(problem: Problem) -> PreferenceMatrix | Rankings:
    """Return the matrix or the rankers of a problem."""
    return problem.make()


def _key(cell: Cell, seed: int, sources: Mapping[str, str]) -> str:
    given, world = POLICIES.configure(cell.policy).component, made(cell.problem)
    code = f"{sources.get(given.name, '')} {given.version}"
    what = world.digest if isinstance(world, PreferenceMatrix) else world.provenance
    return digest_of([cell.problem.family, cell.problem.name, what, cell.policy, code, cell.steps, cell.runs, seed])


def _run(cell: Cell, seed: int, jobs: int) -> dict[str, list[float]]:
    source, matrix, values = _world(cell.problem)
    results = simulate(
        source, cell.policy, horizon=cell.steps, repetitions=cell.runs, seed=seed, jobs=jobs,
        preferences=matrix, checkpoints_per_decade=1,
    )  # fmt: skip
    kind = "ndcg" if values is not None else "average" if matrix.condorcet_winner else "copeland"
    right = {matrix.index(name) for name in matrix.copeland_winners}
    regret = [float(run.regret(matrix, kind, values)[-1]) for run in results.runs]
    return {"regret": regret, "wrong": [float(run.recommended[-1] not in right) for run in results.runs]}


def _world(problem: Problem) -> tuple[OracleSource, PreferenceMatrix, FloatVector | None]:
    """Return the source of outcomes, the matrix whose winners are right, and for users the NDCG@10 of the rankers."""
    world = made(problem)
    if isinstance(world, PreferenceMatrix):
        return FromMatrix(world), world, None
    quality = measure_by_query(world, "NDCG@10").mean(axis=1)
    matrix = PreferenceMatrix(0.5 + np.sign(quality[:, None] - quality[None, :]) / 2, world.names)
    return SimulatedUsers(world, problem.clicks, pairs="probabilistic", slates="sosm"), matrix, quality


def compared(costs: Sequence[Costs]) -> pd.DataFrame:
    """Return one row for each policy, problem and number of steps.

    Columns: family, problem, rankers, steps, policy, runs, regret (mean), median, wrong (share of runs that end with a
    wrong arm), and ``times the best``. The minimum of noisy means is too low, so ratios to it would be too high.
    Therefore one half of the runs determines the best policy of a problem, the other half determines the ratios, and
    the roles are then exchanged. A ratio below 1 is possible.
    """
    rows: list[dict[str, Any]] = []
    for group in _groups(costs, lambda cell: (cell.problem.family, cell.problem.name, cell.steps)):
        regret = np.array([row.regret for row in group])
        ratios = np.exp(_log_ratios(regret, _best(regret)))
        for row, ratio in zip(group, ratios, strict=True):
            problem = row.cell.problem
            facts = {"family": problem.family, "problem": problem.name, "rankers": len(made(problem).names)}
            measured = {"regret": row.regret.mean(), "median": np.median(row.regret), "wrong": row.wrong.mean()}
            run = {"steps": row.cell.steps, "policy": row.cell.policy, "runs": len(row.regret)}
            rows.append(facts | run | measured | {"times the best": ratio})
    return pd.DataFrame(rows)


def league(costs: Sequence[Costs]) -> pd.DataFrame:
    """Return the standing of each policy over all these problems, the best first; all have one number of steps.

    Columns: ``policy``, ``times the best`` (geometric mean over the columns of problems), ``low`` and ``high`` (95 %,
    Student's t over resamples of the runs; the best policies are taken as given; NaN for fewer than `FEWEST` runs),
    ``worst``, ``worst on``, ``wrong``, and for each column of problems (`Problem.column`) the geometric mean over its
    problems. A policy that did not run on all problems of a column has no number there, and no mean of all columns.
    """
    if len({row.cell.steps for row in costs}) != 1:
        raise InputError("a league needs results of one number of steps")
    problems = _groups(costs, lambda cell: cell.problem)
    policies = list(dict.fromkeys(row.cell.policy for row in costs))
    runs, rng = min(len(row.regret) for row in costs), stream(0, "standings")
    drawn = (2 * rng.integers(0, np.array([(runs + 1 - k % 2) // 2 for k in range(runs)]), (DRAWS, runs))).T
    draws = [np.arange(runs), *(drawn + np.arange(runs)[:, None] % 2).T]  # each run is replaced by a run of its half
    logs = np.full((len(draws), len(problems), len(policies)), np.nan)
    for number, group in enumerate(problems):
        regret, at = np.array([row.regret for row in group]), [policies.index(row.cell.policy) for row in group]
        best = _best(regret)
        for draw, chosen in enumerate(draws if runs >= FEWEST else draws[:1]):
            logs[draw, number, at] = _log_ratios(regret[:, chosen], best)
    names = [group[0].cell.problem.column for group in problems]
    columns = list(dict.fromkeys(names))
    means = np.array(
        [logs[:, [k for k, name in enumerate(names) if name == column]].mean(axis=1) for column in columns]
    )
    whole, half = means.mean(axis=0), max(2, runs // 2)  # means: (columns, draws, policies)
    reach = statistics.student_reach(whole[1:].std(axis=0) * (half / (half - 1)) ** 0.5, 2.0 * half - 2, 0.95)
    rows = []
    for k, policy in enumerate(policies):
        worst = int(np.nanargmax(logs[0, :, k]))
        ends = {"low": np.exp(whole[0, k] - reach[k]), "high": np.exp(whole[0, k] + reach[k])}
        rows.append(
            {"policy": policy, "times the best": np.exp(whole[0, k]), **ends}
            | {"worst": np.exp(logs[0, worst, k]), "worst on": problems[worst][0].cell.problem.name}
            | {"wrong": np.mean([row.wrong.mean() for row in costs if row.cell.policy == policy])}
            | {column: np.exp(means[number, 0, k]) for number, column in enumerate(columns)}
        )
    return pd.DataFrame(rows).sort_values("times the best", kind="stable", ignore_index=True)


def per_impression(costs: Sequence[Costs], worse: str = "rmed1", better: str = "mdb") -> pd.DataFrame:
    """Return the ratio of two policies' mean regret on each real corpus, at each number of steps.

    Columns: problem, steps, runs, ratio, and the shares of wrong runs of both policies.
    """
    rows: list[dict[str, Any]] = []
    for group in _groups(costs, lambda cell: (cell.steps, cell.problem)):
        two = {row.cell.policy: row for row in group if row.cell.policy in (worse, better)}
        cell = group[0].cell
        if cell.problem.family != CORPORA or len(two) < 2:
            continue
        runs = len(two[worse].regret)
        about = {"problem": cell.problem.name, "steps": cell.steps, "runs": runs}
        ratio = two[worse].regret.mean() / two[better].regret.mean()
        wrong = {f"{name} wrong": two[name].wrong.mean() for name in (worse, better)}
        rows.append(about | {"ratio": ratio} | wrong)
    return pd.DataFrame(rows)


def _groups(costs: Sequence[Costs], key: Callable[[Cell], object]) -> list[list[Costs]]:
    """Return the costs in groups of equal keys, in order of appearance."""
    groups: dict[object, list[Costs]] = {}
    for row in costs:
        groups.setdefault(key(row.cell), []).append(row)
    return list(groups.values())


def _best(regret: FloatVector) -> list[IntVector]:
    """Return the best policy of each half of the runs, determined by the other half."""
    return [regret[:, half::2].mean(axis=1).argmin() for half in (1, 0)]


def _log_ratios(regret: FloatVector, best: Sequence[IntVector]) -> FloatVector:
    """Return the logarithms of the ratios to the best policies' regret, averaged over both halves of the runs."""
    logs = [np.log(np.maximum(regret[:, half::2].mean(axis=1), LEAST)) for half in (0, 1)]
    return np.asarray(np.mean([one - one[k] for one, k in zip(logs, best, strict=True)], axis=0))
