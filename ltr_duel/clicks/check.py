"""`check_click_model`: test the contract of click models."""

from __future__ import annotations

from math import sqrt

import numpy as np

from ltr_duel.clicks.model import CLICK_MODELS, ClickFamily, ClickModel, simulate_clicks, users_of
from ltr_duel.core import InputError, stream

_SESSIONS = 4000
_FAR = 6.0  # standard errors; a larger deviation is not random


def check_click_model(model: str | ClickFamily) -> None:
    """Test that a click model satisfies the contract.

    Each table has at least two grades, and one click and one stop probability for each grade. Click probabilities do
    not decrease with the grade. Simulated users click at the rates of the closed form, for each stop rule and with
    position bias.

    Parameters
    ----------
    model : str or ClickFamily
        A name, or a custom click model.

    Raises
    ------
    InputError
        If the model violates a condition (the message names the condition), or no click model has this name.

    Examples
    --------
    >>> check_click_model("navigational")
    """
    _, family, _ = CLICK_MODELS.configure(model)
    name = f"click model '{family.name}'"
    if not family.tables:
        raise InputError(f"{name} has no table")
    for grades, (p_click, p_stop) in family.tables.items():
        try:
            plain = ClickModel(family.name, tuple(p_click), tuple(p_stop))
        except InputError as error:
            raise InputError(f"{name}, {grades} grades: {error}") from error
        if grades < 2 or plain.grades != grades:
            raise InputError(f"{name}: the table for {grades} grades has {plain.grades} grades")
        if list(p_click) != sorted(p_click):
            raise InputError(f"{name}, {grades} grades: a better document is clicked less: {p_click}")
        own = ClickModel("", p_click, p_stop, p_leave=family.p_leave, p_notice=family.p_notice)
        for users in (plain, own, ClickModel("", p_click, p_stop, stop_on="examine", position_bias=0.5)):
            _check_rates(name, users)


def _check_rates(name: str, model: ClickModel) -> None:
    """Compare simulated with expected clicks at each rank of a list that contains every grade twice."""
    shown = [*range(model.grades), *reversed(range(model.grades))]
    length = len(shown)
    expected = model.examination(shown) * model.attention(length) * [model.p_click[grade] for grade in shown]
    users, rng, counts = users_of(model, length), stream(0, "check clicks"), np.zeros(length)
    relevance, order, clicks = np.array(shown, np.int16), np.arange(length), np.zeros(length, np.int64)
    for _ in range(_SESSIONS):
        n_clicks = simulate_clicks(users, relevance, 0, order, length, clicks, rng)
        counts[clicks[:n_clicks]] += 1
    z = np.abs(counts / _SESSIONS - expected) / np.sqrt(np.maximum(expected * (1 - expected), 1e-9)) * sqrt(_SESSIONS)
    if z.max() > _FAR:
        raise InputError(f"{name}: position {z.argmax() + 1} of a list is clicked too often or too rarely")
