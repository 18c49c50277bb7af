"""The vocabulary of files of figures: a figure's texts, its experiments or measurements, and their data.

A file of figures is plain Python that combines these declarations. This module reads no data and runs nothing. The
parameter ``quick`` holds the settings that differ at the quick scale.
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
        """Return the settings at a scale."""
        return {**self.settings, **(self.quick if scale == "quick" else {})}


@dataclass(frozen=True, kw_only=True)
class Source:
    """Data of a problem: files or folders below the user's folder of data, of which one must exist, and settings."""

    kind: str
    paths: Sequence[str]
    key: str  # the setting that holds the path: "path" of a corpus, "file" of a matrix
    note: str = ""  # for readers of the figure
    settings: Keys


def real(*paths: str, note: str = "", **settings: Any) -> Source:
    """Declare the possible paths of the paper's own corpus."""
    return Source(kind="real data", paths=paths, key="path", note=note, settings=settings)


def excerpt(*paths: str, note: str, **settings: Any) -> Source:
    """Declare the possible paths of a part of the corpus; the note names the part."""
    return Source(kind="excerpt", paths=paths, key="path", note=note, settings=settings)


def another(*paths: str, note: str, **settings: Any) -> Source:
    """Declare the possible paths of a corpus that replaces the paper's corpus; the note names both."""
    return Source(kind="another corpus", paths=paths, key="path", note=note, settings=settings)


def published(file: str, *, comparisons: int | None = None, note: str = "") -> Source:
    """Declare the file of a published matrix, and the number of comparisons of each pair behind it, if known."""
    settings = {"comparisons": comparisons} if comparisons else {}
    return Source(kind="published matrix", paths=[file], key="file", note=note, settings=settings)


@dataclass(frozen=True)
class Problem(_Settings):
    """One or more problems of an experiment: an entry of the lists ``matrices``, ``corpora`` or ``utilities``."""

    kind: str
    sources: Sequence[Source]  # the best first; none: the paper defines the problem
    optional: bool = False  # whether the problem is omitted if none of its sources exists

    def using(self, *, quick: Keys = _NONE, **settings: Any) -> Problem:
        """Return the same problem with other settings."""
        return dataclasses.replace(self, settings={**self.settings, **settings}, quick={**self.quick, **quick})


def corpus(name: str, *sources: Source, optional: bool = False, quick: Keys = _NONE, **settings: Any) -> Problem:
    """Declare the rankers of a corpus."""
    return Problem("corpora", sources, optional, settings={"name": name, **settings}, quick=quick)


def matrix(*sources: Source, optional: bool = False, quick: Keys = _NONE, **settings: Any) -> Problem:
    """Declare preference matrices: published, explicit, or of a family."""
    return Problem("matrices", sources, optional, settings=settings, quick=quick)


def utilities(*sources: Source, quick: Keys = _NONE, **settings: Any) -> Problem:
    """Declare arms with random utilities."""
    return Problem("utilities", sources, settings=settings, quick=quick)


@dataclass(frozen=True)
class Study(_Settings):
    """An experiment: policies on problems, with the settings of ``docs/experiments.md``."""

    policies: Sequence[str]
    problems: Sequence[Problem]
    in_quick: bool = True  # whether the experiment is part of the quick scale


def study(
    policies: Sequence[str], *problems: Problem, quick: Keys = _NONE, in_quick: bool = True, **settings: Any
) -> Study:
    """Declare an experiment."""
    return Study(policies, problems, in_quick, settings=settings, quick=quick)


@dataclass(frozen=True)
class Measured(_Settings):
    """A measurement without runs of policies: a function of `ltr_duel.papers.measures`, and sources of its data."""

    measure: Callable[..., pd.DataFrame]
    sources: Sequence[Source]
    optional: bool = False


def measured(
    measure: Callable[..., pd.DataFrame], *sources: Source, optional: bool = False, quick: Keys = _NONE, **settings: Any
) -> Measured:
    """Declare a measurement; the settings are the keyword arguments of ``measure``."""
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
        """Whether the quick scale differs from the printed scale."""
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
        """The name, the duration at each scale, and the title with paper, number and data."""
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
    """Make a figure from a function, which gives its name, its text (the docstring), and its studies or measurements.

    The docstring has these paragraphs: the title; ``The paper: ...``, what the paper says about the figure; ``Setting:
    ...``, the setting as the paper prints it; and any number of ``Note: ...``, what differs from the paper, and why.

    Parameters
    ----------
    paper : str
        A key of `PAPERS`.
    number : str
        The number in the paper, for example "Figure 2 (top)".
    drawing : str
        A name in `ltr_duel.papers.DRAWINGS`, with its keyword arguments as ``options``; empty: the page shows a table.
    rows : sequence of Row
        The statements of the paper that this figure tests; see `row`.
    seconds : (float, float), optional
        Approximate durations on two cores, at the quick and at the paper's scale.
    notes : sequence of str
        Notes that several figures share, which are shown first.

    Raises
    ------
    InputError
        If the paper is unknown, a paragraph is missing, or the function returns neither only studies nor only
        measurements.
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
    """Return title, statement of the paper, setting and notes."""
    paragraphs = [" ".join(text.split()) for text in inspect.cleandoc(function.__doc__ or "").split("\n\n")]
    heads = ["", "The paper: ", "Setting: ", *["Note: "] * (len(paragraphs) - 3)]
    if len(paragraphs) < 3 or not all(map(str.startswith, paragraphs, heads)):
        wanted = "a title, 'The paper: ...', 'Setting: ...', and any number of 'Note: ...'"
        raise InputError(f"the docstring of figure '{function.__name__}' must have the paragraphs: {wanted}")
    texts = [text.removeprefix(head) for text, head in zip(paragraphs, heads, strict=True)]
    return [texts[0].removesuffix("."), f"The paper: {texts[1]}", *texts[2:]]
