"""The dynamic Bayesian network model (DBN): users stop if a click satisfies them, and may also stop at other times.

Chapelle, Zhang. A Dynamic Bayesian Network Click Model for Web Search Ranking. WWW 2009.
"""

from __future__ import annotations

from ltr_duel.clicks.fit.form import Entries, Parameters, Rank, enter, register


class Model(Parameters):
    """The parameters are the attraction and the satisfaction of each item, and the probability of going on."""


def step(model: Model, item: int, k: int, last: int) -> tuple[float, float, float, float]:
    going_on = model.theta[2 * model.items]
    return model.theta[item], 1.0, going_on * (1.0 - model.theta[model.items + item]), going_on


def entries(model: Model, rank: Rank, out: Entries, count: int) -> int:
    if rank.ends:
        return count
    going_on = 2 * model.items
    if not rank.clicked:
        return enter(out, count, going_on, rank.reached * rank.went_on, rank.reached)
    satisfaction = model.items + rank.item
    satisfies = model.theta[satisfaction]
    after_click = model.theta[going_on] * (1.0 - satisfies)
    satisfied = (1.0 - rank.went_on) * satisfies / (1.0 - after_click)
    count = enter(out, count, satisfaction, satisfied, 1.0)
    return enter(out, count, going_on, rank.went_on, 1.0 - satisfied)


FORM = register(__name__, "satisfaction", "going on", cite="Chapelle and Zhang, WWW 2009")
