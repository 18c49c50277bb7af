"""The dependent click model: users walk down the list, click by relevance, and stop only after a click.

Guo, Liu, Wang. Efficient Multiple-Click Models in Web Search. WSDM 2009; instantiated for grades by Hofmann, Whiteson,
de Rijke. A Probabilistic Method for Inferring Preferences from Clicks. CIKM 2011, and since. A user who examined a
document of grade g goes on to the next one with probability 1 - p_click[g] * p_stop[g].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ltr_duel.core.arrays import FloatVector, IntVector, SmallIntVector
from ltr_duel.core.errors import InputError, require_between
from ltr_duel.core.jit import kernel
from ltr_duel.core.registry import Registry


@dataclass(frozen=True)
class ClickModel:
    """Click and stop probabilities for each relevance grade.

    Parameters
    ----------
    name : str
    p_click : tuple of float
        Probability to click an examined document of grade 0, 1, ...
    p_stop : tuple of float
        Probability to end the session after clicking a document of that grade.
    source : str
        Where the numbers come from.

    Raises
    ------
    InputError
        If the two differ in length, or a probability is outside 0..1.
    """

    name: str
    p_click: tuple[float, ...]
    p_stop: tuple[float, ...]
    source: str = "given by the user"

    def __post_init__(self) -> None:
        if len(self.p_click) != len(self.p_stop) or not self.p_click:
            raise InputError(
                f"click model '{self.name}' needs one click and one stop probability for each grade,"
                f" not {len(self.p_click)} and {len(self.p_stop)}"
            )
        for kind, values in (("click", self.p_click), ("stop", self.p_stop)):
            for grade, value in enumerate(values):
                require_between(f"click model '{self.name}': {kind} probability of grade {grade}", value, 0, 1)

    @property
    def grades(self) -> int:
        """How many grades the model is defined for."""
        return len(self.p_click)


@dataclass(frozen=True)
class ClickFamily:
    """A click model by name, with one table for each number of grades that occurs."""

    name: str
    tables: dict[int, tuple[tuple[float, ...], tuple[float, ...]]]  # grades -> (p_click, p_stop)
    source: str


CLICK_MODELS: Registry[ClickFamily] = Registry("click model", "ltr_duel.clicks")


def click_model(name: str, grades: int) -> ClickModel:
    """Return the named click model for a corpus with that many grades.

    Raises
    ------
    InputError
        If there is no such model, or it is not defined for that many grades.
    """
    family = CLICK_MODELS[name]
    if grades not in family.tables:
        known = ", ".join(str(count) for count in sorted(family.tables))
        raise InputError(
            f"click model '{name}' is defined for {known} grades; this corpus has {grades} (0..{grades - 1}):"
            " give a ClickModel with your own table"
        )
    p_click, p_stop = family.tables[grades]
    return ClickModel(name, p_click, p_stop, family.source)


def examination(model: ClickModel, grades: list[int]) -> FloatVector:
    """Return the probability that each document of a list is examined, in closed form.

    Parameters
    ----------
    model : ClickModel
    grades : list of int
        Of the shown documents, from the top.

    Returns
    -------
    ndarray of float64, shape (len(grades),)
        The product of ``1 - p_click * p_stop`` over the documents above.
    """
    go_on = [1 - model.p_click[g] * model.p_stop[g] for g in grades]
    return np.concatenate([[1.0], np.cumprod(go_on)[:-1]])


@kernel
def simulate_clicks(
    p_click: FloatVector,
    p_stop: FloatVector,
    relevance: SmallIntVector,
    start: int,
    shown: IntVector,
    length: int,
    clicks: IntVector,
    rng: np.random.Generator,
) -> int:
    """Walk one user down a list.

    The documents are rows ``start + shown[k]`` of ``relevance``, for k < ``length``. The clicked k are written into
    ``clicks`` in order, and their number is returned.
    """
    count = 0
    for k in range(length):
        grade = relevance[start + shown[k]]
        if rng.random() < p_click[grade]:
            clicks[count] = k
            count += 1
            if rng.random() < p_stop[grade]:
                break
    return count
