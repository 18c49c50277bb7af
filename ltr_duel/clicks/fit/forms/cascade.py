"""The cascade model: users read from the top until their first click, which ends the session.

Craswell, Zoeter, Taylor, Ramsey. An Experimental Comparison of Click Position-Bias Models. WSDM 2008.
"""

from __future__ import annotations

from ltr_duel.clicks.fit.form import Entries, Parameters, Rank, register


class Model(Parameters):
    """The parameters are the attraction of each item."""


def step(model: Model, item: int, k: int, last: int) -> tuple[float, float, float, float]:
    return model.theta[item], 1.0, 0.0, 1.0


def entries(model: Model, rank: Rank, out: Entries, count: int) -> int:
    return count  # attraction is the only parameter


FORM = register(__name__, cite="Craswell et al., WSDM 2008")
