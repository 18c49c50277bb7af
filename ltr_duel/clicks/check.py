"""Test whether a click model, for example one that you wrote, can be used in simulations."""

from __future__ import annotations

from ltr_duel.clicks.model import CLICK_MODELS, ClickFamily, ClickModel
from ltr_duel.core import InputError


def check_click_model(model: str | ClickFamily) -> None:
    """Test that a click model can be used in simulations.

    A click model has a table of probabilities for each number of relevance grades that it supports. Each table must
    have at least two grades, and for each grade a click probability and a stop probability. Better documents must not
    be clicked less often.

    Parameters
    ----------
    model : str or ClickFamily
        The name of a click model, or a click model of your own.

    Raises
    ------
    InputError
        If the model does not satisfy a condition, or if no click model has this name.

    Examples
    --------
    >>> check_click_model("navigational")
    """
    family = CLICK_MODELS.configure(model).component
    for grades, (p_click, p_stop) in family.tables.items():
        name = f"click model '{family.name}', {grades} grades"
        users = ClickModel(family.name, p_click, p_stop, p_leave=family.p_leave, p_notice=family.p_notice)
        if not 2 <= grades == users.grades:
            raise InputError(f"{name}: the table has {users.grades} grades")
        if list(p_click) != sorted(p_click):
            raise InputError(f"{name}: a better document is clicked less: {p_click}")
    if not family.tables:
        raise InputError(f"click model '{family.name}' has no table")
