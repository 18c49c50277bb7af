"""The costs of policies on the problems of the suite: regret relative to the policy that is best in hindsight.

A cell is a policy on a problem for a number of steps, with outcomes after each step or after batches of one percent of
the steps. Measured cells are stored in a file, one per line, and are not measured again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ltr_duel.advice.suite import Problem, reference
from ltr_duel.bandits import POLICIES
from ltr_duel.core import FloatVector, InputError, IntVector, digest, files, statistics, stream
from ltr_duel.interleaving import METHODS
from ltr_duel.preferences import PreferenceMatrix
from ltr_duel.rankers import Rankings
from ltr_duel.simulation import FromMatrix, Live, OracleSource, simulate, source_of

DRAWS = 400  # resamples of the runs of each cell, for intervals
FEWEST = 6  # minimum number of runs for intervals
LEAST = 0.5  # minimum regret in ratios, because a lucky policy may have regret 0; about the maximum cost of one step
BATCHES = 100  # batches of one percent each
MATRIX = (
    *("auto", "double_thompson", "merge_dts", "rmed1", "rmed2", "rucb", "self_sparring", "thompson_sparring"),
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
    """A policy, optionally with a method (``policy/method``), on a problem."""

    problem: Problem
    entry: str
    steps: int
    batched: bool


class Costs(NamedTuple):
    """The results of the runs of a cell."""

    cell: Cell
    regret: FloatVector  # regret of each run
    wrong: FloatVector  # 1 if the arm named at the end is not a Copeland winner


def measure(
    cells: Sequence[Cell], kept: Path | None, *, runs: int, said: Callable[[str], None], seed: int = 0, jobs: int = -1,
    sources: Mapping[str, str] = MappingProxyType({}),
) -> list[Costs]:  # fmt: skip
    """Return the costs of cells; stored cells are read from the file ``kept``, and new ones are added to this file.

    sources: digests of the files that define policies outside the package, keyed by policy.
    """
    known: dict[str, Any] = {}
    if kept is not None and kept.exists():
        for line in kept.read_text(encoding="utf-8").splitlines():
            with suppress(json.JSONDecodeError):  # a killed process may leave half a line; its cell is measured again
                one = json.loads(line)
                known[one["key"]] = one
    found = []
    for number, cell in enumerate(cells):
        key = _key(cell, runs, seed, sources)
        if key not in known:
            said(f"{number + 1} of {len(cells)}: {cell.problem.name}, {cell.entry}, {cell.steps:,} steps")
            known[key] = {"key": key, "name": cell.problem.name, **_run(cell, runs, seed, jobs)}
            if kept is not None:
                kept.parent.mkdir(parents=True, exist_ok=True)
                files.write_text(kept, "".join(f"{json.dumps(one)}\n" for one in known.values()))
        found.append(Costs(cell, np.array(known[key]["regret"]), np.array(known[key]["wrong"])))
    return found


def _key(cell: Cell, runs: int, seed: int, sources: Mapping[str, str]) -> str:
    policy, _, method = cell.entry.partition("/")
    given = POLICIES.configure(policy).component
    code = source_of(given, sources.get(given.name, ""))
    made = _made(cell.problem)
    world = made.digest if isinstance(made, PreferenceMatrix) else made.provenance
    about = [cell.problem.family, cell.problem.name, world, policy, method, code]
    return digest.digest_of([*about, cell.steps, cell.batched, runs, seed])


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
    """Return the ratio of each policy's regret to the best policy's regret, by kind of problems and number of steps.

    The minimum of noisy means is too low, so ratios to it would be too high. Therefore one half of the runs determines
    the best policy of a problem, the other half determines the ratios, and the roles are then exchanged. A ratio below
    1 is possible. Intervals treat these best policies as given, and are omitted for fewer than `FEWEST` runs.

    Columns: ``problems`` (matrices or live), ``batches``, ``steps``, ``policy``, ``times the best`` (geometric mean
    over the problems), ``low`` and ``high`` (95 %, Student's t over resamples of the runs), ``worst``, ``worst on``,
    ``wrong`` (share of runs that end with a wrong arm), ``wrong at best`` (the same share for the best policy of each
    problem), ``error`` (standard error of ``wrong`` minus ``wrong at best``), and a column for each family.
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
    rng, runs = stream(0, "standings"), regret.shape[2]
    best_of = [regret[:, :, half::2].mean(axis=2).argmin(axis=1) for half in (1, 0)]  # from the other half of the runs
    logs = _log_ratios(regret, best_of)
    low, high = np.full((2, len(entries)), np.nan)
    if runs >= FEWEST:
        drawn = (2 * rng.integers(0, np.array([(runs + 1 - k % 2) // 2 for k in range(runs)]), (DRAWS, runs))).T
        draws = (drawn + np.arange(runs)[:, None] % 2).T  # each run is replaced by a run of its half
        means = np.array([_log_ratios(regret[:, :, draw], best_of).mean(axis=0) for draw in draws])
        half = runs // 2
        reach = statistics.student_reach(means.std(axis=0) * (half / (half - 1)) ** 0.5, 2.0 * half - 2, 0.95)
        low, high = np.exp(logs.mean(axis=0) - reach), np.exp(logs.mean(axis=0) + reach)
    best = wrong[np.arange(len(names)), regret.mean(axis=2).argmin(axis=1)]  # (problems, runs)
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


def _log_ratios(regret: FloatVector, best_of: Sequence[IntVector]) -> FloatVector:
    """Return the logarithms of the ratios to the best policies' regret, averaged over both halves of the runs."""
    logs = [np.log(np.maximum(regret[:, :, half::2].mean(axis=2), LEAST)) for half in (0, 1)]
    at = np.arange(len(regret))
    return np.asarray(np.mean([one - one[at, best, None] for one, best in zip(logs, best_of, strict=True)], axis=0))
