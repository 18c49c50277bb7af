"""The content of advice: estimates with intervals for each candidate under each click model."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from ltr_duel.advice.bounds import Estimate, mean, share
from ltr_duel.advice.race import Round
from ltr_duel.advice.trials import Trials
from ltr_duel.core import IntVector, notebook

if TYPE_CHECKING:
    import pandas as pd

VERSION = 1  # version of the JSON format


class Reached(NamedTuple):
    """The number of impressions from which a condition holds until the end of the budget; None if it fails there."""

    value: int | None
    low: int | None
    high: int | None


class Showing(NamedTuple):
    """Results of one candidate under one click model. NDCG and regret are means per impression of the budget."""

    users: str  # click model
    runs: int
    right: Estimate  # probability that the ranker named at the end is the best one, or within the margin of it
    sure_at: Reached  # impressions from which `right` stays at or above the requested confidence
    lost: Estimate  # NDCG of the best ranker, minus NDCG of the lists that users see
    regret: Estimate  # NDCG of the best ranker, minus NDCG of the compared rankers
    after: Estimate  # NDCG of the best ranker, minus NDCG of the ranker named at the end
    loss: Estimate  # lost + after: users' loss in the budget and in an equal number of impressions after it
    curve: tuple[Estimate, ...]  # `right` at each checkpoint


class Row(NamedTuple):
    """Results of one candidate under each click model."""

    candidate: str
    may_be_deployed: bool
    fresh: bool  # whether the runs are separate from the runs of the race
    worlds: tuple[Showing, ...]

    @property
    def worst(self) -> Showing:
        """Results under the click model with the lowest `right`; ties are broken by the highest loss."""
        return min(self.worlds, key=lambda one: (one.right.value, -one.loss.value))

    @property
    def dearest(self) -> Showing:
        """Results under the click model with the highest loss, used by the race; `worst` if losses are equal."""
        return max(self.worlds, key=lambda one: (one.loss.value, one is self.worst))


class WhatIf(NamedTuple):
    """Results of one candidate in a harder version of a world (`ltr_duel.advice.world`)."""

    change: str  # one of "as simulated", "noisier", "closer", "cycle"
    candidate: str
    users: str
    runs: int
    right: Estimate
    lost: Estimate


class Enough(NamedTuple):
    """A sufficient budget, found among multiples of the requested budget."""

    candidate: str
    users: str
    runs: int
    budget: int | None  # None if `tried`, the largest simulated budget, is too small
    tried: int
    right: Estimate  # at `budget`, or at `tried`
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
    rows : tuple of Row
        The advised candidate and the runner-up first; then the other candidates, with fresh runs (`fresh`) or with
        their runs from the race.
    rounds : tuple of Round
        Rounds of the race; candidates are indices into ``names``.
    names : tuple of str
        All candidates.
    surest : str
        A candidate that reaches the confidence although the advised candidate does not; "" if there is none.
    what_if : tuple of WhatIf
    enough : Enough or None
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
    rows: tuple[Row, ...] = field(repr=False)
    rounds: tuple[Round, ...] = field(repr=False)
    names: tuple[str, ...] = field(repr=False)
    surest: str
    what_if: tuple[WhatIf, ...] = field(repr=False)
    enough: Enough | None = field(repr=False)
    unsure: tuple[str, ...] = field(repr=False)
    live: dict[str, Any] = field(repr=False)

    @property
    def deploy(self) -> Row | None:
        """The advised candidate; None if all rankers are within the margin."""
        return self.rows[0] if self.rows else None

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
        """Return the answer in sentences."""
        from ltr_duel.advice.sentences import advice_lines

        return advice_lines(self)

    def table(self) -> pd.DataFrame:
        """Return the candidates as a table of strings."""
        from ltr_duel.advice.tables import candidates_table

        return candidates_table(self)

    def _repr_html_(self) -> str:
        table = self.table()
        return notebook.notebook_html(self.lines(), list(table.columns), table.to_numpy().tolist())

    def to_json(self) -> dict[str, Any]:
        """Return all fields as JSON; numbers that are not finite become null."""
        found = {name: getattr(self, name) for name in self.__dataclass_fields__}
        found |= {
            "rows": [row._asdict() | {"worst": row.worst} for row in self.rows],
            "rounds": [
                {"runs": one.runs}
                | {part: [self.names[k] for k in getattr(one, part)] for part in ("tried", "left", "dropped")}
                for one in self.rounds
            ],
            "deploy": self.rows[0].candidate if self.rows else None,
            "best": self.best,
            "as_good": self.as_good,
        }  # fmt: skip
        return {"version": VERSION, **_plain(found)}

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
        from ltr_duel.advice.page import save_advice

        return save_advice(self, Path(folder))


def showing_of(
    trials: Trials, times: IntVector, users: str, confidence: float, level: float, surprise: float
) -> Showing:
    """Return the results of runs in one world, with intervals of confidence ``level``; ``surprise``: see `mean`."""
    runs = len(trials.right)
    curve = tuple(share(int(hits), runs, level) for hits in trials.right.sum(axis=0))
    return Showing(
        users,
        runs,
        curve[-1],
        reached(curve, times, confidence),
        mean(trials.lost[:, -1], level),
        mean(trials.regret[:, -1], level),
        mean(trials.after[:, -1], level, surprise),
        mean(trials.loss, level, surprise),
        curve,
    )


def reached(curve: tuple[Estimate, ...], times: IntVector, confidence: float) -> Reached:
    """Return the impressions from which the curve, and each end of its interval, stays at or above the confidence."""
    value, low, high = (
        _from(np.array([getattr(one, part) for one in curve]) >= confidence, times) for part in ("value", "high", "low")
    )
    return Reached(value, low, high)


def _from(holds: np.ndarray[Any, Any], times: IntVector) -> int | None:
    if not holds[-1]:
        return None
    fails = np.flatnonzero(~holds)
    return int(times[fails[-1] + 1 if len(fails) else 0])


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if hasattr(value, "_asdict"):
        return {key: _plain(one) for key, one in value._asdict().items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
