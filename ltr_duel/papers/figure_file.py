"""A figure of a paper as its file says it: what it shows, what is run or measured for it, and how it is drawn."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ltr_duel.core import InputError, unknown_name
from ltr_duel.experiment import axis, duration, number, one_of, read_table, table, text, value
from ltr_duel.papers.bibliography import PAPERS

RUNS = "runs"
SCALES = ("quick", "paper")
_PACKAGE = Path(__file__).resolve().parent.parent


def _options(given: Any) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise InputError("must be a table")
    return given


@dataclass(frozen=True)
class Seconds:
    """How long a figure takes on two cores, about."""

    quick: float = value(number(0), default=0.0)
    paper: float = value(number(0), default=0.0)


@dataclass(frozen=True)
class FigureSpec:
    """The table ``[figure]``."""

    paper: str = value(one_of("paper", lambda: PAPERS))
    number: str = value(text)
    title: str = value(text)
    shows: str = value(text)
    setting: str = value(text)
    drawing: str = value(text)
    kind: str = value(text, default=RUNS)
    notes: tuple[str, ...] = axis(text, default=())
    options: dict[str, Any] | None = value(_options, default=None)  # noqa: RUF009 -- declares a field
    store: str = value(text, default="")
    seconds: Seconds = table(Seconds, default=Seconds())  # noqa: RUF009 -- declares a field


@dataclass(frozen=True)
class FigureFile:
    """One file of the folder of experiments."""

    name: str
    path: Path
    figure: FigureSpec
    about: dict[str, Any]  # the table [figure] as it was written
    studies: list[dict[str, Any]]  # not resolved; see `resolve`
    measures: list[dict[str, Any]]

    @property
    def needs(self) -> str:
        """The data that it uses where they are there, best first; what the program makes is left out."""
        names = [name for table in [*self.studies, *self.measures] for name in _sources(table)]
        spelt = {name.casefold(): name for name in names}  # a catalogue name and its folder may differ in case alone
        return ", ".join(spelt.values()) or "nothing"

    @property
    def row(self) -> tuple[str, str, str, str, str]:
        """Name, what it is, what it needs, how long it takes at both scales."""
        figure = self.figure
        whole = f"{PAPERS[figure.paper].short}, {figure.number}"
        times = [duration(one) if one else "-" for one in (figure.seconds.quick, figure.seconds.paper)]
        return self.name, f"{whole}: {figure.title}", self.needs, times[0], times[1]


def _sources(given: Any) -> Iterator[str]:
    """Yield what alternatives ask for: names of corpora, and of files of matrices."""
    if isinstance(given, list):
        for one in given:
            yield from _sources(one)
    elif isinstance(given, dict):
        for one in given.get("any_of", ()):
            for key in ("path", "file"):
                names = one.get(key, [])
                for name in names if isinstance(names, list) else [names]:
                    yield name.split("/")[0] if key == "path" else name.rpartition("/")[2]
        for key, one in given.items():
            if key != "any_of":
                yield from _sources(one)


def figures_folder() -> Path:
    """Return the folder of figure files: in an installed package beside the modules, else beside the package."""
    inside = _PACKAGE / "experiments"
    return inside if inside.is_dir() else _PACKAGE.parent / "experiments"


def list_figures(folder: Path) -> dict[str, FigureFile]:
    """Read all figure files of a folder, by name. Other TOML files, without a table ``[figure]``, are passed over.

    Raises
    ------
    InputError
        If a file cannot be read, or there is none.
    """
    given = {path: _load(path) for path in folder.glob("*.toml")}
    figures = [_figure(path, one) for path, one in given.items() if "figure" in one]
    if not figures:
        raise InputError(f"{folder}: no figure files (*.toml with a table [figure]) are here")
    return {file.name: file for file in sorted(figures, key=_place)}


def _place(file: FigureFile) -> tuple[int, list[str]]:
    """Paper by paper; figure 2 before figure 10."""
    return list(PAPERS).index(file.figure.paper), [part.zfill(9) for part in file.name.split("_")]


def read_figure(path: str | Path) -> FigureFile:
    """Read one figure file.

    Raises
    ------
    InputError
        If it cannot be read or holds what is not legal; the sentence names file and key.
    """
    return _figure(Path(path), _load(Path(path)))


def _load(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not TOML: {error}") from None


def _figure(path: Path, given: dict[str, Any]) -> FigureFile:
    for key in given:
        if key not in ("figure", "study", "measure"):
            raise InputError(f"{path}: {unknown_name('key', key, ('figure', 'study', 'measure'))}")
    if "figure" not in given:
        raise InputError(f"{path}: the table [figure] is missing")
    figure = read_table(FigureSpec, given["figure"], f"{path}: figure")
    studies, measures = (_tables(given.get(key, []), f"{path}: {key}") for key in ("study", "measure"))
    if (figure.kind == RUNS) != bool(studies) or (figure.kind == RUNS) == bool(measures):
        wanted = "[[study]], and no [measure]" if figure.kind == RUNS else "[measure], and no [[study]]"
        raise InputError(f"{path}: a figure of kind '{figure.kind}' has {wanted}")
    return FigureFile(path.stem, path, figure, given["figure"], studies, measures)


def _tables(given: Any, where: str) -> list[dict[str, Any]]:
    """Return what is written as [name] or [[name]]."""
    listed = given if isinstance(given, list) else [given]
    if not all(isinstance(one, dict) for one in listed):
        raise InputError(f"{where}: must be written as [[{where.rpartition(' ')[2]}]]")
    return listed
