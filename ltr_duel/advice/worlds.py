"""The worlds in which candidates are simulated. A world has rankers, users (a click model) and right answers.

The best ranker has the highest mean NDCG. A ranker is a right answer if it is below the best ranker by at most the
margin. Right answers do not depend on the users or on the comparison method.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.clicks import CLICK_MODELS, ClickModel, click_model
from ltr_duel.core import FloatVector, InputError, MarkVector
from ltr_duel.rankers import REDRAWING, Rankings, measure_by_query

DEPTH = 10  # depth of NDCG, unless fewer documents are shown


class Yardstick(NamedTuple):
    """Arrays from which the NDCG of a list is computed, and the NDCG of the best ranker's list for each query."""

    worth: FloatVector  # (n_docs,) what a document at the top of a list adds to the NDCG of the list
    discount: FloatVector  # (10 or fewer,) the share of this that a document adds at each position
    best: FloatVector  # (n_queries,) NDCG of the best ranker's list


@dataclass(frozen=True, eq=False)
class World:
    """One simulated world: rankers, users, and the right answers.

    errors: standard errors of the click model's probabilities, by field; empty if the probabilities are exact.
    """

    rankings: Rankings
    users: ClickModel
    top: int  # number of documents shown
    ndcg: FloatVector  # (K,) each ranker's mean NDCG over the queries, at depth 10, or at ``top`` if that is less
    yardstick: Yardstick  # measures the lists that users see
    margin: float  # a ranker is as good as the best one if its NDCG is lower by at most this number
    errors: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def sampled_users(self, rng: Generator) -> ClickModel:
        """Draw a click model whose probabilities are normally distributed around the estimated probabilities."""
        fields: dict[str, Any] = {
            name: tuple(np.clip(rng.normal(getattr(self.users, name), errors), 0.0, 1.0).tolist())
            for name, errors in self.errors.items()
        }
        return replace(self.users, **fields)

    @property
    def gaps(self) -> FloatVector:
        """The NDCG of the best ranker, minus the NDCG of each ranker; shape (K,)."""
        return np.asarray(self.ndcg.max() - self.ndcg)

    @property
    def right(self) -> MarkVector:
        """1 for each ranker that is a right answer and 0 for the others, shape (K,)."""
        return (self.gaps <= self.margin + 1e-12).astype(np.uint8)

    @property
    def least_mistake(self) -> float:
        """The least NDCG that is lost if a wrong ranker is named; 0 if no ranker is wrong."""
        wrong = self.gaps[self.right == 0]
        return float(wrong.min()) if len(wrong) else 0.0

    @property
    def measure(self) -> str:
        """The name of the measure, for example NDCG@10."""
        return f"NDCG@{len(self.yardstick.discount)}"


def make_worlds(rankings: Rankings, clicks: tuple[str | ClickModel, ...], top: int, margin: float) -> list[World]:
    """Return one world for each click model.

    Raises `InputError` if the order of tied documents changes from list to list.
    """
    if rankings.provenance.get("ties") in REDRAWING:
        raise InputError(f"advice needs rankings with a fixed order of ties, not '{rankings.provenance['ties']}'")
    models = [click_model(given, rankings.grades) for given in clicks]
    if len({model.name for model in models}) < len(models):
        raise InputError("a click model is named twice")
    if not models:
        raise InputError("name at least one click model")
    depth = min(DEPTH, top)
    by_query = measure_by_query(rankings, f"NDCG@{depth}")
    ndcg = by_query.mean(axis=1)
    discount = 1 / np.log2(np.arange(2, depth + 2))
    yardstick = Yardstick(_worth(rankings, discount), discount, by_query[ndcg.argmax()].copy())
    fitted = [CLICK_MODELS.configure(given).component.errors if isinstance(given, str) else {} for given in clicks]
    return [
        World(rankings, model, top, ndcg, yardstick, margin, errors)
        for model, errors in zip(models, fitted, strict=True)
    ]


def noisier(world: World) -> World:
    """Return the world with users whose click probabilities depend only half as much on the grade."""
    p_click = np.array(world.users.p_click)
    blurred = tuple(float(p) for p in (p_click + p_click.mean()) / 2)
    return replace(world, users=replace(world.users, p_click=blurred))


def _worth(rankings: Rankings, discount: FloatVector) -> FloatVector:
    gain = 2.0 ** rankings.relevance.astype(np.float64) - 1
    worth = np.zeros(len(gain))
    for start, stop in zip(rankings.query_ptr[:-1], rankings.query_ptr[1:], strict=True):
        highest = np.sort(gain[start:stop])[::-1][: len(discount)]
        ideal = float((highest * discount[: len(highest)]).sum())
        if ideal > 0:
            worth[start:stop] = gain[start:stop] / ideal
    return worth
