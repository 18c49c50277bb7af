"""The words in which a figure is declared: what it shows, what is run or measured for it, and on which data.

A figure file is plain Python that puts these together (`ltr_duel.papers.figure_files`). Nothing is read or run here.
``quick`` always means the same: the keys that are different at the quick scale.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ltr_duel.core import InputError, unknown_name
from ltr_duel.experiment import duration
from ltr_duel.papers.bibliography import PAPERS

SCALES = ("quick", "paper")
SOURCES = ("real data", "published matrix", "surrogate", "made by a rule", "as in the paper")


@dataclass(frozen=True)
class Source:
    """One way to get the data of a problem.

    Parameters
    ----------
    kind : str
        One of `SOURCES`.
    paths : sequence of str
        Where a corpus may lie below the user's folder of data, best first: a feature file or folder, or the catalogue
        name of a corpus that was converted. One of them must be there.
    file : str
        Where a matrix lies below that folder; it must be there too.
    settings, quick : mapping
        Keys of a problem that hold for this source alone.
    note : str
        What is special about it, for the reader of the figure.
    """

    kind: str
    paths: Sequence[str] = ()
    file: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    quick: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""

    def __post_init__(self) -> None:
        if self.kind not in SOURCES:
            raise unknown_name("source", self.kind, SOURCES)


def real(*paths: str, file: str = "", note: str = "", **settings: Any) -> Source:
    """Name the places of a real corpus; with a file, that of a matrix which is needed beside it."""
    return Source("real data", paths, file, settings, note=note)


def published(file: str = "", note: str = "") -> Source:
    """Name the file of a published matrix; without a file, one that is part of this package."""
    return Source("published matrix", file=file, note=note)


def surrogate(*, quick: Mapping[str, Any] | None = None, note: str = "", **shape: Any) -> Source:
    """Describe a synthetic corpus of the same shape as one that is not at hand; see `ltr_duel.data.make_corpus`."""
    return Source("surrogate", settings={"synthetic": shape}, quick={"synthetic": shape | dict(quick or {})}, note=note)


@dataclass(frozen=True)
class Problem:
    """One or more problems of an experiment: an entry of its ``matrices``, ``corpora`` or ``utilities``."""

    kind: str
    sources: Sequence[Source]
    settings: Mapping[str, Any]
    quick: Mapping[str, Any]
    optional: bool = False  # left out where none of its sources is there

    def using(self, *, quick: Mapping[str, Any] | None = None, **settings: Any) -> Problem:
        """Return the same problem with other settings."""
        return dataclasses.replace(self, settings={**self.settings, **settings}, quick={**self.quick, **(quick or {})})


def corpus(name: str, *sources: Source, quick: Mapping[str, Any] | None = None, **settings: Any) -> Problem:
    """Declare the rankers of a corpus. A published matrix among the sources takes the place of an estimate."""
    return Problem("corpora", sources, {"name": name, **settings}, quick or {})


def matrix(
    *sources: Source, optional: bool = False, quick: Mapping[str, Any] | None = None, **settings: Any
) -> Problem:
    """Declare preference matrices: published ones, or written out, or of a family."""
    return Problem("matrices", sources, settings, quick or {}, optional)


def utilities(*sources: Source, quick: Mapping[str, Any] | None = None, **settings: Any) -> Problem:
    """Declare arms with random utilities."""
    return Problem("utilities", sources, settings, quick or {})


@dataclass(frozen=True)
class Study:
    """An experiment: policies on problems, with the settings of ``docs/experiments.md``."""

    policies: Sequence[str]
    problems: Sequence[Problem]
    settings: Mapping[str, Any]
    quick: Mapping[str, Any]
    in_quick: bool = True  # whether the quick scale has it at all


def study(
    policies: Sequence[str],
    *problems: Problem,
    quick: Mapping[str, Any] | None = None,
    in_quick: bool = True,
    **settings: Any,
) -> Study:
    """Declare an experiment."""
    return Study(policies, problems, settings, quick or {}, in_quick)


@dataclass(frozen=True)
class Measured:
    """What is no run of policies: the name of one of `ltr_duel.papers.measures`, its data and its settings."""

    measure: str
    sources: Sequence[Source]
    settings: Mapping[str, Any]
    quick: Mapping[str, Any]


def measured(measure: str, *sources: Source, quick: Mapping[str, Any] | None = None, **settings: Any) -> Measured:
    """Declare a measurement."""
    return Measured(measure, sources, settings, quick or {})


@dataclass(frozen=True)
class Figure:
    """A figure or table of a paper, as `figure` declares it."""

    name: str
    paper: str
    number: str
    title: str
    shows: str
    setting: str
    notes: Sequence[str]
    drawing: str
    options: Mapping[str, Any]
    seconds: tuple[float, float]
    store: str
    studies: Sequence[Study]
    measures: Sequence[Measured]  # in place of studies

    def __post_init__(self) -> None:
        if self.paper not in PAPERS:
            raise unknown_name("paper", self.paper, PAPERS)

    @property
    def about(self) -> dict[str, Any]:
        """All that is said of the figure, for its page and its drawing."""
        said = {key: getattr(self, key) for key in ("paper", "number", "title", "shows", "setting", "drawing", "store")}
        said |= {"notes": list(self.notes), "options": dict(self.options)}
        said |= {"seconds": dict(zip(SCALES, self.seconds, strict=True))}
        return {key: one for key, one in said.items() if one}

    @property
    def needs(self) -> str:
        """The data that it uses where they are there, best first."""
        sources = [source for study in self.studies for problem in study.problems for source in problem.sources]
        sources += [source for part in self.measures for source in part.sources]
        names = [name for source in sources for name in _shown(source)]
        spelt = {name.casefold(): name for name in names}  # a catalogue name and its folder may differ in case alone
        return ", ".join(spelt.values()) or "nothing"

    @property
    def row(self) -> tuple[str, str, str, str, str]:
        """Name, what it is, what it needs, how long it takes at both scales."""
        whole = f"{PAPERS[self.paper].short}, {self.number}: {self.title}"
        quick, paper = (duration(one) if one else "-" for one in self.seconds)
        return self.name, whole, self.needs, quick, paper


def _shown(source: Source) -> Iterable[str]:
    yield from (path.split("/")[0] for path in source.paths)
    if source.file:
        yield source.file.rpartition("/")[2]


def figure(
    paper: str,
    number: str,
    *,
    drawing: str,
    seconds: tuple[float, float] = (0, 0),
    notes: Sequence[str] = (),
    store: str = "",
    **options: Any,
) -> Callable[[Callable[[], Sequence[Study | Measured]]], Figure]:
    """Turn a function into a figure: its name is the figure's, its result the parts, its docstring the texts.

    The docstring has paragraphs: the title; what there is to see; ``Setting: ...``, what was done, as printed; and any
    number of ``Note: ...``, what differs and why.

    Parameters
    ----------
    paper : str
        A key of `PAPERS`.
    number : str
        For example "Figure 2 (top)".
    drawing : str
        Name of a drawing (`ltr_duel.papers.DRAWINGS`).
    seconds : tuple of float
        How long it takes on two cores, about: at the quick scale, and at that of the paper.
    notes : sequence of str
        Notes that several figures share; they come first.
    store : str
        Name of the folder of runs, where figures share one.
    **options
        Of the drawing.

    Raises
    ------
    InputError
        If there is no such paper, a text is missing, or the parts are none or of both kinds.
    """

    def declare(parts: Callable[[], Sequence[Study | Measured]]) -> Figure:
        name, made = parts.__name__, parts()
        title, shows, setting, *more = _texts(parts.__doc__ or "", name)
        studies = [one for one in made if isinstance(one, Study)]
        measures = [one for one in made if isinstance(one, Measured)]
        if not made or len(made) not in (len(studies), len(measures)):
            raise InputError(f"figure '{name}' must return a list, all of it study(...) or all of it measured(...)")
        every = (*notes, *more)
        return Figure(
            name, paper, number, title, shows, setting, every, drawing, options, seconds, store, studies, measures
        )

    return declare


def _texts(docstring: str, name: str) -> list[str]:
    """Return title, what is shown, setting and notes."""
    paragraphs = [" ".join(text.split()) for text in inspect.cleandoc(docstring).split("\n\n")]
    heads = ["", "", "Setting: ", *["Note: "] * (len(paragraphs) - 3)]
    if len(paragraphs) < 3 or not all(map(str.startswith, paragraphs, heads)):
        wanted = "a title, what there is to see, 'Setting: ...', and any number of 'Note: ...'"
        raise InputError(f"the docstring of figure '{name}' must have as paragraphs {wanted}")
    title, *rest = (text.removeprefix(head) for text, head in zip(paragraphs, heads, strict=True))
    return [title.removesuffix("."), *rest]
