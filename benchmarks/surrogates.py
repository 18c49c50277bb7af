"""Surrogates of large corpora: the same numbers of queries, documents and features, and similar text.

Each feature has a pool of numbers in the format of the corpus: counts, ratios, lengths, decimals with six digits. If a
document has no match in a stream of text (body, anchor, title, URL), all features of the stream are 0. A third of the
features tend to be larger in documents of higher grades.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ltr_duel.core import kernel, replacing

POOL = 2048  # size of the pool of a feature
_GRADES = (0.552, 0.302, 0.130, 0.012, 0.004)  # shares of the documents
_CHUNK = 2**24  # bytes of text written at a time
_STREAMS = (
    0.11,
    0.85,
    0.29,
    0.63,
    0.08,
)  # streams of MSLR (body, anchor, title, URL, all): shares of documents with zeros
_MSLR = (
    "terms ratio length idf count few count mean mean" + 5 * " share" + 5 * " weight" + " one ratio weight" + 3 * " log"
).split()  # features of each stream, followed by eleven features of the page


class Shape(NamedTuple):
    """A corpus."""

    queries: int
    documents: int
    features: int
    most: int  # approximate number of documents per query
    sparse: bool = False  # zeros are left out

    def part(self, share: float) -> Shape:
        """Return a smaller corpus of the same kind."""
        return self._replace(queries=int(self.queries * share), documents=int(self.documents * share))


SHAPES = {
    "msl30k": Shape(31_531, 3_771_125, 136, 1251),
    "yahoo1": Shape(19_944, 473_134, 519, 139, sparse=True),
    "istella": Shape(33_018, 10_454_629, 220, 439),
}


def write_surrogate(name: str, path: Path, share: float = 1.0) -> Path:
    """Write the surrogate of a corpus, or a part of it, as one feature file."""
    shape, rng = SHAPES[name].part(share), np.random.default_rng(0)
    columns = [column(name, number) for number in range(shape.features)]
    texts = [pool(kind, number + 1, rng) for number, (kind, *_) in enumerate(columns)]
    width = max(len(text) for some in texts for text in some)
    letters = np.array([[list(text.ljust(width)) for text in some] for some in texts], np.uint8)
    lengths = np.array([[len(text) for text in some] for some in texts], np.int64)
    streams = np.array([stream for _, stream, _ in columns])
    constant = np.array([kind == "idf" for kind, *_ in columns])
    zeros = np.array([share for *_, share in columns])
    out, matched = np.empty(_CHUNK, np.uint8), np.empty(streams.max() + 1)
    longest = shape.features * width + 64
    with replacing(path) as temporary, temporary.open("wb") as file:
        for query, size in enumerate(sizes(shape, rng)):
            grades = rng.choice(len(_GRADES), size, p=_GRADES)
            head = np.frombuffer(f" qid:{query + 1}".encode(), np.uint8)
            fixed = rng.integers(POOL, size=shape.features) * constant
            for start in range(0, size, _CHUNK // longest):
                some = grades[start : start + _CHUNK // longest]
                end = write_lines(out, some, head, letters, lengths, fixed, streams, matched, zeros, shape.sparse, rng)
                file.write(out[:end].data)
    return path


def column(name: str, number: int) -> tuple[str, int, float]:
    """Return the kind of numbers, the stream, and the share of zeros of a column (from 0)."""
    if name == "yahoo1":
        return "unit", number, 0.57
    if name == "istella":
        number = number % 136
    if number >= 125:
        return ("facts", 5 + number, (0, 0, 0.36, 0.54, 0, 0, 0, 0, 0.96, 0.73, 0.73)[number - 125])
    kind = _MSLR[number // 5]
    zeros = 0.0 if kind in ("idf", "log") else _STREAMS[number % 5]
    return kind, number % 5, max(zeros, 0.75) if name == "istella" else zeros


def pool(kind: str, feature: int, rng: np.random.Generator) -> list[bytes]:
    """Return numbers of a feature as text, the smallest first; the first one is 0."""
    spread = rng.lognormal(sigma=1.0, size=POOL)
    draw = {
        "terms": lambda: rng.integers(1, 7, POOL),
        "one": lambda: np.ones(POOL, int),
        "few": lambda: (2 * spread).astype(int),
        "count": lambda: (8 * spread).astype(int) + 1,
        "length": lambda: (400 * spread).astype(int) + 1,
        "facts": lambda: (10.0 ** rng.integers(1, 5) * spread).astype(int),
        "ratio": lambda: rng.integers(1, 7, POOL) / rng.integers(6, 9, POOL),
        "mean": lambda: (8 * spread).astype(int) / rng.integers(1, 5, POOL),
        "share": lambda: spread / 40,
        "weight": lambda: 20 * spread,
        "idf": lambda: 10 + 3 * rng.standard_normal(POOL),
        "log": lambda: -12 + 3 * rng.standard_normal(POOL),
        "unit": lambda: rng.random(POOL),
    }[kind]()
    numbers = [0, *sorted(draw.round(5 if kind == "unit" else 6).tolist())[1:]]
    return [f" {feature}:{number}".encode() for number in numbers]


def sizes(shape: Shape, rng: np.random.Generator) -> Iterator[int]:
    """Yield the number of documents of each query: a skewed distribution with the total of the corpus."""
    weights = np.minimum(rng.lognormal(sigma=0.6, size=shape.queries), shape.most * shape.queries / shape.documents)
    ends = np.cumsum(weights / weights.sum() * (shape.documents - shape.queries)).round().astype(int)
    ends[-1] = shape.documents - shape.queries
    yield from (np.diff(ends, prepend=0) + 1).tolist()


@kernel
def write_lines(out, grades, head, letters, lengths, fixed, streams, matched, zeros, sparse, rng):
    """Write a line for each document of a query, and return where the text ends."""
    end = 0
    for grade in grades:
        out[end] = 48 + grade
        end += 1
        for i in range(head.shape[0]):
            out[end + i] = head[i]
        end += head.shape[0]
        for stream in range(matched.shape[0]):
            matched[stream] = rng.random()
        for feature in range(letters.shape[0]):
            place = fixed[feature]
            if place == 0 and matched[streams[feature]] >= zeros[feature]:
                place = 1 + int(rng.random() * (letters.shape[1] - 1))
                if feature % 3 == 0:
                    for _ in range(grade):
                        place = max(place, 1 + int(rng.random() * (letters.shape[1] - 1)))
            if place == 0 and sparse:
                continue
            for i in range(lengths[feature, place]):
                out[end + i] = letters[feature, place, i]
            end += lengths[feature, place]
        out[end] = 10
        end += 1
    return end
