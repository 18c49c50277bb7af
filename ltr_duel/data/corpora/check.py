"""Compare files with their published versions (checksums and counts); list the lines that violate the format."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files as package_files
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ltr_duel.core import InputError, progress
from ltr_duel.core import digest as core_digest
from ltr_duel.data.corpora.catalogue import CORPORA
from ltr_duel.data.tables import is_table
from ltr_duel.data.text.chunks import Chunk, read_chunks
from ltr_duel.data.text.dialects import dialect_named, read_sidecar, recognise_dialect
from ltr_duel.data.text.options import ReadOptions
from ltr_duel.data.text.parse import Parsed, Room, Rules, parse_chunk
from ltr_duel.data.text.parse_errors import parse_error
from ltr_duel.data.text.scan import DONE, IN_SIDECAR, Grammar
from ltr_duel.data.text.tokens import LINE_FEED

MOST_ERRORS = 20


class FileReport(NamedTuple):
    """The findings about one file."""

    file: Path
    documents: int
    queries: int
    known_as: tuple[str, ...]  # "corpus path" of all published files with this content
    errors: tuple[str, ...]  # one sentence for each of the first lines that violate the format


def check_file(file: Path, options: ReadOptions | None = None) -> FileReport:
    """Read a whole file, continue after bad lines, and compare its digest, or its text's, with the published digests.

    NULL, and values allowed by the options, are not errors.
    """
    options = options or ReadOptions()
    if is_table(file):
        raise InputError(f"{file}: this is a table; only feature text has a format and checksums to check")
    chosen = dialect_named(options.dialect) if options.dialect else recognise_dialect(file)
    decimals = options.labels != "grades" or chosen.name == "imat2009"
    grammar = Grammar(chosen.place, True, options.first_id, options.repeated == "last")
    rules = Rules(grammar, options.features or chosen.features)
    text = hashlib.sha256()
    seen = _Seen(file, dense=chosen.name in ("letor", "letor-agg", "mslr"), first_id=options.first_id)
    lines = 0
    with progress.progress_bar(unit="B", unit_scale=True, desc="check") as bar:
        for chunk in read_chunks(file, limit=options.limit_bytes):
            text.update((chunk.text if chunk.finished else chunk.text[:-1]).data)
            for parsed, before in _pieces(chunk, rules, lines):
                seen.add(parsed, before, queries=chosen.place != IN_SIDECAR, decimals=decimals)
            lines += int(np.count_nonzero(chunk.text == LINE_FEED))
            bar.update(len(chunk.text))
    queries = len(read_sidecar(file)) if chosen.place == IN_SIDECAR else len(seen.queries)
    digests = core_digest.sha256_file(file), text.hexdigest()
    places = {place for found in digests for place in published().get(f"sha256:{found}", [])}
    return FileReport(file, seen.documents, queries, tuple(sorted(places)), tuple(seen.errors))


class _Seen:
    """The findings in a file so far."""

    def __init__(self, file: Path, *, dense: bool, first_id: int) -> None:
        self.documents = 0
        self.queries: set[bytes] = set()
        self.errors: list[str] = []
        self._file = file
        self._dense = dense
        self._first_id = first_id
        self._width = 0
        self._last_query = b""

    def add(self, parsed: Parsed, lines_before: int, *, queries: bool, decimals: bool) -> None:
        """Add the findings in the next parsed piece of the file."""
        self.documents += len(parsed.labels)
        numbers = lines_before + parsed.lines.number
        if queries:
            for row, _, query in parsed.queries():
                if query != self._last_query and query in self.queries:
                    self._note(
                        numbers[row],
                        f"query '{query.decode('utf-8', 'replace')}' appears again after other queries; the lines of a"
                        " query must be adjacent",
                    )
                self.queries.add(query)
                self._last_query = query
        if not decimals:
            for row in np.flatnonzero(parsed.labels != np.floor(parsed.labels))[:MOST_ERRORS].tolist():
                self._note(numbers[row], f"label {parsed.labels[row]:g} is not a whole number")
        if self._dense and len(numbers):
            last = parsed.lines.width
            self._width = self._width or int(last[0])
            for row in np.flatnonzero(last != self._width)[:MOST_ERRORS].tolist():
                self._note(numbers[row], f"the last feature is {last[row]}, but it is {self._width} on the first line")
        if parsed.state.code != DONE and len(self.errors) < MOST_ERRORS:
            self.errors.append(str(parse_error(self._file, parsed.text, lines_before, parsed.state, self._first_id)))

    def _note(self, line: int, what: str) -> None:
        if len(self.errors) < MOST_ERRORS:
            self.errors.append(f"{self._file}:{line}: {what}")


def expected_digests(file: Path, corpus: str | None = None) -> dict[str, str]:
    """Return the published digests for a file with this path, in one corpus or in all corpora.

    A path such as ``.../MQ2008/Fold1/train.txt.gz`` matches ``Fold1/train.txt`` of the corpus named in the path.
    """
    plain = "/".join(file.resolve().parts).removesuffix(".gz").lower()
    found = {}
    for digest, places in published().items():
        for place in places:
            name, path = place.split(" ", 1)
            if plain.endswith("/" + path.lower()) and (name == corpus or (not corpus and name in plain)):
                found[digest] = place
    return found


def count_problems(reports: Sequence[FileReport], corpus: str | None = None) -> list[str]:
    """Compare the numbers of queries and documents in all files of a corpus with its published numbers.

    If ``corpus`` is None, the numbers are compared only if all files are published files of the same corpus, and there
    are three reports (the parts of a fold) or five (the test parts of the folds). Returns a sentence for each number
    that differs.
    """
    names = {place.split(" ")[0] for report in reports for place in report.known_as}
    whole = len(reports) in (3, 5) and all(report.known_as for report in reports) and len(names) == 1
    if corpus is None and not whole:
        return []
    known = CORPORA[names.pop() if corpus is None else corpus]
    sums = {
        "queries": (sum(report.queries for report in reports), known.queries),
        "documents": (sum(report.documents for report in reports), known.documents),
    }
    return [
        f"{known.name}: {found:,} {what} found, {expected:,} published"
        for what, (found, expected) in sums.items()
        if expected and found != expected
    ]


@cache
def published() -> dict[str, list[str]]:
    """Return the published files as "corpus path", keyed by digest."""
    answer: dict[str, list[str]] = {}
    text = package_files("ltr_duel.data.corpora").joinpath("checksums.tsv").read_text()
    for line in text.splitlines()[1:]:
        corpus, path, digest = line.split("\t")
        answer.setdefault(digest, []).append(f"{corpus} {path}")
    return answer


def _pieces(chunk: Chunk, rules: Rules, lines_before: int) -> Iterator[tuple[Parsed, int]]:
    """Parse a chunk, restarting after each bad line; yield each parsed part and the number of lines before the part."""
    text = chunk.text
    while len(text):
        parsed = parse_chunk(Chunk(text, chunk.finished), Room(), rules)
        yield parsed, lines_before
        if parsed.state.code == DONE:
            return
        at = int(parsed.state.at)
        end = at + int(np.argmax(text[at:] == LINE_FEED)) + 1
        lines_before += int(np.count_nonzero(text[:end] == LINE_FEED))
        text = text[end:]
