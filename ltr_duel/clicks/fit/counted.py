"""Models that are fitted by counting: the clicks say which places were examined.

The users of the cascade examine all places up to their first click, so its counts are those of maximum likelihood. The
dependent click model and the simplified DBN are counted so in the literature: what stands above the last click was
examined, what stands below was not, and the last click satisfied; without a click all was examined (Guo, Liu, Wang,
WSDM 2009; Chapelle and Zhang, WWW 2009).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ltr_duel.clicks.fit.forms import CASCADE, DCM, SDBN, Layout
from ltr_duel.core import FloatVector, IntVector, kernel


def is_counted(form: int, exact: bool) -> bool:
    """Whether a model is fitted by counting, by maximum likelihood or by the published updates."""
    return form == CASCADE or (not exact and form in (DCM, SDBN))


@kernel
def add_counts(
    form: int,
    layout: Layout,
    item: IntVector,
    click: NDArray[np.bool_],
    ptr: IntVector,
    true: FloatVector,
    asked: FloatVector,
) -> None:
    """Count for all sessions how often each parameter was asked for, and how often it came true."""
    for s in range(ptr.shape[0] - 1):
        start, end = ptr[s], ptr[s + 1]
        if form != CASCADE:
            while end > start and not click[end - 1]:
                end -= 1
            if end == start:
                end = ptr[s + 1]
        for k in range(start, end):
            i = item[k]
            asked[i] += 1.0
            if not click[k]:
                continue
            true[i] += 1.0
            if form == CASCADE:
                break
            is_last = k == end - 1
            which = layout.place + k - start if form == DCM else layout.satisfaction + i
            asked[which] += 1.0
            true[which] += 1.0 if is_last == (form == SDBN) else 0.0
