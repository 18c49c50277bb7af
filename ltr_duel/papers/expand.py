"""Expand a declared figure into experiments that can be run at one scale with the available data.

If there are several sources of the same data, the first available source is used. The usual order is: the real corpus,
a published matrix, a surrogate.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import tomli_w

from ltr_duel.core import InputError
from ltr_duel.data import CORPORA, ReadOptions, find_corpus
from ltr_duel.experiment import read_spec
from ltr_duel.papers.declaration import SOURCES, Figure, Problem, Source, Study

_OF_A_MATRIX = ("name", "file", "subsets", "clicks", "source", "note")  # keys of a corpus that are valid for a matrix


class NoDataError(InputError):
    """None of the sources is available, and the program can generate none of them."""


class Found(NamedTuple):
    """The source that is used."""

    entry: dict[str, Any]  # keys of the source, with absolute paths; {} if no source was declared
    source: str  # kind of source, one of `SOURCES`
    note: str

    @property
    def reading(self) -> dict[str, Any]:
        """The options of `load_dataset` for this corpus."""
        keys = {"split", "fold", *(option.name for option in dataclasses.fields(ReadOptions))}
        return {key: value for key, value in self.entry.items() if key in keys}


def first_present(sources: Sequence[Source], scale: str, root: Path | None) -> Found:
    """Return the first source whose files are below ``root`` or in the cache; raise `NoDataError` if there is none."""
    for source in sources:
        path = next(filter(None, (_corpus(name, root) for name in source.paths)), None)
        file = _below(root, source.file) if source.file else None
        if (source.paths and path is None) or (source.file and file is None):
            continue
        places = {key: str(place) for key, place in (("path", path), ("file", file)) if place}
        return Found(source.at(scale) | places, source.kind, source.note)
    if not sources:
        return Found({}, SOURCES[-1], "")
    names = [name for source in sources for name in (*source.paths, source.file) if name]
    raise NoDataError(f"none of {', '.join(names)} is in {root or 'the cache'}; name the folder with --data")


def _corpus(name: str, root: Path | None) -> Path | None:
    """Return the path of a corpus, or None; corpora of the catalogue are in the cache if they were fetched."""
    return find_corpus(f"corpus-{name}") if name in CORPORA else _below(root, name)


def _below(root: Path | None, name: str) -> Path | None:
    places = [root / name, root / f"{name}.gz"] if root else []
    return next((place.resolve() for place in places if place.exists()), None)


def expand(figure: Figure, scale: str, root: Path | None) -> list[dict[str, Any]]:
    """Return the experiments of a figure as tables in the form of experiment files.

    The first available source of each problem is used; optional problems without a source, and studies without
    problems, are omitted. A published matrix that replaces a corpus becomes an entry of ``matrices``, which keeps the
    settings of the corpus that are valid for a matrix. A single click model is kept, because the matrix was estimated
    with this model; a list of click models is dropped.
    """
    tables = []
    for number, study in enumerate(figure.studies, 1):
        if scale == "quick" and not study.in_quick:
            continue
        if problems := _problems(study, scale, root):
            named = {"name": f"{figure.name} ({scale})", "policies": list(study.policies)}
            table = named | study.at(scale) | problems
            read_spec(f"{figure.name}, study {number}", tomli_w.dumps(table))
            tables.append(table)
    return tables


def _problems(study: Study, scale: str, root: Path | None) -> dict[str, list[dict[str, Any]]]:
    """Return the entries of the study's ``matrices``, ``corpora`` and ``utilities``."""
    made: dict[str, list[dict[str, Any]]] = {}
    for problem in study.problems:
        try:
            kind, entry = _entry(problem, scale, root)
        except NoDataError:
            if not problem.optional:
                raise
        else:
            made.setdefault(kind, []).append(entry)
    return made


def _entry(problem: Problem, scale: str, root: Path | None) -> tuple[str, dict[str, Any]]:
    entry = {"source": SOURCES[-1], **problem.at(scale)}
    if not problem.sources:
        return problem.kind, entry
    found = first_present(problem.sources, scale, root)
    entry |= {**found.entry, "source": found.source} | ({"note": found.note} if found.note else {})
    if problem.kind != "corpora" or "file" not in found.entry:
        return problem.kind, entry
    several = not isinstance(entry.get("clicks", ""), str)
    return "matrices", {key: entry[key] for key in entry if key in _OF_A_MATRIX and not (several and key == "clicks")}
