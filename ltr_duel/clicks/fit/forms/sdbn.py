"""Simplified DBN: users read from the top, notice every document, and go on until a click satisfies them.

Chapelle, Zhang. A Dynamic Bayesian Network Click Model for Web Search Ranking. WWW 2009.
"""

from __future__ import annotations

from ltr_duel.clicks.fit.form import Entries, Parameters, Rank, enter, register


class Model(Parameters):
    """The parameters are the attraction and the satisfaction of each item."""


def step(model: Model, item: int, k: int, last: int) -> tuple[float, float, float, float]:
    return model.theta[item], 1.0, 1.0 - model.theta[model.items + item], 1.0


def entries(model: Model, rank: Rank, out: Entries, count: int) -> int:
    if rank.ends or not rank.clicked:
        return count
    return enter(out, count, model.items + rank.item, 1.0 - rank.went_on, 1.0)


FORM = register(__name__, "satisfaction", cite="Chapelle and Zhang, WWW 2009")
