"""The papers whose figures and claims are tested, by the names that files use for them."""

from __future__ import annotations

from typing import NamedTuple


class Paper(NamedTuple):
    """What a paper is called."""

    short: str
    reference: str

    @property
    def title(self) -> str:
        """Name and reference."""
        return f"{self.short} ({self.reference})" if self.reference else self.short


PAPERS = {
    "beat_the_mean": Paper("Beat the Mean", "Yue and Joachims 2011"),
    "rucb": Paper("RUCB", "Zoghi et al. 2014"),
    "multi_dueling": Paper("Multi-Dueling Bandits", "Brost et al. 2016"),
    "wolfenfeld": Paper("Wolfenfeld", "Dueling Bandits, a survey"),
    "state_of_the_art": Paper("State of the art", ""),
}


def paper_title(name: str) -> str:
    """Return the title of a paper; an unknown name is returned as it is."""
    return PAPERS[name].title if name in PAPERS else name
