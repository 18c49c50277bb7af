"""Clicks drawn from a fitted model, on any lists of its items."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ltr_duel.clicks.fit.forms import Layout
from ltr_duel.clicks.fit.walk import step
from ltr_duel.core import FloatVector, IntVector, kernel, uniform


@kernel
def draw_clicks(
    code: int,
    theta: FloatVector,
    layout: Layout,
    item: IntVector,
    ptr: IntVector,
    click: NDArray[np.bool_],
    rng: Generator,
) -> None:
    """Write whether each place is clicked; session s has the places ``ptr[s]:ptr[s + 1]``, at most `Layout.places`."""
    for s in range(ptr.shape[0] - 1):
        last, on = -1, True
        for k in range(ptr[s + 1] - ptr[s]):
            attract, notice, after_click, after_skip = step(code, theta, layout, item[ptr[s] + k], k, last)
            clicked = on and uniform(rng) < attract * notice
            click[ptr[s] + k] = clicked
            if clicked:
                last = k
            on = on and uniform(rng) < (after_click if clicked else after_skip)
