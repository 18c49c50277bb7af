"""Declare a figure of a paper: its texts, its experiments or measurements, and their data.

The files in the folder `experiments` call the functions of this module. A declaration reads no data and runs nothing.
An experiment runs policies on problems. A problem has several arms, for example rankers, and for each pair a
probability that the first arm beats the second.

A figure can be made at two scales. The scale ``paper`` has the settings of the paper, and the scale ``quick`` takes
less time. The argument ``quick`` of a function has the settings that differ at the quick scale.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from ltr_duel.core import InputError, errors
from ltr_duel.experiment import duration
from ltr_duel.papers.table import Row

PAPERS = {
    "beat_the_mean": "Beat the Mean (Yue and Joachims 2011)",
    "rucb": "RUCB (Zoghi et al. 2014)",
    "multi_dueling": "Multi-Dueling Bandits (Brost et al. 2016)",
    "wolfenfeld": "Wolfenfeld (Dueling Bandits, a survey)",
}
SCALES = ("quick", "paper")
DEFINED = "as in the paper"  # the source of problems that the paper defines
Keys = Mapping[str, Any]
_NONE: Keys = {}


@dataclass(frozen=True, kw_only=True)
class _Settings:
    settings: Keys = field(default_factory=dict)
    quick: Keys = field(default_factory=dict)

    def at(self, scale: str) -> dict[str, Any]:
        return {**self.settings, **(self.quick if scale == "quick" else {})}


@dataclass(frozen=True, kw_only=True)
class Source:
    """A file or folder that may contain the data of a problem."""

    kind: str
    paths: Sequence[str]  # files or folders below the user's folder of data; one of them must exist
    key: str  # the setting that holds the path: "path" of a corpus, "file" of a matrix
    note: str = ""  # what readers of the figure must know about the data
    settings: Keys


def real(*paths: str, note: str = "", **settings: Any) -> Source:
    """Say where the paper's own corpus is stored, if the user has it."""
    return Source(kind="real data", paths=paths, key="path", note=note, settings=settings)


def excerpt(*paths: str, note: str, **settings: Any) -> Source:
    """Say where a part of the paper's corpus is stored, if the user has it. The note names the part."""
    return Source(kind="excerpt", paths=paths, key="path", note=note, settings=settings)


def another(*paths: str, note: str, **settings: Any) -> Source:
    """Say where a corpus is stored that can replace the paper's corpus. The note names both."""
    return Source(kind="another corpus", paths=paths, key="path", note=note, settings=settings)


def published(file: str, *, comparisons: int | None = None, note: str = "") -> Source:
    """Name the file of a published preference matrix, and the number of comparisons of each pair if it is known."""
    settings = {"comparisons": comparisons} if comparisons else {}
    return Source(kind="published matrix", paths=[file], key="file", note=note, settings=settings)


@dataclass(frozen=True)
class Problem(_Settings):
    """A problem of an experiment: an entry of ``corpora``, ``matrices`` or ``utilities`` in the experiment's file."""

    kind: str
    sources: Sequence[Source]  # the best source first; empty if the paper defines the problem
    optional: bool = False  # whether the problem is left out if none of its sources exists

    def using(self, *, quick: Keys = _NONE, **settings: Any) -> Problem:
        """Return the problem with other settings."""
        return dataclasses.replace(self, settings={**self.settings, **settings}, quick={**self.quick, **quick})


def corpus(name: str, *sources: Source, optional: bool = False, quick: Keys = _NONE, **settings: Any) -> Problem:
    """Declare a problem whose arms are the rankers of a corpus."""
    return Problem("corpora", sources, optional, settings={"name": name, **settings}, quick=quick)


def matrix(*sources: Source, optional: bool = False, quick: Keys = _NONE, **settings: Any) -> Problem:
    """Declare problems that are given by preference matrices."""
    return Problem("matrices", sources, optional, settings=settings, quick=quick)


def utilities(*sources: Source, quick: Keys = _NONE, **settings: Any) -> Problem:
    """Declare a problem whose arms have random utilities."""
    return Problem("utilities", sources, settings=settings, quick=quick)


@dataclass(frozen=True)
class Study(_Settings):
    """An experiment, which runs policies on problems. ``docs/experiments.md`` describes the settings."""

    policies: Sequence[str]
    problems: Sequence[Problem]
    in_quick: bool = True  # whether the experiment is part of the quick scale


def study(
    policies: Sequence[str], *problems: Problem, quick: Keys = _NONE, in_quick: bool = True, **settings: Any
) -> Study:
    """Declare an experiment, which runs policies on problems."""
    return Study(policies, problems, in_quick, settings=settings, quick=quick)


@dataclass(frozen=True)
class Measured(_Settings):
    """A measurement without policies: a function of `ltr_duel.papers.measures`, and its data."""

    measure: Callable[..., pd.DataFrame]
    sources: Sequence[Source]
    optional: bool = False


def measured(
    measure: Callable[..., pd.DataFrame], *sources: Source, optional: bool = False, quick: Keys = _NONE, **settings: Any
) -> Measured:
    """Declare a measurement. The settings become keyword arguments of the function ``measure``."""
    inspect.signature(measure).bind(
        entry={}, jobs=1, **settings, **{key: quick[key] for key in quick.keys() - settings}
    )
    return Measured(measure, sources, optional, settings=settings, quick=quick)


Parts = Sequence[Study | Measured]


@dataclass(frozen=True)
class Figure:
    """A figure or table of a paper, declared with `figure`."""

    name: str
    facts: dict[str, Any]  # paper, number, title, shows, setting, notes, drawing, options
    rows: Sequence[Row]
    studies: Sequence[Study]
    measures: Sequence[Measured]  # a figure has either studies or measures
    seconds: tuple[float, float] | None = None

    @property
    def shortened(self) -> bool:
        """Whether the quick scale differs from the paper's scale."""
        problems = [problem for part in self.studies for problem in part.problems]
        parts: list[_Settings] = [*self.studies, *self.measures, *problems]
        return any(part.quick for part in parts) or not all(part.in_quick for part in self.studies)

    @property
    def data(self) -> list[str]:
        """The files and folders that the figure uses if they exist."""
        sources = [source for part in self.studies for problem in part.problems for source in problem.sources]
        sources += [source for part in self.measures for source in part.sources]
        return list(dict.fromkeys(path for source in sources for path in source.paths))

    @property
    def line(self) -> tuple[str, str, str, str]:
        """A row of the list of figures: name, duration at the quick scale, duration at the paper's scale, and title."""
        quick, paper = map(duration, self.seconds) if self.seconds else ("-", "-")
        data = f"; data: {', '.join(self.data)}" if self.data else ""
        title = f"{PAPERS[self.facts['paper']]}, {self.facts['number']}: {self.facts['title']}{data}"
        return self.name, quick, paper, title


def figure(
    paper: str,
    number: str,
    *,
    drawing: str = "",
    rows: Sequence[Row] = (),
    seconds: tuple[float, float] | None = None,
    notes: Sequence[str] = (),
    **options: Any,
) -> Callable[[Callable[[], Parts]], Figure]:
    """Make a figure from a function that returns studies or measurements. Use it as a decorator.

    The figure gets the name of the function. The docstring of the function begins with the title of the figure. The
    paragraph ``The paper: ...`` is what the paper says about the figure. The paragraph ``Setting: ...`` is the setting
    that the paper prints. Each further paragraph ``Note: ...`` is a difference from the paper.

    Parameters
    ----------
    paper : str
        The key of the paper in `PAPERS`.
    number : str
        The number of the figure in the paper, for example "Figure 2 (top)".
    drawing : str
        The name of a drawing in `ltr_duel.papers.figures.DRAWINGS`. The drawing gets the ``options``. By default, the
        page shows a table instead.
    rows : sequence of Row
        The statements of the paper that this figure tests, each made with `row`.
    seconds : (float, float), optional
        The approximate duration on two cores, at the quick scale and at the paper's scale.
    notes : sequence of str
        Notes that several figures have in common. The page shows them before the notes of the docstring.

    Raises
    ------
    InputError
        If the paper is unknown, if a paragraph is missing in the docstring, or if the function does not return a list
        of studies or a list of measurements.
    """
    errors.require_one_of("paper", paper, PAPERS)

    def declare(function: Callable[[], Parts]) -> Figure:
        title, shows, setting, *more = _texts(function)
        facts: dict[str, Any] = {"paper": paper, "number": number, "title": title, "shows": shows, "setting": setting}
        facts |= {"notes": [*notes, *more], "drawing": drawing, "options": options}
        parts = function()
        studies = [part for part in parts if isinstance(part, Study)]
        measures = [part for part in parts if isinstance(part, Measured)]
        if not parts or len(parts) not in (len(studies), len(measures)):
            wanted = "must return a list that contains only study(...) or only measured(...)"
            raise InputError(f"figure '{function.__name__}' {wanted}")
        return Figure(function.__name__, facts, rows, studies, measures, seconds)

    return declare


def _texts(function: Callable[[], Parts]) -> list[str]:
    paragraphs = [" ".join(text.split()) for text in inspect.cleandoc(function.__doc__ or "").split("\n\n")]
    heads = ["", "The paper: ", "Setting: ", *["Note: "] * (len(paragraphs) - 3)]
    if len(paragraphs) < 3 or not all(map(str.startswith, paragraphs, heads)):
        wanted = "a title, 'The paper: ...', 'Setting: ...', and any number of 'Note: ...'"
        raise InputError(f"the docstring of figure '{function.__name__}' must have the paragraphs: {wanted}")
    texts = [text.removeprefix(head) for text, head in zip(paragraphs, heads, strict=True)]
    return [texts[0].removesuffix("."), f"The paper: {texts[1]}", *texts[2:]]
