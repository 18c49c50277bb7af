"""Estimate how reliable the criteria of claims are, in simulated worlds in which the claim is false or true.

A world has the panels of the claim's tables, with the same number of runs and the same noise: the mean and the
standard deviation of each policy's runs, and the correlation between policies. The runs are sampled again
(log-normal), and so are the problems if they are random draws. Cells of tables are sampled with their standard errors;
exact cells are unchanged. The interval of a cell that depends on an estimated matrix may be extended to limits
(`ltr_duel.papers.claim_measures.tables`), which are the same in all worlds. If these limits are outside the criterion,
the claim is called true in no world. Whole matrices are sampled in tests/papers/test_transitive_worlds.py. The
sampled numbers are then moved until the claim is false or true:

- false: one panel is just outside an end of the criterion (for the rank of a policy, the policy's mean equals the mean
  of the best other policy), and the other panels are as in a true world; the panels take turns from world to world;
- true: every panel is in the middle of the criterion or, if the criterion has only one end, beyond this end by a factor
  of 1.5; for the rank of a policy, the regret of all other policies is higher (or lower) by a factor of at least 1.25.

The result is the number of worlds in which the verdict is `holds`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ltr_duel.core import FloatMatrix, InputError, stream
from ltr_duel.papers.claim_measures import MEASURES, Group, Missing, Sample
from ltr_duel.papers.claims import gather
from ltr_duel.papers.claims_file import Claim

WORLDS = 200
MOST_CALLED, LEAST_FOUND = 0.05, 0.8  # limits of a reliable criterion, as shares of worlds
_COLUMNS = ("claim", "says", "criterion", "scale", "panels", "runs", "worlds", "called", "found", "reliable")
_POPULATION = 40_000  # number of runs in a sample that approximates the distribution
_OUTSIDE = 1e-3  # distance of a false panel's number from an end of the criterion, relative to this end
_FLAT = 0.25  # distance of a true panel's number from the criterion's only end, if this end is 0 or negative


def try_criteria(
    claims: Sequence[Claim], frames: Mapping[str, pd.DataFrame], abouts: Mapping[str, Mapping[str, Any]]
) -> pd.DataFrame:
    """Test claims in `WORLDS` false and `WORLDS` true worlds. Claims with missing tables or panels are omitted.

    Columns: claim (id), says, criterion, scale, panels, runs (number of independent runs of the panel with the
    fewest; 0 for cells), worlds, called (number of false worlds in which the verdict is `holds`), found (number of true
    worlds with this verdict), reliable (whether ``called`` is at most 5% and ``found`` at least 80% of the worlds).
    """
    rows = []
    for claim in claims:
        if not all(name in frames for name in claim.figure):
            continue
        found = gather(claim, frames)
        if found.gaps:
            continue
        try:
            called, right = judge_worlds(claim, list(found.samples.values()))
        except Missing:
            continue
        scales = dict.fromkeys(str(abouts.get(name, {}).get("scale", "")) for name in claim.figure)
        runs = min(one.units if one.groups else 0 for one in found.samples.values())
        reliable = called <= MOST_CALLED * WORLDS and right >= LEAST_FOUND * WORLDS
        rows.append(
            {"claim": claim.id, "says": claim.says, "criterion": str(claim.criterion), "scale": ", ".join(scales)}
            | {"panels": len(found.samples), "runs": runs, "worlds": WORLDS, "called": called, "found": right}
            | {"reliable": reliable}
        )
    return pd.DataFrame(rows, columns=list(_COLUMNS))


def read_tried(path: Path) -> pd.DataFrame:
    """Read a saved result of `try_criteria`; if the file does not exist, return an empty table."""
    if not path.is_file():
        return pd.DataFrame(columns=list(_COLUMNS))
    try:
        return pd.read_csv(path, dtype={"scale": str}, keep_default_na=False)[list(_COLUMNS)]
    except (OSError, ValueError, KeyError) as error:
        words = str(error).strip().splitlines()[0]
        raise InputError(f"{path}: damaged ({words}); remove it, or rerun 'ltr-duel reproduce reliability'") from None


def judge_worlds(claim: Claim, samples: Sequence[Sample]) -> tuple[int, int]:
    """Return the numbers of false worlds and of true worlds in which the verdict on a claim is `holds`."""
    right, wrong = np.empty((2, len(samples), WORLDS), dtype=bool)
    measure, number, ends = MEASURES[claim.measure], np.arange(WORLDS), outside(claim)
    turn = number // len(samples)
    for panel, sample in enumerate(samples):
        rng = stream(0, "reliability", claim.id, panel)
        population = _population(sample, rng)
        worlds = redraw(sample, WORLDS, rng)

        def holds(worlds: Sample, target: float, population: Sample = population) -> Any:
            found = measure.find(measure.aim(worlds, population, target, **claim.settings), **claim.settings)
            return (claim.criterion.at_least <= found.low) & (found.high <= claim.criterion.at_most)

        right[panel] = holds(worlds, inside(claim))
        for place, end in enumerate(ends):
            mine = (number % len(samples) == panel) & (turn % len(ends) == place)
            if mine.any():
                wrong[panel, mine] = holds(_worlds(worlds, mine), end)
    false_panel = number % len(samples)
    others = right.copy()
    others[false_panel, number] = wrong[false_panel, number]
    return int(others.all(axis=0).sum()), int(right.all(axis=0).sum())


def inside(claim: Claim) -> float:
    """Return the target number for each panel of a true world."""
    low, high = claim.criterion
    if claim.truth is not None:
        return claim.truth
    if np.isfinite(low) and np.isfinite(high):
        return (low + high) / 2
    if np.isfinite(low):
        return low * 1.5 if low > 0 else low + _FLAT
    return high / 1.5 if high > 0 else high - _FLAT


def outside(claim: Claim) -> list[float]:
    """Return the target numbers for the false panels of false worlds, one number for each end of the criterion."""
    low, high = claim.criterion
    if low == high or claim.measure == "place":
        return [high + 1]
    ends = [end - side * _OUTSIDE * max(abs(end), _FLAT) for end, side in ((low, 1), (high, -1)) if np.isfinite(end)]
    return ends


def redraw(sample: Sample, worlds: int, rng: np.random.Generator) -> Sample:
    """Sample runs or cells for many worlds, from a distribution with the sample's means, spreads and correlations."""
    cells = sample.cells
    if len(cells):
        cells = cells[:, None] + sample.errors[:, None] * rng.standard_normal((len(cells), worlds))
    return sample._replace(groups=tuple(_runs(group, worlds, rng) for group in sample.groups), cells=cells)


def _runs(group: Group, worlds: int, rng: np.random.Generator) -> Group:
    values = np.empty((*group.values.shape, worlds))
    blocks = [np.flatnonzero(group.problem == one) for one in np.unique(group.problem)]
    centres = np.array([group.values[block].mean(axis=0) for block in blocks])
    if np.isin(group.values, (0.0, 1.0)).all():  # whether each run names the winner: one random number per run
        for block, centre in zip(blocks, centres, strict=True):
            values[block] = rng.random((len(block), 1, worlds)) < centre[:, None]
        return group._replace(values=values)
    owner = np.searchsorted(np.unique(group.problem), group.problem)
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.nan_to_num(group.values / centres[owner] - 1)
    freedom = max(1, len(apart) - len(blocks))
    within = apart.T @ apart / freedom
    for block, centre in zip(blocks, centres, strict=True):
        if group.drawn and len(blocks) > 1:
            middle = centres.mean(axis=0)
            between = np.cov((centres / middle).T).reshape(len(middle), -1) - within / len(block)
            level = middle[:, None] * _lognormal(between, (1, worlds), rng)[0]
        else:
            level = centre[:, None]
        values[block] = level * _lognormal(within, (len(block), worlds), rng)
    return group._replace(values=values)


def _lognormal(covariance: FloatMatrix, shape: tuple[int, int], rng: np.random.Generator) -> Any:
    """Sample positive vectors with mean 1 and the given covariance; shape (runs, columns, worlds)."""
    size = np.sqrt(np.maximum(np.diag(covariance), 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        alike = np.nan_to_num(covariance / np.outer(size, size))
    values, vectors = np.linalg.eigh(np.clip(alike, -1, 1))
    root = vectors * np.sqrt(np.maximum(values, 0))
    width = np.sqrt(np.log1p(size**2))[:, None]
    normal = np.einsum("cd,rdw->rcw", root, rng.standard_normal((shape[0], len(size), shape[1])))
    return np.exp(width * normal - width**2 / 2)


def _population(sample: Sample, rng: np.random.Generator) -> Sample:
    """Return a very large sample, whose statistic is close to the distribution's statistic; cells are unchanged."""
    groups = []
    for group in sample.groups:
        times = -(-_POPULATION // len(group.values))
        drawn = np.moveaxis(_runs(group, times, rng).values, 1, -1)
        groups.append(group._replace(values=drawn.reshape(-1, drawn.shape[-1])))
    return sample._replace(groups=tuple(groups))


def _worlds(sample: Sample, some: Any) -> Sample:
    groups = tuple(group._replace(values=group.values[..., some]) for group in sample.groups)
    return sample._replace(groups=groups, cells=sample.cells[..., some] if len(sample.cells) else sample.cells)
