"""Five kinds of users, from clicks that follow the grades to random clicks.

Sources for two and three grades: Hofmann, Whiteson, de Rijke. A Probabilistic Method for Inferring Preferences from
Clicks. CIKM 2011, Table 2, and Lerot's configurations. Sources for five grades: Hofmann, Whiteson, de Rijke. Fidelity,
Soundness, and Efficiency of Interleaved Comparison Methods. TOIS 2013, and the public multileaving code for MSLR and
Yahoo.
"""

from __future__ import annotations

from ltr_duel.clicks.model import CLICK_MODELS, ClickFamily

# For each number of grades, the click and the stop probability of each grade.
_TABLES: dict[str, dict[int, tuple[tuple[float, ...], tuple[float, ...]]]] = {
    "perfect": {
        2: ((0, 1), (0, 0)),
        3: ((0, 0.5, 1), (0, 0, 0)),
        5: ((0, 0.2, 0.4, 0.8, 1), (0, 0, 0, 0, 0)),
    },
    "navigational": {
        2: ((0.05, 0.95), (0.2, 0.9)),
        3: ((0.05, 0.5, 0.95), (0.2, 0.5, 0.9)),
        5: ((0.05, 0.3, 0.5, 0.7, 0.95), (0.2, 0.3, 0.5, 0.7, 0.9)),
    },
    "informational": {
        2: ((0.4, 0.9), (0.1, 0.5)),
        3: ((0.4, 0.7, 0.9), (0.1, 0.3, 0.5)),
        5: ((0.4, 0.6, 0.7, 0.8, 0.9), (0.1, 0.2, 0.3, 0.4, 0.5)),
    },
    "almost_random": {
        2: ((0.4, 0.6), (0.5, 0.5)),
        3: ((0.4, 0.5, 0.6), (0.5, 0.5, 0.5)),
        5: ((0.4, 0.45, 0.5, 0.55, 0.6), (0.5, 0.5, 0.5, 0.5, 0.5)),
    },
    "random": {
        2: ((0.5, 0.5), (0, 0)),
        3: ((0.5, 0.5, 0.5), (0, 0, 0)),
        5: ((0.5, 0.5, 0.5, 0.5, 0.5), (0, 0, 0, 0, 0)),
    },
}
for _name, _tables in _TABLES.items():
    CLICK_MODELS.add(ClickFamily(name=_name, tables=_tables, cite="hofmann2011probabilistic,hofmann2013fidelity"))
