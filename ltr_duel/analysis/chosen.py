"""Colours, labels and order chosen by the caller for the policies or methods of a figure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from matplotlib.colors import is_color_like, to_hex

from ltr_duel.analysis.style import Look
from ltr_duel.core import InputError, errors


class Chosen(NamedTuple):
    """Choices by name; names without a choice keep the usual look, label and position."""

    colors: Mapping[str, str] = {}
    labels: Mapping[str, str] = {}
    order: Sequence[str] = ()
    among: Collection[str] = ()  # the names of all figures that share out the colours; by default those drawn

    def names(self, drawn: Iterable[str]) -> list[str]:
        """Return the names that are drawn, those of the chosen order first.

        Raises `InputError` for a name that is neither drawn nor in ``among``, or for an unknown colour.
        """
        for word, given in (("colors", self.colors), ("labels", self.labels)):
            if not isinstance(given, Mapping):
                raise InputError(
                    f"{word} is a dictionary by name, such as {{'rucb': 'red'}}, not {errors.shown(given)}"
                )
        names = list(dict.fromkeys(map(str, drawn)))
        for name in (*self.colors, *self.labels, *self.order):
            if name not in names and name not in self.among:
                raise errors.unknown_name("line in the figure called", name, names)
        for name, colour in self.colors.items():
            if not is_color_like(colour):
                raise InputError(
                    f"the colour of '{name}' must be one of Matplotlib's, such as '#0072B2', not '{colour}'"
                )
        first = [name for name in self.order if name in names]
        return [*first, *(name for name in names if name not in first)]

    def look(self, name: str, usual: Look) -> Look:
        """Return the look of a name."""
        return usual._replace(color=to_hex(self.colors[name])) if name in self.colors else usual


USUAL = Chosen()
