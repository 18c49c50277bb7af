"""The model that simulations use (`ltr_duel.clicks.ClickModel`): a simplified DBN with an attention for each rank."""

from __future__ import annotations

from ltr_duel.clicks.fit.form import Entries, Parameters, Rank, enter, register


class Model(Parameters):
    """The parameters are the attraction and the satisfaction of each item, and the attention of each rank."""


def step(model: Model, item: int, k: int, last: int) -> tuple[float, float, float, float]:
    theta, items = model.theta, model.items
    return theta[item], theta[2 * items + k], 1.0 - theta[items + item], 1.0


def entries(model: Model, rank: Rank, out: Entries, count: int) -> int:
    count = enter(out, count, 2 * model.items + rank.k, rank.noticed, rank.reached)
    if rank.ends or not rank.clicked:
        return count
    return enter(out, count, model.items + rank.item, 1.0 - rank.went_on, 1.0)


FORM = register(__name__, "satisfaction", "attention", cite="sdbn with attention by position")
