"""How often users come, by a few kinds of them.

What a test sees of clusters depends on the sums of powers of their sizes: of the second power the error, of the third
and the fourth its degrees of freedom. Gauss's quadrature finds a few sizes and shares with the same sums (Golub,
Welsch, Mathematics of Computation 1969; by the steps of Lanczos, so that a histogram is enough).
"""

from __future__ import annotations

import numpy as np

from ltr_duel.core import FloatVector, errors

Kinds = tuple[tuple[float, float], ...]  # impressions of a user, and the share of impressions by users of that kind
_MOST = 4  # kinds, which agree in the first eight powers
_HEAVY = 0.05  # of the users are heavy


def kinds_of(size: FloatVector, number: FloatVector) -> Kinds:
    """Return kinds of clusters, the smallest first, from sizes of clusters and how many there are of each."""
    if not len(size):
        return ((1.0, 1.0),)
    direction = np.sqrt(size * number / (size @ number))
    known, diagonal, beside = [direction], [size @ direction**2], list[float]()
    while len(known) < min(_MOST, len(size)):
        rest = size * known[-1]
        for one in [*known, *known]:  # twice, against rounding
            rest = rest - (one @ rest) * one
        if not np.linalg.norm(rest) > 1e-9 * size.max():
            break
        beside.append(float(np.linalg.norm(rest)))
        known.append(rest / beside[-1])
        diagonal.append(size @ known[-1] ** 2)
    sizes, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1))
    return tuple(zip(sizes.tolist(), (vectors[0] ** 2).tolist(), strict=True))


def kinds_by_share(visits: float, heavy: float, pairs: int) -> Kinds:
    """Return kinds of users of a pair who have so many impressions in the mean, of all pairs, shown alike by chance.

    The heaviest 5 % of the users make the share ``heavy`` of the impressions.
    """
    errors.require_between("the impressions of a user", visits, 1, 1e6)
    errors.require_between("the share of impressions of the heaviest 5 % of the users", heavy, _HEAVY, 1 - 1e-6)
    heavy = min(heavy, 1 - (1 - _HEAVY) / visits)  # the others have one impression at least
    kinds = (visits * (1 - heavy) / (1 - _HEAVY), 1 - heavy), (visits * heavy / _HEAVY, heavy)
    return tuple((1 + (size - 1) / pairs, share) for size, share in kinds)
