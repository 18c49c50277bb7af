"""From a figure file to experiments that can be run: one scale, the data that is there, nothing left to choose."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

from ltr_duel.core import InputError
from ltr_duel.experiment import CorpusSpec, Spec, located, read_table
from ltr_duel.papers.figure_file import FigureFile
from ltr_duel.papers.find_data import SOURCES, first_present

KINDS = ("matrices", "corpora", "utilities")
_CORPUS_ONLY = {field.name for field in dataclasses.fields(CorpusSpec)} - {"name", "subsets", "source", "note"}


def resolve(file: FigureFile, scale: str, root: Path | None) -> list[dict[str, Any]]:
    """Return the experiments of a figure, as tables that a spec can hold.

    Three things are done to each ``[[study]]``, in this order. ``quick`` tables replace keys beside them at the quick
    scale. ``each = { gamma = [1.0, 1.3] }`` makes a study for each value, in which ``"$gamma"`` stands for it.
    ``any_of`` is replaced by the first alternative that is there; a matrix in place of a corpus becomes one of the
    matrices, and keeps of the corpus's own keys only the one click model that it was estimated with. The alternative
    ``{ skip = true }`` leaves the problem out.

    Raises
    ------
    InputError
        If what results is not a legal experiment; the sentence names file and key.
    """
    resolved = []
    for number, given in enumerate(file.studies):
        where = f"{file.path}: study[{number}]"
        for study in _each(at_scale(given, scale), where):
            with located(where):
                made = _with_data(study, root)
            if not made.keys() & set(KINDS):
                continue  # all its problems were left out
            made = {"name": f"{file.name} ({scale})"} | made
            read_table(Spec, made, where)
            resolved.append(made)
    return resolved


def at_scale(given: Any, scale: str) -> Any:
    """Return a table without its ``quick`` tables; at the quick scale their keys replace those beside them."""
    if isinstance(given, list):
        return [at_scale(one, scale) for one in given]
    if not isinstance(given, dict):
        return given
    chosen = {key: one for key, one in given.items() if key != "quick"}
    if scale == "quick":
        chosen |= given.get("quick", {})
    return {key: at_scale(one, scale) for key, one in chosen.items()}


def _each(study: dict[str, Any], where: str) -> Iterator[dict[str, Any]]:
    axes = study.get("each", {})
    if not isinstance(axes, dict) or not all(isinstance(one, list) for one in axes.values()):
        raise InputError(f"{where}.each: must be a table of lists, {{ gamma = [1.0, 1.3] }}")
    rest = {key: one for key, one in study.items() if key != "each"}
    for values in product(*axes.values()):
        yield _filled(rest, dict(zip(axes, values, strict=True)))


def _filled(given: Any, values: Mapping[str, Any]) -> Any:
    """Put the values in: a text that is only ``$name`` becomes the value, in longer texts it is written out."""
    if isinstance(given, list):
        return [_filled(one, values) for one in given]
    if isinstance(given, dict):
        return {key: _filled(one, values) for key, one in given.items()}
    if isinstance(given, str):
        for name, one in values.items():
            if given == f"${name}":
                return one
            given = given.replace(f"${name}", str(one))
    return given


def _with_data(study: dict[str, Any], root: Path | None) -> dict[str, Any]:
    made: dict[str, Any] = {key: one for key, one in study.items() if key not in KINDS}
    for kind in KINDS:
        for number, part in enumerate(study.get(kind, ())):
            with located(f"{kind}[{number}]"):
                chosen = _chosen(part, root)
            if chosen.get("skip"):
                continue
            place = "matrices" if kind == "corpora" and not {"path", "synthetic"} & chosen.keys() else kind
            if place != kind:
                chosen = {
                    key: one for key, one in chosen.items() if key not in _CORPUS_ONLY or _is_click_model(key, one)
                }
            made.setdefault(place, []).append(chosen)
    return made


def _is_click_model(key: str, given: Any) -> bool:
    """Whether this is the click model of a matrix: it can have but one."""
    return key == "clicks" and isinstance(given, str)


def _chosen(part: dict[str, Any], root: Path | None) -> dict[str, Any]:
    if "any_of" not in part:
        return {"source": SOURCES[-1]} | part
    found = first_present(part["any_of"], root)
    rest = {key: one for key, one in part.items() if key != "any_of"}
    return rest | found.entry | {"source": found.source} | ({"note": found.note} if found.note else {})
