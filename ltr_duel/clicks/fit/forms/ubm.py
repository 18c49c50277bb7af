"""The user browsing model (UBM): users notice a document depending on its rank and the rank of the last click above.

Dupret, Piwowarski. A User Browsing Model to Predict Search Engine Click Data from Past Observations. SIGIR 2008.
"""

from __future__ import annotations

from ltr_duel.clicks.fit.form import Entries, Parameters, Rank, enter, register
from ltr_duel.core import kernel


class Model(Parameters):
    """Attraction of each item, attention of each pair of a rank and the rank of the last click above it."""


@kernel
def attention(items: int, ranks: int, k: int, last: int) -> int:
    """Return the index of the parameter. If there is no click above, the last rank is used as the rank of the click."""
    return items + k * ranks + (last if last >= 0 else ranks - 1)


def step(model: Model, item: int, k: int, last: int) -> tuple[float, float, float, float]:
    """Users reach all ranks."""
    return model.theta[item], model.theta[attention(model.items, model.ranks, k, last)], 1.0, 1.0


def entries(model: Model, rank: Rank, out: Entries, count: int) -> int:
    """Write whether the document was noticed."""
    return enter(out, count, attention(model.items, model.ranks, rank.k, rank.last), rank.noticed, rank.reached)


FORM = register(__name__, "attention, last click", cite="Dupret and Piwowarski, SIGIR 2008")
