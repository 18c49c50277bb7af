"""The content of advice: estimates with intervals for each candidate under each click model."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ltr_duel.advice.candidates import BASELINE
from ltr_duel.advice.runs import Sample
from ltr_duel.core import IntVector, notebook, statistics

if TYPE_CHECKING:
    import pandas as pd

VERSION = 2  # version of the JSON format


class Estimate(NamedTuple):
    """An estimated number with the ends of its interval."""

    value: float
    low: float
    high: float


class Reached(NamedTuple):
    """The number of impressions from which a condition holds until the end of the budget; None if it fails there."""

    value: int | None
    low: int | None
    high: int | None


class WorldResult(NamedTuple):
    """Results of one candidate under one click model. Losses of NDCG are means per impression of the budget."""

    users: str  # click model
    runs: int
    right: Estimate  # probability that the ranker named at the end is the best one, or within the margin of it
    sure_at: Reached  # impressions from which `right` stays at or above the requested confidence
    lost: Estimate  # NDCG of the best ranker, minus NDCG of the lists that users see
    after: Estimate  # NDCG of the best ranker, minus NDCG of the ranker named at the end
    loss: Estimate  # lost + after: users' loss in the budget and in an equal number of impressions after it
    curve: tuple[Estimate, ...]  # `right` at each checkpoint


class CandidateResult(NamedTuple):
    """Results of the fresh runs of one candidate under each click model."""

    candidate: str
    worlds: tuple[WorldResult, ...]

    @property
    def worst(self) -> WorldResult:
        """Results under the click model with the lowest `right`; ties are broken by the highest loss."""
        return min(self.worlds, key=lambda world: (world.right.value, -world.loss.value))

    @property
    def highest_loss(self) -> WorldResult:
        """Results under the click model with the highest loss, by which candidates are ordered; `worst` if equal."""
        return max(self.worlds, key=lambda world: (world.loss.value, world is self.worst))


class ScreeningResult(NamedTuple):
    """Results of the few runs by which the finalists were chosen, which therefore have no intervals."""

    candidate: str
    runs: int  # for each click model
    right: float  # share of right runs, for the click model with the lowest share
    loss: float  # mean loss, for the click model with the highest


class SufficientBudget(NamedTuple):
    """A sufficient budget, found among multiples of the requested budget."""

    users: str
    runs: int
    budget: int | None  # None if `tried`, the largest simulated budget, is too small
    tried: int
    right: Estimate  # at `tried`, in runs that did not choose it
    named: str  # the ranker named most often at the end of `tried`
    named_gap: float  # NDCG gap between the best ranker and `named`


@dataclass(frozen=True, eq=False)
class Advice:
    """The advice on the policy to deploy, with its confidence; created by `advise`.

    Parameters
    ----------
    verdict : {"deploy", "too small", "identical"}
        deploy: a candidate reaches the confidence within the budget; too small: none does; identical: all rankers are
        within the margin.
    settings : dict
        The question: corpus, rankers, click models, budget, confidence, margin, seed and so on, for JSON.
    ndcg : dict
        NDCG of each ranker, by name.
    times : ndarray of int64, shape (C,)
        Impressions at the checkpoints of the curves.
    candidates : tuple of CandidateResult
        Results of fresh runs: the advised candidate, the other finalists (the lowest loss first), and the baseline.
    screening : tuple of ScreeningResult
        All candidates, the lowest loss first.
    noisier : WorldResult or None
        Results of the advised candidate with users whose clicks depend half as much on the grade.
    sufficient : SufficientBudget or None
        Set only if no candidate reaches the confidence.
    unsure : tuple of str
        Rankers that the queries of the corpus cannot distinguish from the best one.
    live : dict
        Settings for `ltr_duel.live`.

    Examples
    --------
    See `advise`, which creates instances.

    >>> Advice.__name__
    'Advice'
    """

    verdict: Literal["deploy", "too small", "identical"]
    settings: dict[str, Any]
    ndcg: dict[str, float]
    times: IntVector = field(repr=False)
    unsure: tuple[str, ...] = field(default=(), repr=False)
    candidates: tuple[CandidateResult, ...] = field(default=(), repr=False)
    screening: tuple[ScreeningResult, ...] = field(default=(), repr=False)
    noisier: WorldResult | None = field(default=None, repr=False)
    sufficient: SufficientBudget | None = field(default=None, repr=False)
    live: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def deploy(self) -> CandidateResult | None:
        """The advised candidate; None if all rankers are within the margin."""
        return self.candidates[0] if self.candidates else None

    @property
    def shown(self) -> tuple[CandidateResult, ...]:
        """The candidates of the first table and the figure: the advised one, the runner-up and the baseline."""
        baseline = [result for result in self.candidates[2:] if result.candidate == BASELINE]
        return (*self.candidates[:2], *baseline)

    @property
    def best(self) -> str:
        """The best ranker by relevance grades (the first one if several are equal)."""
        return max(self.ndcg, key=lambda name: self.ndcg[name])

    @property
    def as_good(self) -> tuple[str, ...]:
        """The other rankers within the margin of the best."""
        limit = self.ndcg[self.best] - self.settings["margin"] - 1e-12
        return tuple(name for name, value in self.ndcg.items() if value >= limit and name != self.best)

    def lines(self) -> list[str]:
        """Return the answer in sentences, the verdict first."""
        from ltr_duel.advice.report import advice_lines

        return advice_lines(self)

    def table(self) -> pd.DataFrame:
        """Return the advised candidate, the runner-up and the baseline as a table of strings."""
        from ltr_duel.advice.report import candidates_table

        return candidates_table(self)

    def _repr_html_(self) -> str:
        table = self.table()
        return notebook.notebook_html(self.lines(), list(table.columns), table.to_numpy().tolist())

    def to_json(self) -> dict[str, Any]:
        """Return all fields as JSON; numbers that are not finite become null."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        fields["deploy"] = self.deploy.candidate if self.deploy else None
        return {"version": VERSION, **_plain(fields | {"best": self.best, "as_good": self.as_good})}

    def save(self, folder: str | Path) -> list[Path]:
        """Write advice.html, advice.json, advice.png and, if there is a candidate to deploy, live.toml.

        Parameters
        ----------
        folder : path
            Created if missing. Either all files are written or none.

        Returns
        -------
        list of Path
            The files.
        """
        from ltr_duel.advice.report import save_advice

        return save_advice(self, Path(folder))


def world_result(
    sample: Sample, times: IntVector, users: str, confidence: float, level: float, least_mistake: float
) -> WorldResult:
    """Return the results of runs in one world, with intervals of confidence ``level``; see `mean`."""
    runs = len(sample.right)
    curve = tuple(share(int(hits), runs, level) for hits in sample.right.sum(axis=0))
    return WorldResult(
        users,
        runs,
        curve[-1],
        reached(curve, times, confidence),
        mean(sample.lost, level),
        mean(sample.after, level, least_mistake),
        mean(sample.loss, level, least_mistake),
        curve,
    )


def share(hits: int, n: int, confidence: float) -> Estimate:
    """Return a share with its Clopper-Pearson interval, whose coverage is at least ``confidence``."""
    low, high = statistics.clopper_pearson(hits, n, confidence)
    return Estimate(hits / n, float(low), float(high))


def mean(values: ArrayLike, confidence: float, unseen: float = 0.0) -> Estimate:
    """Return a mean with Student's interval.

    Rare high values may not have occurred yet: if ``unseen`` is above 0, the upper end is computed with one more value,
    ``unseen`` above the mean, or the maximum if that is higher. The lower end is then at least the minimum.
    """
    sample = np.asarray(values, np.float64)
    quantile = statistics.student_quantile((1 + confidence) / 2, len(sample) - 1)
    middle, reach = float(sample.mean()), quantile * sample.std(ddof=1) / np.sqrt(len(sample))
    if not unseen:
        return Estimate(middle, float(middle - reach), float(middle + reach))
    more = np.append(sample, max(middle + unseen, sample.max()))
    high = more.mean() + quantile * more.std(ddof=1) / np.sqrt(len(more))
    return Estimate(middle, float(max(middle - reach, sample.min())), float(high))


def reached(curve: tuple[Estimate, ...], times: IntVector, confidence: float) -> Reached:
    """Return the impressions from which the curve, and each end of its interval, stays at or above the confidence."""

    def first(part: str) -> int | None:
        fails = np.flatnonzero([getattr(point, part) < confidence for point in curve])
        if len(fails) == 0:
            return int(times[0])
        return int(times[fails[-1] + 1]) if fails[-1] + 1 < len(times) else None

    return Reached(first("value"), first("high"), first("low"))


def _plain(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
