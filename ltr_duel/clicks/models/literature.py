"""The click models of the literature: for each number of grades, the click and the stop probability of each grade.

Users of ``cascade`` (Craswell, Zoeter, Taylor, Ramsey, WSDM 2008) and ``first_click`` stop after their first click.
The probabilities for two and three grades are from Hofmann, Whiteson and de Rijke (CIKM 2011, Table 2), and from the
configurations of Lerot. The probabilities for five grades are from Hofmann, Whiteson and de Rijke (TOIS 2013), and from
the public multileaving code for MSLR and Yahoo.
"""

from __future__ import annotations

from ltr_duel.clicks.model import CLICK_MODELS, ClickFamily

_PERFECT = {2: (0, 1), 3: (0, 0.5, 1), 5: (0, 0.2, 0.4, 0.8, 1)}
_NAVIGATIONAL = {2: (0.05, 0.95), 3: (0.05, 0.5, 0.95), 5: (0.05, 0.3, 0.5, 0.7, 0.95)}
_INFORMATIONAL = {2: (0.4, 0.9), 3: (0.4, 0.7, 0.9), 5: (0.4, 0.6, 0.7, 0.8, 0.9)}
_ALMOST_RANDOM = {2: (0.4, 0.6), 3: (0.4, 0.5, 0.6), 5: (0.4, 0.45, 0.5, 0.55, 0.6)}
_SATISFIED = {2: (0.2, 0.9), 3: (0.2, 0.5, 0.9), 5: (0.2, 0.3, 0.5, 0.7, 0.9)}
_BROWSING = {2: (0.1, 0.5), 3: (0.1, 0.3, 0.5), 5: (0.1, 0.2, 0.3, 0.4, 0.5)}


def _always(p: float) -> dict[int, tuple[float, ...]]:
    return {grades: (p,) * grades for grades in (2, 3, 5)}


_HOFMANN, _LEROT = "hofmann2011probabilistic,hofmann2013fidelity", "schuth2013lerot"
for _name, _clicks, _stops, _cite, _where in (
    ("perfect", _PERFECT, _always(0), _HOFMANN, ""),
    ("navigational", _NAVIGATIONAL, _SATISFIED, _HOFMANN, ""),
    ("informational", _INFORMATIONAL, _BROWSING, _HOFMANN, ""),
    ("almost_random", _ALMOST_RANDOM, _always(0.5), _HOFMANN, ""),
    ("random", _always(0.5), _always(0), _HOFMANN, ""),
    ("first_click", _PERFECT, _always(1), "hofmann2011probabilistic", "perfect clicks, but the session ends with the"
     " first one"),
    ("cascade", _NAVIGATIONAL, _always(1), "craswell2008cascade", "with navigational click probabilities"),
    ("perfect_binary", {3: (0, 1, 1)}, {3: (0, 0, 0)}, _LEROT, "config-sampler"),
    ("navigational_synthetic", {2: (0.05, 0.8)}, {2: (0, 0.8)}, _LEROT, "configuration of the synthetic evaluation"),
):  # fmt: skip
    _tables = {grades: (p_click, _stops[grades]) for grades, p_click in _clicks.items()}
    CLICK_MODELS.add(ClickFamily(name=_name, tables=_tables, cite=_cite, where=_where))
