"""The click models of the literature, for 2, 3 and 5 grades.

Two and three grades: Hofmann, Whiteson, de Rijke, CIKM 2011, Table 2, and Lerot's configurations. Five grades: Hofmann,
Whiteson, de Rijke, TOIS 2013, and the public multileaving code for MSLR and Yahoo.
"""

from __future__ import annotations

from ltr_duel.clicks.model import CLICK_MODELS, ClickFamily

_HOFMANN = "Hofmann, Whiteson, de Rijke (CIKM 2011, TOIS 2013)"

PERFECT = ClickFamily(
    "perfect",
    {
        2: ((0, 1), (0, 0)),
        3: ((0, 0.5, 1), (0, 0, 0)),
        5: ((0, 0.2, 0.4, 0.8, 1), (0, 0, 0, 0, 0)),
    },
    _HOFMANN,
)

NAVIGATIONAL = ClickFamily(
    "navigational",
    {
        2: ((0.05, 0.95), (0.2, 0.9)),
        3: ((0.05, 0.5, 0.95), (0.2, 0.5, 0.9)),
        5: ((0.05, 0.3, 0.5, 0.7, 0.95), (0.2, 0.3, 0.5, 0.7, 0.9)),
    },
    _HOFMANN,
)

INFORMATIONAL = ClickFamily(
    "informational",
    {
        2: ((0.4, 0.9), (0.1, 0.5)),
        3: ((0.4, 0.7, 0.9), (0.1, 0.3, 0.5)),
        5: ((0.4, 0.6, 0.7, 0.8, 0.9), (0.1, 0.2, 0.3, 0.4, 0.5)),
    },
    _HOFMANN,
)

ALMOST_RANDOM = ClickFamily(
    "almost_random",
    {
        2: ((0.4, 0.6), (0.5, 0.5)),
        3: ((0.4, 0.5, 0.6), (0.5, 0.5, 0.5)),
        5: ((0.4, 0.45, 0.5, 0.55, 0.6), (0.5, 0.5, 0.5, 0.5, 0.5)),
    },
    _HOFMANN,
)

RANDOM = ClickFamily(
    "random",
    {
        2: ((0.5, 0.5), (0, 0)),
        3: ((0.5, 0.5, 0.5), (0, 0, 0)),
        5: ((0.5, 0.5, 0.5, 0.5, 0.5), (0, 0, 0, 0, 0)),
    },
    _HOFMANN,
)

# Variants that occur in published configurations.
PERFECT_BINARY = ClickFamily("perfect_binary", {3: ((0, 1, 1), (0, 0, 0))}, "Lerot, config-sampler")
NAVIGATIONAL_SYNTHETIC = ClickFamily(
    "navigational_synthetic", {2: ((0.05, 0.8), (0, 0.8))}, "Lerot, configuration of the synthetic evaluation"
)
FIRST_CLICK = ClickFamily(
    "first_click",
    {2: ((0, 1), (1, 1)), 3: ((0, 0.5, 1), (1, 1, 1)), 5: ((0, 0.2, 0.4, 0.8, 1), (1, 1, 1, 1, 1))},
    "perfect clicks, but the session ends with the first one",
)
CASCADE = ClickFamily(
    "cascade",
    {grades: (p_click, (1,) * grades) for grades, (p_click, _) in NAVIGATIONAL.tables.items()},
    "Craswell, Zoeter, Taylor, Ramsey (WSDM 2008), with navigational click probabilities",
)

for _family in (
    PERFECT,
    NAVIGATIONAL,
    INFORMATIONAL,
    ALMOST_RANDOM,
    RANDOM,
    PERFECT_BINARY,
    NAVIGATIONAL_SYNTHETIC,
    FIRST_CLICK,
    CASCADE,
):
    CLICK_MODELS.add(_family.name, _family)
