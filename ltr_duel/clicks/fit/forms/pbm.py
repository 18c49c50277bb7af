"""The position-based model (PBM): whether a document is noticed depends only on its rank.

Craswell, Zoeter, Taylor, Ramsey. An Experimental Comparison of Click Position-Bias Models. WSDM 2008.
"""

from __future__ import annotations

from ltr_duel.clicks.fit.form import Entries, Parameters, Rank, enter, register


class Model(Parameters):
    """The parameters are the attraction of each item, and the attention of each rank."""


def step(model: Model, item: int, k: int, last: int) -> tuple[float, float, float, float]:
    return model.theta[item], model.theta[model.items + k], 1.0, 1.0


def entries(model: Model, rank: Rank, out: Entries, count: int) -> int:
    return enter(out, count, model.items + rank.k, rank.noticed, rank.reached)


FORM = register(__name__, "attention", cite="Craswell et al., WSDM 2008")
