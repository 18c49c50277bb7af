"""What policies cost on the problems of the suite, and where each stands: regret by that of the best in hindsight.

A cell is a policy on a problem to a number of steps, with outcomes at once or in batches of one percent. Cells are kept
in a file, a line each, and not measured again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ltr_duel.advice.suite import Problem, reference
from ltr_duel.bandits import POLICIES
from ltr_duel.core import FloatVector, InputError, digest_of, stream
from ltr_duel.interleaving import METHODS
from ltr_duel.preferences import PreferenceMatrix
from ltr_duel.rankers import Rankings
from ltr_duel.simulation import FromMatrix, Live, OracleSource, simulate, source_of

DRAWS = 400  # of the runs of each cell, for intervals
BATCHES = 100  # of one percent each
MATRIX = (
    *("auto", "double_thompson", "merge_dts", "rmed1", "rmed2", "rucb", "scb", "self_sparring", "thompson_sparring"),
    *("versatile_db", "winner_stays_strong"),
)
LIVE = (
    *("auto/sosm", "auto/team_draft"),
    *(f"multi_self_sparring/{method}" for method in ("team_draft", "sosm", "pairwise_preference")),
    *(f"mdb/{method}" for method in ("team_draft", "sosm", "pairwise_preference")),
    *(f"{policy}/team_draft" for policy in ("double_thompson", "self_sparring", "winner_stays_strong")),
    *(f"{policy}/probabilistic" for policy in ("double_thompson", "self_sparring", "winner_stays_strong")),
)


class Cell(NamedTuple):
    """A policy on a problem, perhaps with a method (``policy/method``)."""

    problem: Problem
    entry: str
    steps: int
    batched: bool


class Costs(NamedTuple):
    """What the runs of a cell came to."""

    cell: Cell
    regret: FloatVector  # of each run
    wrong: FloatVector  # 1 where the arm named at the end is not the right one


def measure(
    cells: Sequence[Cell], kept: Path | None, *, runs: int, said: Callable[[str], None], seed: int = 0, jobs: int = -1,
    sources: Mapping[str, str] = MappingProxyType({}),
) -> list[Costs]:  # fmt: skip
    """Return the costs of cells; those in the file are not measured again, and others are added to it.

    sources: digests of the files that define policies from outside the package, by the policies' names.
    """
    known: dict[str, Any] = {}
    if kept is not None and kept.exists():
        known = {one["key"]: one for one in map(json.loads, kept.read_text(encoding="utf-8").splitlines())}
    found = []
    for number, cell in enumerate(cells):
        key = _key(cell, runs, seed, sources)
        if key not in known:
            said(f"{number + 1} of {len(cells)}: {cell.problem.name}, {cell.entry}, {cell.steps:,} steps")
            known[key] = {"key": key, "name": cell.problem.name, **_run(cell, runs, seed, jobs)}
            if kept is not None:
                kept.parent.mkdir(parents=True, exist_ok=True)
                with kept.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(known[key]) + "\n")
        found.append(Costs(cell, np.array(known[key]["regret"]), np.array(known[key]["wrong"])))
    return found


def _key(cell: Cell, runs: int, seed: int, sources: Mapping[str, str]) -> str:
    policy, _, method = cell.entry.partition("/")
    given = POLICIES.configure(policy).component
    code = source_of(given, sources.get(given.name, ""))
    about = [cell.problem.family, cell.problem.name, policy, method, code]
    return digest_of([*about, cell.steps, cell.batched, runs, seed])


def _run(cell: Cell, runs: int, seed: int, jobs: int) -> dict[str, list[float]]:
    source, matrix = _world(cell.problem, cell.entry.partition("/")[2])
    batch = max(1, cell.steps // BATCHES) if cell.batched else 1
    results = simulate(
        source, cell.entry.partition("/")[0], horizon=cell.steps, repetitions=runs, seed=seed, jobs=jobs,
        preferences=matrix, checkpoints_per_decade=1, batch=batch,
    )  # fmt: skip
    kind = "copeland" if matrix.condorcet_winner is None else "average"
    right = {matrix.index(name) for name in matrix.copeland_winners}
    regret = [float(run.regret(matrix, kind)[-1]) for run in results.runs]
    return {"regret": regret, "wrong": [float(run.recommended[-1] not in right) for run in results.runs]}


@cache
def _made(problem: Problem) -> PreferenceMatrix | Rankings:
    return problem.make()


def _world(problem: Problem, method: str) -> tuple[OracleSource, PreferenceMatrix]:
    made = _made(problem)
    if isinstance(made, PreferenceMatrix):
        return FromMatrix(made), made
    able = METHODS.configure(method).component if method else None
    options: dict[str, Any] = {}
    if able is not None:
        options = {kind: method for kind, can in (("pairs", able.pairs), ("slates", able.slates)) if can}
    return Live(made, problem.clicks, **options), reference(made, problem.clicks)


def standings(costs: Iterable[Costs]) -> pd.DataFrame:
    """Return how many times the best policy's regret each policy pays, for each kind of problems and length.

    Columns: ``problems`` (matrices or live), ``batches``, ``steps``, ``policy``, ``times the best`` (geometric mean
    over the problems), ``low`` and ``high`` (95 %, over the draws of runs), ``worst``, ``worst on``, ``wrong`` (share
    of runs that end with a wrong arm), ``wrong at best`` (of the best policy of each problem), ``error`` (of the
    difference of these), and a column for each family.
    """
    rows: list[dict[str, Any]] = []
    groups: dict[tuple[bool, bool, int], list[Costs]] = {}
    for one in costs:
        groups.setdefault((one.cell.problem.is_live, one.cell.batched, one.cell.steps), []).append(one)
    for (live, batched, steps), members in sorted(groups.items()):
        about = {"problems": "live" if live else "matrices", "batches": "1 %" if batched else "no", "steps": steps}
        rows += [about | row for row in _rows(members)]
    return pd.DataFrame(rows)


def _rows(members: Sequence[Costs]) -> list[dict[str, Any]]:
    names = list(dict.fromkeys(one.cell.problem.name for one in members))
    entries = list(dict.fromkeys(one.cell.entry for one in members))
    by = {(one.cell.problem.name, one.cell.entry): one for one in members}
    if len(by) != len(names) * len(entries):
        raise InputError("not every policy was measured on every problem")
    families = np.array([by[name, entries[0]].cell.problem.family for name in names])
    regret = np.array([[by[name, entry].regret for entry in entries] for name in names])  # (problems, policies, runs)
    wrong = np.array([[by[name, entry].wrong for entry in entries] for name in names])
    logs = _log_ratios(regret.mean(axis=2))
    rng, runs = stream(0, "standings"), regret.shape[2]
    draws = rng.integers(0, runs, (DRAWS, runs))
    means = np.array([_log_ratios(regret[:, :, draw].mean(axis=2)).mean(axis=0) for draw in draws])
    low, high = np.exp(np.quantile(means, (0.025, 0.975), axis=0))
    best = wrong[np.arange(len(names)), logs.argmin(axis=1)]  # (problems, runs)
    rows = []
    for place in np.argsort(logs.mean(axis=0), kind="stable"):
        worst = int(logs[:, place].argmax())
        apart = (wrong[:, place] - best).mean(axis=0)
        row = {
            "policy": entries[place],
            "times the best": float(np.exp(logs[:, place].mean())),
            "low": float(low[place]),
            "high": float(high[place]),
            "worst": float(np.exp(logs[worst, place])),
            "worst on": names[worst],
            "wrong": float(wrong[:, place].mean()),
            "wrong at best": float(best.mean()),
            "error": float(apart.std(ddof=1) / np.sqrt(runs)) if runs > 1 else 0.0,
        }
        rows.append(
            row | {family: float(np.exp(logs[families == family, place].mean())) for family in sorted(set(families))}
        )
    return rows


def _log_ratios(means: FloatVector) -> FloatVector:
    floor = np.maximum(means, 1e-9)
    return np.asarray(np.log(floor / floor.min(axis=1, keepdims=True)))
