"""The user browsing model (UBM): users notice a document depending on its rank and the rank of the last click above.

Dupret, Piwowarski. A User Browsing Model to Predict Search Engine Click Data from Past Observations. SIGIR 2008.
"""

from __future__ import annotations

from ltr_duel.clicks.fit.form import Entries, Parameters, Rank, enter, register
from ltr_duel.core import kernel


class Model(Parameters):
    """The parameters are the attraction of each item, and an attention for each rank and last click above it."""


@kernel
def attention(items: int, ranks: int, k: int, last: int) -> int:
    # if there is no click above, the last rank of the list stands for the rank of the click
    return items + k * ranks + (last if last >= 0 else ranks - 1)


def step(model: Model, item: int, k: int, last: int) -> tuple[float, float, float, float]:
    return model.theta[item], model.theta[attention(model.items, model.ranks, k, last)], 1.0, 1.0


def entries(model: Model, rank: Rank, out: Entries, count: int) -> int:
    return enter(out, count, attention(model.items, model.ranks, rank.k, rank.last), rank.noticed, rank.reached)


FORM = register(__name__, "attention, last click", cite="Dupret and Piwowarski, SIGIR 2008")
