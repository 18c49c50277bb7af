"""From a declared figure to experiments that can be run: one scale, the data that is there, nothing left to choose."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tomli_w

from ltr_duel.experiment import read_spec
from ltr_duel.papers.declaration import SOURCES, Figure, Problem, Study
from ltr_duel.papers.find_data import NoDataError, first_present

_OF_A_MATRIX = ("name", "file", "subsets", "clicks", "source", "note")  # what a matrix takes over from a corpus


def expand(figure: Figure, scale: str, root: Path | None) -> list[dict[str, Any]]:
    """Return the experiments of a figure, as tables that the file of an experiment can hold.

    Of each problem the first source that is there is used; an optional problem without one is left out, and a study
    without problems too. A published matrix in place of a corpus becomes one of the matrices, and keeps of the corpus's
    settings what a matrix can have; of the click models only a single one, with which it was estimated.

    Raises `InputError` if what results is not a legal experiment (the sentence names figure, study and key), or data
    are missing.
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
