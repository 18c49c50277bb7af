"""Which of several sources of the same data is available: the real corpus, a published matrix, or a surrogate."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ltr_duel.core import InputError, cache_home
from ltr_duel.data import CORPORA, ReadOptions, is_converted
from ltr_duel.papers.declaration import SOURCES, Source


class NoDataError(InputError):
    """None of the sources is there, and the program cannot make one."""


class Found(NamedTuple):
    """The source that is used."""

    entry: dict[str, Any]  # its keys, paths made absolute; {} if there was nothing to choose
    source: str  # one of SOURCES
    note: str

    @property
    def reading(self) -> dict[str, Any]:
        """The keys that say how the corpus is read, for `load_dataset`."""
        keys = {"split", "fold", *(option.name for option in dataclasses.fields(ReadOptions))}
        return {key: value for key, value in self.entry.items() if key in keys}


def first_present(sources: Sequence[Source], scale: str, root: Path | None) -> Found:
    """Return the first source that is there; one that names no path and no file always is.

    root: the folder of the user's data.

    Raises `NoDataError` if none is there.
    """
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
    raise NoDataError(f"none of {', '.join(names)} is in {root or 'the cache'}; name their folder with --data")


def _corpus(name: str, root: Path | None) -> Path | None:
    """Return where a corpus lies, if it does; one with a catalogue name is looked for among the converted ones."""
    if name not in CORPORA:
        return _below(root, name)
    own = re.compile(re.escape(name) + r"-[0-9a-f]{20}")
    folders = sorted((cache_home() / "corpora").glob(f"{name}-*"))
    return next((one.resolve() for one in folders if own.fullmatch(one.name) and is_converted(one)), None)


def _below(root: Path | None, name: str) -> Path | None:
    places = [root / name, root / f"{name}.gz"] if root else []
    return next((place.resolve() for place in places if place.exists()), None)
