"""What a figure or table shows that is no run of policies: properties of matrices, estimates, distortion.

Each module registers one measure: a function of its settings that returns a tidy table. It draws no picture, judges no
claim, and only puts together what the floors below can do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from ltr_duel.core import PlainRegistry

if TYPE_CHECKING:
    import pandas as pd

    from ltr_duel.papers.find_data import Found


class Measure(Protocol):
    """The settings are those of ``[measure]`` at the scale of the run; ``found`` says which data there are."""

    def __call__(self, settings: dict[str, Any], *, found: Found, jobs: int) -> pd.DataFrame:
        """Return the table."""


MEASURES: PlainRegistry[Measure] = PlainRegistry("measure", "ltr_duel.papers.measures")
