"""Compare the files of a corpus with the published ones: digests of the files, numbers of queries and documents."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files as package_files
from pathlib import Path

from ltr_duel.core import files, sha256_file, texts
from ltr_duel.data.catalogue import CORPORA
from ltr_duel.data.dataset import Dataset


def published_names(file: Path) -> list[str]:
    """Return "corpus path" of all published files with the bytes of a file, or with its text if it is compressed."""
    text = hashlib.sha256()
    with files.reading(file, "a feature file") as raw:
        source = texts.unpacked(file, raw)
        while piece := source.read(2**20):
            text.update(piece)
    return sorted({name for digest in (sha256_file(file), text.hexdigest()) for name in published().get(digest, [])})


def differing_name(file: Path, corpus: str | None) -> str:
    """Return "corpus path" of a published file that should have this path, and its digest; "" if there is none.

    A path such as ``.../MQ2008/Fold1/train.txt.gz`` matches ``Fold1/train.txt`` of the corpus named in the path.
    """
    plain = "/".join(file.resolve().parts).removesuffix(".gz").lower()
    for digest, names in published().items():
        for name, path in (published_name.split(" ", 1) for published_name in names):
            if plain.endswith("/" + path.lower()) and (name == corpus or (not corpus and name in plain)):
                return f"{name} {path} ({digest[:12]}...)"
    return ""


def wrong_counts(dataset: Dataset, corpus: str) -> list[str]:
    """Return a sentence for each number of a whole corpus that differs from the published number."""
    declared = CORPORA[corpus]
    pairs = [
        ("queries", dataset.n_queries, declared.queries), ("documents", dataset.n_docs, declared.documents)
    ]  # fmt: skip
    return [
        f"{corpus}: {count:,} {what} found, {expected:,} published"
        for what, count, expected in pairs
        if expected and count != expected
    ]


@cache
def published() -> dict[str, list[str]]:
    """Return the published files as "corpus path", keyed by the SHA-256 of their bytes."""
    names: dict[str, list[str]] = {}
    for line in package_files("ltr_duel.data").joinpath("checksums.tsv").read_text().splitlines()[1:]:
        corpus, path, digest = line.split("\t")
        names.setdefault(digest.removeprefix("sha256:"), []).append(f"{corpus} {path}")
    return names
