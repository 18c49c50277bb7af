"""The vocabulary of figure files: the texts of a figure, its experiments or measurements, and their data.

A figure file is plain Python that combines these declarations (`ltr_duel.papers.figure_files`). This module reads no
files and runs no experiments. The parameter ``quick`` contains the settings that differ at the quick scale.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ltr_duel.core import InputError, errors
from ltr_duel.experiment import duration


class Paper(NamedTuple):
    """The names of a paper."""

    short: str
    reference: str

    @property
    def title(self) -> str:
        """The short name and the reference."""
        return f"{self.short} ({self.reference})" if self.reference else self.short


PAPERS = {
    "beat_the_mean": Paper("Beat the Mean", "Yue and Joachims 2011"),
    "rucb": Paper("RUCB", "Zoghi et al. 2014"),
    "multi_dueling": Paper("Multi-Dueling Bandits", "Brost et al. 2016"),
    "wolfenfeld": Paper("Wolfenfeld", "Dueling Bandits, a survey"),
    "state_of_the_art": Paper("State of the art", ""),
}


def paper_title(name: str) -> str:
    """Return the title of a paper; an unknown name is returned unchanged."""
    return PAPERS[name].title if name in PAPERS else name


SCALES = ("quick", "paper")
ORIGINAL = ("real data", "published matrix", "as in the paper")  # sources that can decide a claim about a corpus
SOURCES = ("real data", "published matrix", "excerpt", "another corpus", "surrogate", "made by a rule", ORIGINAL[-1])
Keys = Mapping[str, Any]
_NONE: Keys = {}


@dataclass(frozen=True, kw_only=True)
class _Settings:
    settings: Keys = field(default_factory=dict)
    quick: Keys = field(default_factory=dict)

    def at(self, scale: str) -> dict[str, Any]:
        """Return the settings at a scale."""
        return {**self.settings, **(self.quick if scale == "quick" else {})}


@dataclass(frozen=True)
class Source(_Settings):
    """A source for the data of a problem. Its settings are keys that the problem has only if this source is used.

    paths: possible paths of a corpus below the user's folder of data, the best first: feature files, folders, or
        catalogue names of fetched corpora. At least one of them must exist.
    """

    kind: str  # one of `SOURCES`
    paths: Sequence[str] = ()
    file: str = ""  # path of a matrix below the user's folder of data; it must also exist
    note: str = ""  # remark on the source for readers of the figure

    def __post_init__(self) -> None:
        errors.require_one_of("source", self.kind, SOURCES)


def real(*paths: str, file: str = "", note: str = "", **settings: Any) -> Source:
    """Declare the paths of a real corpus, and optionally the file of a matrix that is also required."""
    return Source("real data", paths, file, note, settings=settings)


def excerpt(*paths: str, note: str, **settings: Any) -> Source:
    """Declare the paths of a part of a corpus; the note names the part."""
    return Source("excerpt", paths, note=note, settings=settings)


def another(*paths: str, note: str, **settings: Any) -> Source:
    """Declare the paths of a real corpus that replaces the paper's corpus; the note names both corpora."""
    return Source("another corpus", paths, note=note, settings=settings)


def published(file: str = "", note: str = "") -> Source:
    """Declare the file of a published matrix or, if ``file`` is empty, a matrix that this package contains."""
    return Source("published matrix", file=file, note=note)


def surrogate(*, quick: Keys = _NONE, note: str = "", **shape: Any) -> Source:
    """Declare a synthetic corpus of the same shape as an unavailable corpus; see `ltr_duel.data.make_corpus`."""
    return Source("surrogate", note=note, settings={"synthetic": shape}, quick={"synthetic": {**shape, **quick}})


@dataclass(frozen=True)
class Problem(_Settings):
    """One or more problems of an experiment: an entry of the lists ``matrices``, ``corpora`` or ``utilities``."""

    kind: str
    sources: Sequence[Source]
    optional: bool = False  # whether the problem is omitted if none of its sources exists

    def using(self, *, quick: Keys = _NONE, **settings: Any) -> Problem:
        """Return the same problem with other settings."""
        return dataclasses.replace(self, settings={**self.settings, **settings}, quick={**self.quick, **quick})


def corpus(name: str, *sources: Source, optional: bool = False, quick: Keys = _NONE, **settings: Any) -> Problem:
    """Declare the rankers of a corpus. No matrix is estimated if the first source that exists is a published matrix."""
    return Problem("corpora", sources, optional, settings={"name": name, **settings}, quick=quick)


def matrix(*sources: Source, optional: bool = False, quick: Keys = _NONE, **settings: Any) -> Problem:
    """Declare preference matrices: published matrices, explicit matrices, or matrices of a family."""
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
    """A measurement without runs of policies: a name in `ltr_duel.papers.measures.MEASURES`, and sources of data."""

    measure: str
    sources: Sequence[Source]


def measured(measure: str, *sources: Source, quick: Keys = _NONE, **settings: Any) -> Measured:
    """Declare a measurement."""
    return Measured(measure, sources, settings=settings, quick=quick)


@dataclass(frozen=True)
class Figure:
    """A figure or table of a paper, declared with `figure`."""

    name: str
    about: dict[str, Any]  # paper, number, title, shows, setting, drawing; notes, options, seconds and store if given
    studies: Sequence[Study]
    measures: Sequence[Measured]  # measurements; a figure has either studies or measures

    @property
    def row(self) -> tuple[str, str, str, str, str]:
        """The name, the title with paper and number, the names of all possible data, and the duration at each scale."""
        sources = [source for study in self.studies for problem in study.problems for source in problem.sources]
        sources += [source for part in self.measures for source in part.sources]
        spelt: dict[str, str] = {}  # keyed by lower case, because a catalogue name and its folder may differ in case
        for source in sources:
            names = [*(path.split("/")[0] for path in source.paths), source.file.rpartition("/")[2]]
            spelt |= {name.casefold(): name for name in names if name}
        whole = f"{PAPERS[self.about['paper']].short}, {self.about['number']}: {self.about['title']}"
        seconds = self.about.get("seconds", {})
        quick, paper = (duration(seconds[scale]) if scale in seconds else "-" for scale in SCALES)
        return self.name, whole, ", ".join(spelt.values()) or "nothing", quick, paper


Parts = Sequence[Study | Measured]


def figure(
    paper: str,
    number: str,
    *,
    drawing: str,
    seconds: tuple[float, float] | None = None,
    notes: Sequence[str] = (),
    store: str = "",
    **options: Any,
) -> Callable[[Callable[[], Parts]], Figure]:
    """Make a figure from a function, which gives its name, its text (the docstring), and its studies or measurements.

    The docstring has these paragraphs: the title; a description of the figure; ``Setting: ...``, the setting as the
    paper prints it; and any number of ``Note: ...``, differences from the paper and the reasons for them.

    paper: a key of `PAPERS`.
    number: the number in the paper, for example "Figure 2 (top)".
    drawing: name of a drawing (`ltr_duel.papers.DRAWINGS`), whose keyword arguments are the ``options``.
    seconds: approximate durations on two cores, at the quick scale and at the paper's scale.
    notes: notes that several figures share, which are shown first.
    store: name of the folder of runs, if several figures share the folder.

    Raises `InputError` if the paper is unknown, if a text is missing, or if the function does not return only
    studies or only measurements.
    """
    errors.require_one_of("paper", paper, PAPERS)

    def declare(function: Callable[[], Parts]) -> Figure:
        title, shows, setting, *more = _texts(function)
        about: dict[str, Any] = {"paper": paper, "number": number, "title": title, "shows": shows, "setting": setting}
        about |= {"notes": [*notes, *more], "drawing": drawing, "options": options, "store": store}
        about["seconds"] = dict(zip(SCALES, seconds, strict=True)) if seconds else {}
        parts = function()
        studies = [one for one in parts if isinstance(one, Study)]
        measures = [one for one in parts if isinstance(one, Measured)]
        if not parts or len(parts) not in (len(studies), len(measures)):
            wanted = "must return a list that contains only study(...) or only measured(...)"
            raise InputError(f"figure '{function.__name__}' {wanted}")
        return Figure(function.__name__, {key: one for key, one in about.items() if one}, studies, measures)

    return declare


def _texts(function: Callable[[], Parts]) -> list[str]:
    """Return title, description, setting and notes."""
    paragraphs = [" ".join(text.split()) for text in inspect.cleandoc(function.__doc__ or "").split("\n\n")]
    heads = ["", "", "Setting: ", *["Note: "] * (len(paragraphs) - 3)]
    if len(paragraphs) < 3 or not all(map(str.startswith, paragraphs, heads)):
        wanted = "a title, a description of the figure, 'Setting: ...', and any number of 'Note: ...'"
        raise InputError(f"the docstring of figure '{function.__name__}' must have the paragraphs: {wanted}")
    title, *rest = (text.removeprefix(head) for text, head in zip(paragraphs, heads, strict=True))
    return [title.removesuffix("."), *rest]
