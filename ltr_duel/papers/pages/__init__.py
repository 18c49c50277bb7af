"""The page of a reproduction: figures, claims, the ranking of policies, and the data, in one self-contained file."""

from ltr_duel.papers.pages.reproduction import Reproduced, reproduction_page
from ltr_duel.papers.pages.state_of_the_art import state_of_the_art_markdown

__all__ = ["Reproduced", "reproduction_page", "state_of_the_art_markdown"]
