"""Variants of click models from the public configurations of the software Lerot."""

from __future__ import annotations

from ltr_duel.clicks.model import CLICK_MODELS, ClickFamily

CLICK_MODELS.add(
    ClickFamily(
        name="perfect_binary", tables={3: ((0, 1, 1), (0, 0, 0))}, cite="schuth2013lerot", where="config-sampler"
    )
)
CLICK_MODELS.add(
    ClickFamily(
        name="navigational_synthetic",
        tables={2: ((0.05, 0.8), (0, 0.8))},
        cite="schuth2013lerot",
        where="configuration of the synthetic evaluation",
    )
)
