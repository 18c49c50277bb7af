"""Protocols of a policy's module, for editors and type checkers.

At the end of ``mine.py``::

    if TYPE_CHECKING:
        import mine

        page: PolicyPage = mine
"""

from __future__ import annotations

from typing import Any, Protocol

from numpy.random import Generator

from ltr_duel.core import IntVector, SignMatrix


class _Page(Protocol):
    """The names that all policies' modules define; ``Params``, ``idle_until``, ``sweep``, ``chance`` are optional."""

    @property
    def State(self) -> type[Any]:  # noqa: N802 -- the name of a class
        """A NamedTuple class of arrays."""

    def init(self, n_arms: int, horizon: int, params: Any, /) -> Any:
        """Return the state before the first step."""

    def recommend(self, state: Any, params: Any, /) -> int:
        """Return the arm that the policy would use if it had to stop now."""


class PolicyPage(_Page, Protocol):
    """The page of a policy that compares pairs; `ltr_duel.bandits.hooks` describes the functions.

    Examples
    --------
    >>> from ltr_duel.bandits.policies import rucb
    >>> page: PolicyPage = rucb
    """

    def select(self, state: Any, params: Any, t: int, rng: Generator, /) -> tuple[int, int]:
        """Choose the two arms to compare in step t."""

    def update(self, state: Any, params: Any, t: int, first: int, second: int, outcome: int, rng: Generator, /) -> None:
        """Update the state with the outcome."""


class SlatePolicyPage(_Page, Protocol):
    """The module of a policy that compares sets of arms.

    Examples
    --------
    >>> from ltr_duel.bandits.policies import mdb
    >>> page: SlatePolicyPage = mdb
    """

    def select(self, state: Any, params: Any, t: int, slate: IntVector, rng: Generator, /) -> int:
        """Write the arms to compare into ``slate``, and return their number."""

    def update(
        self, state: Any, params: Any, t: int, slate: IntVector, size: int, won: SignMatrix, rng: Generator, /
    ) -> None:
        """Update the state with the outcomes."""
