"""Rankers from TREC run files: the documents that a retrieval system returned, one line for each document.

    qid Q0 docid rank score tag

Documents are matched by query id and document id. As in trec_eval, only the score determines the order (highest first);
the rank is ignored. The lines of a query must be adjacent, because otherwise the file probably contains two runs, or
two retrievals for one query. Retrieved documents that are not in the corpus are counted, reported and left out.
Documents that a run does not retrieve are ranked after all retrieved documents, in the order of the tie rule.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ltr_duel.core import FloatVector, InputError, arguments, files, texts
from ltr_duel.core import digest as core_digest
from ltr_duel.data import Dataset
from ltr_duel.rankers.rankings import Rankings
from ltr_duel.rankers.scores import rankings_from_scores
from ltr_duel.rankers.ties import TieRule

_SHAPE = "'<query> Q0 <document> <rank> <score> <tag>'"

Line = tuple[str, str, str, float]  # file and line number for messages, query, document, score
Places = dict[str, dict[str, int]]  # query id -> document id -> row


@dataclass(frozen=True, eq=False)
class RunFile:
    """One run file, matched to a corpus.

    Parameters
    ----------
    path : Path
    sha256 : str
        Digest of the bytes of the file on disk.
    scores : ndarray of float64, shape (n_docs,)
        NaN for documents that the run does not retrieve.
    lines : int
    retrieved : int
        Number of documents of the corpus that the run retrieves.
    queries : int
        Number of queries of the corpus for which the run retrieves a document.
    unknown_queries : int
        Number of queries of the run that are not in the corpus.
    unknown_documents : int
        Number of lines whose query is in the corpus but whose document is not one of the query's documents.
    corpus_queries : int
        Number of queries of the corpus.

    Examples
    --------
    >>> run = RunFile(Path("bm25.run"), "ab12", np.array([2.5, np.nan]), 3, 1, 1, 0, 2, 1)
    >>> print(run.report)
    bm25.run: 3 lines retrieve 1 of 2 documents, for 1 of 1 queries. 0 queries of the run are not in the corpus; for
    the other queries, 2 documents are not in the corpus
    """

    path: Path
    sha256: str
    scores: FloatVector = field(repr=False)
    lines: int
    retrieved: int
    queries: int
    unknown_queries: int
    unknown_documents: int
    corpus_queries: int = 0

    @property
    def name(self) -> str:
        """Name of the run's ranker: the file name without its suffix; a final ``.gz`` is removed first."""
        return Path(self.path.name.removesuffix(".gz")).stem

    @property
    def about(self) -> dict[str, Any]:
        """Facts for the provenance, as JSON."""
        return {
            "sha256": self.sha256,
            "retrieved": self.retrieved,
            "unknown_queries": self.unknown_queries,
            "unknown_documents": self.unknown_documents,
        }

    @property
    def report(self) -> str:
        """Numbers of matched and unmatched documents, and whether all scores are equal, in one line."""
        equal = self.retrieved > 1 and bool(np.nanmin(self.scores) == np.nanmax(self.scores))
        return (
            f"{self.path}: {self.lines:,} lines retrieve {self.retrieved:,} of {len(self.scores):,} documents, for"
            f" {self.queries:,} of {self.corpus_queries:,} queries. {self.unknown_queries:,} queries of the run are not"
            f" in the corpus; for the other queries, {self.unknown_documents:,} documents are not in the corpus"
            + "; all scores are equal, so the tie rule orders the documents"
            * equal
        )


def read_runs(paths: Sequence[str | Path], dataset: Dataset) -> list[RunFile]:
    r"""Read run files, plain or compressed.

    Parameters
    ----------
    paths : sequence of path
    dataset : Dataset
        The corpus, with document ids.

    Returns
    -------
    list of RunFile

    Raises
    ------
    InputError
        If the corpus has no document ids, a file is missing or damaged, a line does not have six words or a finite
        score, a document is retrieved twice for a query, or the lines of a query are not adjacent; the message
        names the file and the line.

    Examples
    --------
    >>> import tempfile
    >>> from ltr_duel.data import make_corpus
    >>> dataset = make_corpus(queries=4, documents=6, features=10)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "bm25.run"
    ...     _ = path.write_text("1 Q0 q1-d3 1 9.5 bm25\n1 Q0 q1-d1 2 7.25 bm25\n")
    ...     (run,) = read_runs([path], dataset)
    >>> run.retrieved, run.scores[:3].tolist()
    (2, [7.25, nan, 9.5])
    """
    arguments.require_type("the corpus", dataset, Dataset)
    arguments.require_type("paths of runs", paths, list, tuple)
    places = document_rows(dataset)
    given = (arguments.as_path("a run", path) for path in paths)
    runs = (matched(path, "", lines_of(path), places, dataset.n_docs) for path in given)
    return [replace(run, sha256=core_digest.sha256_file(run.path)) for run in runs]


def run_rankers(
    dataset: Dataset,
    runs: Sequence[RunFile] | Mapping[str, RunFile],
    *,
    ties: TieRule = "fixed_random",
    seed: int = 0,
    jobs: int = -1,
) -> Rankings:
    """Build one ranker for each run.

    Parameters
    ----------
    dataset : Dataset
    runs : sequence of RunFile, or mapping of str to RunFile
        Results of `read_runs` on the same corpus. The keys of a mapping are the names of the rankers; in a sequence,
        `RunFile.name` is the name.
    ties, seed, jobs
        As for `feature_rankers`.

    Returns
    -------
    Rankings
        The provenance contains the number of unknown queries and documents of each run.

    Raises
    ------
    InputError
        If a run was read for a different corpus, two runs have the same name, or there is no run.

    Examples
    --------
    >>> from ltr_duel.data import make_corpus
    >>> dataset = make_corpus(queries=4, documents=6, features=10)
    >>> run = RunFile(Path("bm25.run.gz"), "ab12", np.full(dataset.n_docs, np.nan), 0, 0, 0, 0, 0)
    >>> run_rankers(dataset, [run]).names
    ('bm25',)
    """
    arguments.require_type("the corpus", dataset, Dataset)
    arguments.require_type("runs", runs, Mapping, Sequence)
    named = list(runs.items() if isinstance(runs, Mapping) else ((getattr(run, "name", ""), run) for run in runs))
    for _, run in named:
        arguments.require_type("each run", run, RunFile)
    for name, run in named:
        if len(run.scores) != dataset.n_docs:
            raise InputError(
                f"run '{name}' was read for a corpus of {len(run.scores):,}, not {dataset.n_docs:,} documents"
            )
    rankings = rankings_from_scores(
        dataset, tuple(name for name, _ in named), lambda k: named[k][1].scores, ties=ties, seed=seed, jobs=jobs
    )
    about = {name: run.about for name, run in named}
    return replace(rankings, provenance={**rankings.provenance, "runs": about})


def matched(path: Path, digest: str, lines: Iterable[Line], places: Places, documents: int) -> RunFile:
    """Match the lines of a run to a corpus; ``path`` and ``digest`` describe the source of the lines."""
    scores = np.full(documents, np.nan)
    strange: set[str] = set()
    found: set[str] = set()
    count = unknown = 0
    for where, query, document, score in lines:
        count += 1
        if not math.isfinite(score):
            raise InputError(f"{where}: the score must be a finite number, such as 0.25 or 1e-6, not '{score}'")
        if query not in places:
            strange.add(query)
            continue
        row = places[query].get(document, -1)
        if row < 0:
            unknown += 1
        elif not np.isnan(scores[row]):
            raise InputError(f"{where}: document {document} is retrieved a second time for query {query}")
        else:
            scores[row] = score
            found.add(query)
    retrieved = int((~np.isnan(scores)).sum())
    return RunFile(path, digest, scores, count, retrieved, len(found), len(strange), unknown, len(places))


def lines_of(path: Path) -> Iterator[Line]:
    """Yield the lines of a run file."""
    blocks: dict[str, list[int]] = {}  # the first and last line of each query
    current = ""
    for number, words in words_of(path):
        where = f"{path}:{number}"
        if len(words) != 6:
            raise InputError(f"{where}: a line of a run has 6 words, {_SHAPE}, not {len(words)}")
        query, _, document, _, text, _ = words
        if query != current and query in blocks:
            first, last = blocks[query]
            before = f"in line {first}" if first == last else f"in lines {first} to {last}"
            raise InputError(
                f"{where}: query {query} was listed before, {before}; the lines of a query must be adjacent"
                f" (as after sort -s -k1,1 {path.name})"
            )
        blocks.setdefault(query, [number, number])[1] = number
        current = query
        score = math.nan
        with suppress(ValueError):
            score = float(text)
        if not math.isfinite(score):
            raise InputError(f"{where}: the score must be a finite number, such as 0.25 or 1e-6, not '{text}'")
        yield where, query, document, score


def words_of(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the words of each nonempty line of a text file."""
    with files.reading(path, "a run file") as raw:
        for number, line in enumerate(texts.unpacked(path, raw), 1):
            if words := words_in(line):
                yield number, words


def words_in(line: bytes) -> list[str]:
    """Return the words of a line; only ASCII blanks separate words."""
    return [texts.decoded(word) for word in line.split()]


def id_text(where: str, value: Any) -> str:
    """Return an id of a frame or table as text; whole numbers that pandas made floats lose their ``.0``.

    Raises `InputError` for a missing id; ``where`` names its row.
    """
    if not isinstance(value, str):
        value = int(value) if isinstance(value, float | np.floating) and float(value).is_integer() else value
        value = "" if str(value) in ("None", "nan", "<NA>") else str(value)
    if not value:
        raise InputError(f"{where}: the id of the query or document is missing")
    return str(value)


def document_rows(dataset: Dataset) -> Places:
    """Return the row of each document, keyed by query id and document id."""
    if dataset.doc_ids is None:
        raise InputError(f"{dataset.name}: its documents have no ids, so run files cannot be matched to them")
    places: Places = {}
    for query, start, stop in zip(dataset.query_ids, dataset.query_ptr, dataset.query_ptr[1:], strict=False):
        ids = dataset.doc_ids[start:stop].tolist()
        places[str(query)] = dict(zip(ids, range(int(start), int(stop)), strict=True))
        if len(places[str(query)]) < len(ids):
            twice = next(one for one in ids if ids.count(one) > 1)
            raise InputError(f"{dataset.name}: query {query} has document {twice} twice, so runs would be ambiguous")
    return places
