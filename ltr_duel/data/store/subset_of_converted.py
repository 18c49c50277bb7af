"""Some parts of a converted corpus: a fold is put together from the five test parts, without reading text again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ltr_duel.data.dataset import Dataset
from ltr_duel.data.store.converted import open_converted, read_meta
from ltr_duel.data.store.file_digest import joined

Kind = TypeVar("Kind", bound=np.generic)


def open_parts(folder: Path, files: Sequence[Path], name: str) -> Dataset:
    """Open some of the files that a converted corpus was made of, in any order.

    Parameters
    ----------
    folder : Path
        The converted corpus.
    files : sequence of Path
        Some of its files.
    name : str
        What plots and reports call these parts.

    Returns
    -------
    Dataset
        A view of the memory map where the parts stand side by side in it, else a copy.
    """
    whole = open_converted(folder)
    parts: list[dict[str, Any]] = read_meta(folder)["parts"]
    starts = [part["first_query"] for part in parts] + [whole.n_queries]
    place = {part["file"]: number for number, part in enumerate(parts)}
    numbers = [place[str(file.resolve())] for file in files]
    queries = [(starts[n], starts[n + 1]) for n in numbers]
    rows = [(int(whole.query_ptr[a]), int(whole.query_ptr[b])) for a, b in queries]
    sizes = np.concatenate([np.diff(whole.query_ptr[a : b + 1]) for a, b in queries])
    return replace(
        whole,
        features=_columns(whole.features, _side_by_side(rows)),
        relevance=_taken(whole.relevance, rows),
        query_ptr=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        query_ids=_taken(whole.query_ids, queries),
        doc_ids=None if whole.doc_ids is None else _taken(whole.doc_ids, rows),
        comments=None if whole.comments is None else _taken(whole.comments, rows),
        name=name,
        sha256=joined([parts[n]["sha256"] for n in numbers]),
    )


def _side_by_side(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join ranges that follow one another."""
    answer: list[tuple[int, int]] = []
    for start, end in ranges:
        if answer and answer[-1][1] == start:
            answer[-1] = (answer[-1][0], end)
        else:
            answer.append((start, end))
    return answer


def _taken(values: NDArray[Kind], ranges: list[tuple[int, int]]) -> NDArray[Kind]:
    return np.concatenate([values[start:end] for start, end in ranges])


def _columns(features: NDArray[np.float32], ranges: list[tuple[int, int]]) -> NDArray[np.float32]:
    """Return these rows, column-major; copied one column after the other, as the map may be larger than memory."""
    if len(ranges) == 1:
        start, end = ranges[0]
        return features[start:end]
    rows = sum(end - start for start, end in ranges)
    matrix = np.empty((rows, features.shape[1]), dtype=np.float32, order="F")
    for column in range(features.shape[1]):
        matrix[:, column] = _taken(features[:, column], ranges)
    return matrix
