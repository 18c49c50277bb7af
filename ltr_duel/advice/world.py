"""The worlds in which candidates are simulated: rankers, users, and the right answers.

The best ranker has the highest mean NDCG of the shown documents over the queries; any ranker within the margin of the
best one is a right answer. Right answers are the same for all users and methods, so candidates can be compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.random import Generator

from ltr_duel.advice.oracles import Yardstick
from ltr_duel.clicks import CLICK_MODELS, ClickModel, click_model
from ltr_duel.core import FloatMatrix, FloatVector, InputError, MarkVector
from ltr_duel.rankers import REDRAWING, Rankings, measure_by_query

DEPTH = 10  # depth of NDCG, unless fewer documents are shown


@dataclass(frozen=True, eq=False)
class World:
    """Rankers, users, and the right answers.

    errors: standard errors of the users' probabilities, keyed by the fields of `ClickModel`; empty if the probabilities
        are exact.
    """

    rankings: Rankings
    users: ClickModel
    top: int  # number of documents shown
    ndcg: FloatVector  # shape (K,); each ranker's mean NDCG over the queries, at 10, or at ``top`` if lower
    yardstick: Yardstick  # measure of the lists that users see
    margin: float  # largest difference in NDCG from the best ranker at which a ranker counts as equally good
    turned: FloatMatrix  # shape (K, K), symmetric; for each pair, the share of decided outcomes that are reversed
    errors: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def drawn_users(self, rng: Generator) -> ClickModel:
        """Sample users: add to each probability an independent normal error of its standard error; clip to [0, 1]."""
        fields: dict[str, Any] = {
            name: tuple(np.clip(rng.normal(getattr(self.users, name), errors), 0.0, 1.0).tolist())
            for name, errors in self.errors.items()
        }
        return replace(self.users, **fields)

    @property
    def gaps(self) -> FloatVector:
        """NDCG of the best ranker minus NDCG of each ranker; shape (K,)."""
        return np.asarray(self.ndcg.max() - self.ndcg)

    @property
    def right(self) -> MarkVector:
        """Mask of the right rankers, which are the best and all rankers within the margin; shape (K,), uint8."""
        return (self.gaps <= self.margin + 1e-12).astype(np.uint8)

    @property
    def surprise(self) -> float:
        """NDCG of the best ranker minus NDCG of the best wrong ranker; 0 if no ranker is wrong."""
        wrong = self.gaps[self.right == 0]
        return float(wrong.min()) if len(wrong) else 0.0

    @property
    def measure(self) -> str:
        """The name of the measure."""
        return f"NDCG@{len(self.yardstick.discount)}"


def worlds_of(rankings: Rankings, clicks: tuple[str | ClickModel, ...], top: int, margin: float) -> list[World]:
    """Return one world for each click model; rankings must have a fixed order of ties."""
    if rankings.provenance.get("ties") in REDRAWING:
        raise InputError(f"advice needs rankings with a fixed order of ties, not '{rankings.provenance['ties']}'")
    models = [click_model(one, rankings.grades) for one in clicks]
    if len({model.name for model in models}) < len(models):
        raise InputError("a click model is named twice")
    if not models:
        raise InputError("name at least one click model")
    depth = min(DEPTH, top)
    by_query = measure_by_query(rankings, f"NDCG@{depth}")
    ndcg = by_query.mean(axis=1)
    discount = 1 / np.log2(np.arange(2, depth + 2))
    yardstick = Yardstick(_worth(rankings, discount), discount, by_query[ndcg.argmax()].copy())
    turned = np.zeros((len(rankings), len(rankings)))
    errors = [CLICK_MODELS.configure(one).component.errors if isinstance(one, str) else {} for one in clicks]
    pairs = zip(models, errors, strict=True)
    return [World(rankings, model, top, ndcg, yardstick, margin, turned, of) for model, of in pairs]


def noisier(world: World) -> World:
    """Return a world in which the click probability depends half as much on the grade."""
    p_click = np.array(world.users.p_click)
    blurred = tuple(float(p) for p in (p_click + p_click.mean()) / 2)
    return replace(world, users=replace(world.users, p_click=blurred))


def closer(world: World) -> World:
    """Return a world in which clicks show only half the lead of the best ranker over the second best.

    A quarter of the decided outcomes of this pair is reversed, which halves any lead.
    """
    best, second, *_ = _order(world)
    return _turned(world, best, second, 0.25)


def cyclic(world: World) -> World | None:
    """Return a world without a winner by clicks: the outcomes of the best against the third best ranker are reversed.

    The result is None if there are only two rankers.
    """
    if len(world.ndcg) < 3:
        return None
    best, _, third, *_ = _order(world)
    return _turned(world, best, third, 1.0)


def _order(world: World) -> list[int]:
    return [int(k) for k in np.argsort(-world.ndcg, kind="stable")]


def _turned(world: World, one: int, other: int, share: float) -> World:
    turned = world.turned.copy()
    turned[one, other] = turned[other, one] = share
    return replace(world, turned=turned)


def _worth(rankings: Rankings, discount: FloatVector) -> FloatVector:
    gain = 2.0 ** rankings.relevance.astype(np.float64) - 1
    worth = np.zeros(len(gain))
    for start, stop in zip(rankings.query_ptr[:-1], rankings.query_ptr[1:], strict=True):
        most = np.sort(gain[start:stop])[::-1][: len(discount)]
        ideal = float((most * discount[: len(most)]).sum())
        if ideal > 0:
            worth[start:stop] = gain[start:stop] / ideal
    return worth
