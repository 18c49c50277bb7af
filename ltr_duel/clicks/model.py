"""Simulated users: they read a list from the top, click more often on relevant documents, and may stop after a click.

This is the dependent click model. How likely users click on a document, and how likely they stop after the click,
depends on the relevance grade of the document. In some public simulators, users may also stop after a document that
they do not click (``stop_on="examine"``).

References
----------
Guo, Liu, Wang. Efficient Multiple-Click Models in Web Search. WSDM 2009. For grades: Hofmann, Whiteson, de Rijke. A
Probabilistic Method for Inferring Preferences from Clicks. CIKM 2011.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.core import FloatVector, InputError, IntVector, SmallIntVector, components, errors, kernel, uniform

STOP_RULES = ("click", "examine")
CLICK_NUMBERS = 1  # version number; it is raised if the same seed gives other clicks (`ltr_duel.core.digest`)


@dataclass(frozen=True)
class ClickModel:
    """A model of users: how likely they click on a document of each relevance grade, and how likely they then stop.

    Parameters
    ----------
    name : str
    p_click : tuple of float
        The probability of a click on an examined document, for each grade of the document from 0.
    p_stop : tuple of float
        The probability that the user stops after a document, for each grade of the document.
    stop_on : {"click", "examine"}
        Whether ``p_stop`` applies only after a click (the default), or after every examined document.
    position_bias : float
        The strength with which users overlook documents at low positions. They notice the document at position k = 1,
        2, ... with probability ``k ** -position_bias``, and click only on documents that they notice. With the default,
        0, users notice every document.
    p_leave : tuple of float
        The probability that the user stops after an examined document without a click, for each grade of the document.
        By default, it is 0. ``p_leave`` is allowed only with ``stop_on="click"``.
    p_notice : tuple of float
        A factor for each position from the top, by which the probability of noticing the document is multiplied. By
        default, it is 1. The last factor also holds for all lower positions.

    Examples
    --------
    >>> users = ClickModel("mine", p_click=(0.1, 0.8), p_stop=(0.0, 0.5))
    >>> users.examination([1, 0, 1]).tolist()  # Pr(a document is reached): 1 - 0.8 * 0.5 after a relevant one
    [1.0, 0.6, 0.6]
    """

    name: str
    p_click: tuple[float, ...]
    p_stop: tuple[float, ...]
    stop_on: Literal["click", "examine"] = "click"
    position_bias: float = 0.0
    p_leave: tuple[float, ...] = ()
    p_notice: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        name = f"click model '{self.name}'"
        if not self.p_click or len(self.p_stop) != self.grades or len(self.p_leave) not in (0, self.grades):
            lengths = f"{self.grades}, {len(self.p_stop)} and {len(self.p_leave)}"
            raise InputError(f"{name} needs one click, stop (and leave) probability for each grade, not {lengths}")
        if self.p_leave and self.stop_on == "examine":
            raise InputError(f"{name} has separate probabilities to leave, so stop_on must be 'click'")
        for kind in ("p_click", "p_stop", "p_leave", "p_notice"):
            for k, value in enumerate(getattr(self, kind)):
                errors.require_between(f"{name}: {kind}[{k}]", value, 0, 1)
        errors.require_one_of("stop rule", self.stop_on, STOP_RULES)
        errors.require_between(f"{name}: position bias", self.position_bias, 0)

    @property
    def grades(self) -> int:
        """Number of grades for which the model is defined."""
        return len(self.p_click)

    def attention(self, length: int) -> FloatVector:
        """Return the probability that each position of a list is noticed, shape (length,)."""
        notice = np.array(self.p_notice or (1.0,))
        return (
            np.arange(1.0, length + 1) ** -self.position_bias * notice[np.minimum(np.arange(length), len(notice) - 1)]
        )

    def examination(self, grades: list[int]) -> FloatVector:
        """Return the probability that users reach each document of a list, given the grades of the documents."""
        users = users_of(self, len(grades))
        p_click = users.attention * users.p_click[grades]
        go_on = 1 - p_click * users.p_stop[grades] - (1 - p_click) * users.p_leave[grades]
        return np.concatenate([[1.0], np.cumprod(go_on)[:-1]])


class FamilyParams(NamedTuple):
    """The parameters that users can set for every click model. `ClickModel` explains them."""

    stop_on: str = "click"
    position_bias: float = 0.0


_LIMITS, _CHOICES = MappingProxyType({"position_bias": (0, None)}), MappingProxyType({"stop_on": STOP_RULES})


@dataclass(frozen=True, eq=False, kw_only=True)
class ClickFamily(components.Component):
    """A click model that users choose by its name.

    It may have several tables of probabilities, for example one for corpora with 2 grades and one for 5 grades.

    Parameters
    ----------
    name, params, limits, choices, cite, where : see `ltr_duel.core.Component`
    tables : dict
        A dict from the number of grades of a corpus to a table of probabilities. A table is a pair of tuples,
        ``p_click`` and ``p_stop`` of `ClickModel`.
    p_leave, p_notice : tuple of float
        The parameters ``p_leave`` and ``p_notice`` of `ClickModel`. They are allowed only if ``tables`` has one entry.
    errors : dict of str to tuple of float
        The standard errors of ``p_click``, ``p_stop``, ``p_leave`` and ``p_notice``, if the model was fitted.

    Examples
    --------
    >>> family = ClickFamily(name="mine", tables={2: ((0.1, 0.8), (0.0, 0.5))})
    >>> click_model(family, grades=2).p_click
    (0.1, 0.8)
    """

    tables: dict[int, tuple[tuple[float, ...], tuple[float, ...]]] = field(repr=False)
    params: type[FamilyParams] = field(default=FamilyParams, repr=False)
    limits: Mapping[str, tuple[float, float | None]] = field(default_factory=lambda: _LIMITS, repr=False)
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: _CHOICES, repr=False)
    p_leave: tuple[float, ...] = field(default=(), repr=False)
    p_notice: tuple[float, ...] = field(default=(), repr=False)
    errors: Mapping[str, tuple[float, ...]] = field(default_factory=dict, repr=False)

    def facts(self) -> dict[str, str]:
        """Return a row for a table of click models, as a dictionary from column headings to texts."""
        tables = self.tables.values()
        click, stop = ("; ".join(" ".join(f"{p:g}" for p in table[side]) for table in tables) for side in (0, 1))
        grades = ", ".join(map(str, sorted(self.tables)))
        return {"grades": grades, "clicks, by grade": click, "stops, by grade": stop, **super().facts()}


CLICK_MODELS: components.Registry[ClickFamily] = components.Registry(
    "click model",
    "ltr_duel.clicks.models",
    check="ltr_duel.clicks.check:check_click_model",
    files=(".json", "ltr_duel.clicks.fit.file:read_family"),
)


def click_model(text: str | ClickFamily | ClickModel, grades: int) -> ClickModel:
    """Return a click model by its name, for a corpus with a given number of grades.

    Parameters
    ----------
    text : str, ClickFamily or ClickModel
        The name of a model, for example ``"perfect"``. A name may have parameters
        (``"navigational:position_bias=0.5"``). The path of the file of a fitted model (``"users.json"``) is also
        allowed. A `ClickModel` is returned unchanged.
    grades : int
        Number of relevance grades of the corpus, 0 included.

    Returns
    -------
    ClickModel

    Raises
    ------
    InputError
        If the model does not exist, a parameter is invalid, or the model is not defined for this number of grades.

    Examples
    --------
    >>> model = click_model("navigational:position_bias=0.5", grades=3)
    >>> model.p_click, model.position_bias
    ((0.05, 0.5, 0.95), 0.5)
    """
    if isinstance(text, ClickModel):
        return text
    label, family, params = CLICK_MODELS.configure(text)
    if grades not in family.tables:
        legal = ", ".join(map(str, sorted(family.tables)))
        fitting = ", ".join(other.name for other in CLICK_MODELS if grades in other.tables)
        others = f"(0..{grades - 1}): " + (
            f"models for {grades} grades: {fitting}" if fitting else "pass a custom table"
        )
        raise InputError(
            f"click model '{family.name}' is defined for {legal} grades; this corpus has {grades} {others}"
        )
    p_click, p_stop = family.tables[grades]
    return ClickModel(label, p_click, p_stop, p_leave=family.p_leave, p_notice=family.p_notice, **params._asdict())


class Users(NamedTuple):
    """The probabilities of a click model as arrays, for compiled functions."""

    p_click: FloatVector  # (grades,)
    p_stop: FloatVector  # (grades,) after a click
    p_leave: FloatVector  # (grades,) after an examined document that was not clicked
    attention: FloatVector  # (top,) probability that each position is noticed


def users_of(model: ClickModel, top: int) -> Users:
    """Return the probabilities of a click model as arrays, for lists of up to ``top`` documents."""
    p_stop = np.asarray(model.p_stop, np.float64)
    leave = model.p_leave or (model.p_stop if model.stop_on == "examine" else (0.0,) * model.grades)
    return Users(np.asarray(model.p_click, np.float64), p_stop, np.asarray(leave, np.float64), model.attention(top))


@kernel
def simulate_clicks(
    users: Users, relevance: SmallIntVector, start: int, shown: IntVector, length: int, clicks: IntVector,
    rng: Generator,
) -> int:  # fmt: skip
    """Simulate the clicks of one user on a list. Write their positions to ``clicks``, and return their number."""
    count = 0
    for k in range(length):
        grade = relevance[start + shown[k]]  # of the document at position k
        stop = users.p_leave[grade]
        if uniform(rng) < users.p_click[grade] * users.attention[k]:
            clicks[count] = k
            count += 1
            stop = users.p_stop[grade]
        if stop > 0.0 and uniform(rng) < stop:
            break
    return count
