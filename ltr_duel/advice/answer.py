"""The answer of `advise`: which candidate to deploy, and what the simulations measured for each candidate.

A candidate is a policy with a comparison method. For each click model, the simulations of a candidate give one
`WorldResult`.
"""

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
    """An estimated number, with the lower and the upper end of its confidence interval."""

    value: float
    low: float
    high: float


class Reached(NamedTuple):
    """The number of impressions after which a condition stays true, with a confidence interval. None means never."""

    value: int | None
    low: int | None
    high: int | None


class WorldResult(NamedTuple):
    """The results of one candidate with one click model. All values of NDCG are means per impression."""

    users: str  # click model
    runs: int
    right: Estimate  # probability that the ranker named at the end is the best one, or within the margin of it
    sure_at: Reached  # impressions from which this probability stays at or above the requested confidence
    lost: Estimate  # NDCG of the best ranker, minus NDCG of the lists that users see
    after: Estimate  # NDCG of the best ranker, minus NDCG of the ranker named at the end
    loss: Estimate  # lost + after: what users lose during the budget, and during as many impressions after it
    curve: tuple[Estimate, ...]  # the probability of `right`, for the ranker named at each checkpoint


class CandidateResult(NamedTuple):
    """The results of one finalist, with one `WorldResult` for each click model."""

    candidate: str
    worlds: tuple[WorldResult, ...]

    @property
    def worst(self) -> WorldResult:
        """The result with the click model for which the candidate is right least often."""
        return min(self.worlds, key=lambda world: (world.right.value, -world.loss.value))

    @property
    def highest_loss(self) -> WorldResult:
        """The result with the click model that gives the highest loss. The finalists are sorted by this loss."""
        return max(self.worlds, key=lambda world: (world.loss.value, world is self.worst))


class ScreeningResult(NamedTuple):
    """The results of one candidate in the first stage, which chooses the finalists by a few runs."""

    candidate: str
    runs: int  # for each click model
    right: float  # share of runs that name a right ranker, for the click model with the lowest share
    loss: float  # mean loss, for the click model with the highest loss


class SufficientBudget(NamedTuple):
    """The result of trying two, four and eight times the requested budget, to find a budget that is enough."""

    users: str  # click model
    runs: int
    budget: int | None  # equal to `tried` if this was confirmed by new runs, else None
    tried: int  # the smallest budget that was sufficient in a few runs, or the largest one if none was
    right: Estimate  # probability of naming a right ranker with the budget `tried`, from new runs
    named: str  # the ranker named most often at the end of `tried`
    named_gap: float  # NDCG gap between the best ranker and `named`


@dataclass(frozen=True, eq=False)
class Advice:
    """Advice on which policy to deploy, and how certain it is; `advise` returns it.

    Parameters
    ----------
    verdict : {"deploy", "too small", "identical"}
        "deploy": a candidate finds a good ranker with the requested confidence. "too small": the budget is too small
        for every candidate. "identical": all rankers are equally good within the margin, so no experiment is needed.
    settings : dict
        The arguments of `advise`: corpus, rankers, click models, budget, confidence, margin, seed and so on.
    ndcg : dict
        The NDCG of each ranker, with the name of the ranker as key.
    times : ndarray of int64, shape (C,)
        The checkpoints, in impressions. Each `WorldResult.curve` has one value per checkpoint.
    candidates : tuple of CandidateResult
        The results of the finalists. The advised candidate comes first. The other finalists follow, with the lowest
        loss first. The baseline, which compares random pairs, is one of the finalists.
    screening : tuple of ScreeningResult
        The results of the first stage for all candidates, with the lowest loss first.
    noisier : WorldResult or None
        The results of the advised candidate with noisier users, whose clicks depend only half as much on the grade of
        a document.
    sufficient : SufficientBudget or None
        A larger budget that may be enough, if the verdict is "too small".
    unsure : tuple of str
        Rankers that may be as good as the best ranker. The corpus has too few queries to show a difference.
    live : dict
        Settings with which `ltr_duel.live` runs the advised candidate.

    Examples
    --------
    See `advise`, which creates the objects of this class.

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
        """The advised candidate; None if the verdict is "identical"."""
        return self.candidates[0] if self.candidates else None

    @property
    def shown(self) -> tuple[CandidateResult, ...]:
        """The candidates in the first table and the figure: the advised candidate, the runner-up and the baseline."""
        baseline = [result for result in self.candidates[2:] if result.candidate == BASELINE]
        return (*self.candidates[:2], *baseline)

    @property
    def best(self) -> str:
        """The ranker with the highest NDCG."""
        return max(self.ndcg, key=lambda name: self.ndcg[name])

    @property
    def as_good(self) -> tuple[str, ...]:
        """The other rankers whose NDCG is within the margin of the best ranker."""
        limit = self.ndcg[self.best] - self.settings["margin"] - 1e-12
        return tuple(name for name, value in self.ndcg.items() if value >= limit and name != self.best)

    def lines(self) -> list[str]:
        """Return the advice as sentences, of which the first is the verdict."""
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
        """Return all fields as a dictionary for JSON. Numbers that are not finite become None."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        fields["deploy"] = self.deploy.candidate if self.deploy else None
        return {"version": VERSION, **_plain(fields | {"best": self.best, "as_good": self.as_good})}

    def save(self, folder: str | Path) -> list[Path]:
        """Write advice.html, advice.json, advice.png and, if there is a candidate to deploy, live.toml.

        Parameters
        ----------
        folder : path
            The folder to write to, which is created if it is missing. If a file cannot be written, none is written.

        Returns
        -------
        list of Path
            The paths of the written files.
        """
        from ltr_duel.advice.report import save_advice

        return save_advice(self, Path(folder))


def world_result(
    sample: Sample, times: IntVector, users: str, confidence: float, level: float, least_mistake: float
) -> WorldResult:
    """Return the results of one candidate's runs with one click model. Intervals have the confidence ``level``."""
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
    """Return the share ``hits / n`` with its confidence interval by Clopper and Pearson."""
    low, high = statistics.clopper_pearson(hits, n, confidence)
    return Estimate(hits / n, float(low), float(high))


def mean(values: ArrayLike, confidence: float, unseen: float = 0.0) -> Estimate:
    """Return the mean of some values with Student's confidence interval."""
    sample = np.asarray(values, np.float64)
    quantile = statistics.student_quantile((1 + confidence) / 2, len(sample) - 1)
    middle, reach = float(sample.mean()), quantile * sample.std(ddof=1) / np.sqrt(len(sample))
    if not unseen:
        return Estimate(middle, float(middle - reach), float(middle + reach))
    # The sample may lack a rare high value. The upper end is computed as if the sample had one more high value.
    more = np.append(sample, max(middle + unseen, sample.max()))
    high = more.mean() + quantile * more.std(ddof=1) / np.sqrt(len(more))
    return Estimate(middle, float(max(middle - reach, sample.min())), float(high))


def reached(curve: tuple[Estimate, ...], times: IntVector, confidence: float) -> Reached:
    """Return after how many impressions a curve stays at or above ``confidence``, with a confidence interval."""

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
