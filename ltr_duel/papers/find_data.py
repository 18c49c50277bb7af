"""Which of several sources of the same problem is at hand: the real corpus, a published matrix, or a stand-in."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ltr_duel.core import InputError, cache_home, unknown_name
from ltr_duel.data import CORPORA, is_converted

SOURCES = ("real data", "published matrix", "stand-in", "made by a rule", "as in the paper")


class NoDataError(InputError):
    """None of the alternatives is there, and the program cannot make one."""


class Found(NamedTuple):
    """The alternative that is taken."""

    entry: dict[str, Any]  # its keys, paths made absolute; {} if there was nothing to choose
    source: str  # one of SOURCES
    note: str


def first_present(alternatives: Sequence[Mapping[str, Any]], root: Path | None) -> Found:
    """Return the first alternative that is there.

    Parameters
    ----------
    alternatives : sequence of mapping
        Each names what it is by ``source``, and where it lies by ``path`` (a feature file or folder, or the catalogue
        name of a corpus that was converted) or ``file`` (a matrix), below ``root``. One that names neither is made by
        the program, and always there.
    root : Path, optional
        The folder of the user's data.

    Raises
    ------
    NoDataError
        If none is there.
    InputError
        If a source is called by another name than those in `SOURCES`.
    """
    for given in alternatives:
        entry = {key: one for key, one in given.items() if key not in ("source", "note")}
        source, note = given.get("source", SOURCES[-1]), given.get("note", "")
        if source not in SOURCES:
            raise unknown_name("source", source, SOURCES)
        for key in ("path", "file"):
            if key in entry:
                places = [_place(name, root, key) for name in _listed(entry[key])]
                if None in places:
                    break
                entry[key] = [str(place) for place in places] if isinstance(entry[key], list) else str(places[0])
        else:
            return Found(entry, source, note)
    if not alternatives:
        return Found({}, SOURCES[-1], "")
    names = [name for one in alternatives for key in ("path", "file") for name in _listed(one.get(key, []))]
    raise NoDataError(f"none of {', '.join(names)} is in {root or 'the cache'}; name their folder by --data")


def _listed(given: Any) -> list[str]:
    return given if isinstance(given, list) else [given]


def _place(name: str, root: Path | None, key: str) -> Path | None:
    """Return where something lies, if it does."""
    if key == "path" and name in CORPORA:
        folder = cache_home() / "corpora"
        own = re.compile(re.escape(name) + r"-[0-9a-f]{20}")
        places = sorted(one for one in folder.glob(f"{name}-*") if own.fullmatch(one.name) and is_converted(one))
    else:
        places = [place for place in (root / name, root / f"{name}.gz") if place.exists()] if root else []
    return places[0].resolve() if places else None
