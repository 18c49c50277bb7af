"""The arrays of a learning-to-rank corpus: features and relevance grades of documents."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import InputError, errors, frozen, handed_over, mapped, notebook

_ARRAYS: Final = (  # name, kinds of numbers, number of axes
    ("features", "fiu", 2),
    ("relevance", "iu", 1),
    ("query_ptr", "iu", 1),
    ("query_ids", "U", 1),
    ("doc_ids", "U", 1),
)


@dataclass(frozen=True, eq=False)
class Dataset:
    """A learning-to-rank corpus: for each query, documents with features and relevance grades.

    Each document is one row of the arrays. Query q has the rows ``query_ptr[q]:query_ptr[q + 1]``.

    Parameters
    ----------
    features : ndarray of float32, shape (n_docs, n_features)
        One column for each feature. The values are not checked for NaN and infinity.
    relevance : ndarray of int16, shape (n_docs,)
        The relevance grade of each document, from 0 to ``grades - 1``.
    query_ptr : ndarray of int64, shape (n_queries + 1,)
        The first row of each query. The last entry is the number of rows.
    query_ids : ndarray of str, shape (n_queries,)
    doc_ids : ndarray of str, shape (n_docs,), or None
    name : str
        The name of the corpus in plots and reports.
    grades : int
        The number of relevance grades (2, 3 or 5 in the public corpora).
    sha256 : str
        The SHA-256 of the content. If you pass ``""``, it is computed.
    feature_names : tuple of str
        The names of the features. If the corpus is not well-known, they are ``"1"``, ``"2"``, ...
    lower_is_better : bool
        Whether the features are ranks, of which 1 is the best, as in corpora for rank aggregation.
    omits : bool
        Whether the source of the corpus, a text file or a sparse matrix, left out some values. These values are 0 in
        ``features``. If you use an XGBoost model, you must then say whether they mean zero or missing.

    Raises
    ------
    InputError
        If the shapes of the arrays do not fit together, a grade is out of range, or there is no query.

    Notes
    -----
    The arrays are read-only.

    Examples
    --------
    >>> from ltr_duel.data import make_corpus
    >>> corpus = make_corpus(queries=3, documents=10, features=5)
    >>> corpus
    <Dataset synthetic: 3 queries, 33 documents, 5 features, grades 0..4>
    >>> corpus.features[corpus.query_ptr[0] : corpus.query_ptr[1]].shape  # of the first query
    (13, 5)
    """

    features: NDArray[np.float32]
    relevance: NDArray[np.int16]
    query_ptr: NDArray[np.int64]
    query_ids: NDArray[np.str_]
    doc_ids: NDArray[np.str_] | None
    name: str
    grades: int
    sha256: str
    feature_names: tuple[str, ...] = field(repr=False)
    lower_is_better: bool = False
    omits: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        for name, kinds, axes in _ARRAYS:
            if getattr(self, name) is None:
                continue
            array = frozen(getattr(self, name))
            if array.ndim != axes or array.dtype.kind not in kinds:
                raise InputError(f"{self.name}: {name} cannot be {array.dtype} of shape {array.shape}")
            object.__setattr__(self, name, array)
        errors.require_whole(f"{self.name}: the number of grades", self.grades, 1)
        if self.n_queries < 1 or self.n_docs < 1:
            raise InputError(f"{self.name}: the corpus has no query")
        if self.query_ptr[0] != 0 or self.query_ptr[-1] != self.n_docs or np.any(np.diff(self.query_ptr) < 1):
            raise InputError(f"{self.name}: query_ptr must increase from 0 to the number of documents, {self.n_docs}")
        if len(self.relevance) != self.n_docs or len(self.query_ids) != self.n_queries:
            raise InputError(f"{self.name}: relevance needs one entry for each document, query_ids one for each query")
        if len(self.feature_names) != self.n_features:
            raise InputError(f"{self.name}: {len(self.feature_names)} names for {self.n_features} features")
        low, high = int(self.relevance.min()), int(self.relevance.max())
        if low < 0 or high >= self.grades:
            raise InputError(f"{self.name}: grades {low}..{high} do not fit in 0..{self.grades - 1}")
        if not self.sha256:
            object.__setattr__(self, "sha256", self._digest())

    @classmethod
    def from_frame(cls, frame: Any, *, name: str = "frame", **reading: Any) -> Dataset:
        """Make a corpus from a data frame with one row for each document. The rows of a query must be adjacent.

        Parameters
        ----------
        frame : data frame
            A data frame of pandas, Polars, PyArrow or another library that narwhals reads. It needs a column for the
            query (for example ``qid``) and one for the grade (``label``). It may have a column for the document
            (``docno``). All other columns are features. The index of the data frame is not a feature.
        name : str
            The name of the corpus in plots and reports.
        **reading : object
            The options ``fill``, ``labels`` and ``unlabelled``, which `ReadOptions` explains.

        Returns
        -------
        Dataset

        Raises
        ------
        InputError
            If a column or id is missing, or a value cannot be read with these options.

        Examples
        --------
        >>> import pandas as pd
        >>> Dataset.from_frame(pd.DataFrame({"qid": [7, 7, 8], "grade": [1, 0, 2], "bm25": [0.5, 0.25, 4]}))
        <Dataset frame: 2 queries, 3 documents, 1 features, grades 0..2>
        """
        from ltr_duel.data.tables import from_frame
        from ltr_duel.data.text.options import ReadOptions

        return from_frame(frame, ReadOptions(**reading), name)

    @classmethod
    def from_arrays(
        cls,
        X: Any,  # noqa: N803 -- the name that scikit-learn uses
        y: Any,
        qid: Any,
        *,
        documents: Any = None,
        feature_names: Sequence[str] | None = None,
        name: str = "arrays",
        **reading: Any,
    ) -> Dataset:
        """Make a corpus from the arrays with which LightGBM, XGBoost and scikit-learn are trained.

        Parameters
        ----------
        X : array_like, sparse matrix or data frame, shape (n_docs, n_features)
            The features.
        y, qid : array_like, shape (n_docs,)
            The grade and the query of each document. The rows of a query must be adjacent.
        documents : array_like of str, shape (n_docs,), optional
            The ids of the documents.
        feature_names : sequence of str, optional
            The names of the features. By default, they are the names of the columns of a data frame, or ``"1"``,
            ``"2"``, ...
        name : str
            The name of the corpus in plots and reports.
        **reading : object
            The options ``fill``, ``labels`` and ``unlabelled``, which `ReadOptions` explains. A sparse matrix has the
            option ``omitted``, too.

        Returns
        -------
        Dataset

        Raises
        ------
        InputError
            If the lengths differ, ``X`` is not a matrix of numbers, or a value cannot be read with these options.

        Examples
        --------
        >>> Dataset.from_arrays([[0.5, 3], [0, 1]], y=[1, 0], qid=[7, 7])
        <Dataset arrays: 1 queries, 2 documents, 2 features, grades 0..1>
        """
        from ltr_duel.data.tables import from_arrays
        from ltr_duel.data.text.options import ReadOptions

        return from_arrays(X, y, qid, documents, feature_names, ReadOptions(**reading), name)

    def _digest(self) -> str:
        digest = hashlib.sha256()
        for column in self.features.T:
            digest.update(np.ascontiguousarray(column).data)
            mapped.release_pages(column)
        digest.update(self.relevance.astype(np.int64).data)
        digest.update(self.query_ptr.astype(np.int64).data)
        documents = [] if self.doc_ids is None else self.doc_ids.tolist()
        for words in (self.query_ids.tolist(), documents, self.feature_names):
            digest.update("\0".join([str(len(words)), *map(str, words), ""]).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    @property
    def n_docs(self) -> int:
        """Number of rows."""
        return int(self.features.shape[0])

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.features.shape[1])

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return len(self.query_ptr) - 1

    @property
    def query_sizes(self) -> NDArray[np.int64]:
        """The number of documents of each query, an array of shape (n_queries,)."""
        return np.diff(self.query_ptr)

    def with_relevant(self) -> Dataset:
        """Return the corpus without the queries whose documents all have grade 0.

        All rankings of these queries are equally good, so they cannot show which ranker is better.

        Raises
        ------
        InputError
            If no query has a document with a grade above 0.
        """
        relevant = np.maximum.reduceat(self.relevance, self.query_ptr[:-1]) > 0
        rows = np.repeat(relevant, self.query_sizes)
        columns = mapped.new_array((self.n_features, int(rows.sum())), np.float32)
        for column, values in zip(columns, self.features.T, strict=True):
            column[:] = values[rows]
            mapped.release_pages(column)
            mapped.release_pages(values)
        return replace(
            self,
            features=handed_over(columns).T,
            relevance=self.relevance[rows],
            query_ptr=np.append(0, np.cumsum(self.query_sizes[relevant])),
            query_ids=self.query_ids[relevant],
            doc_ids=None if self.doc_ids is None else self.doc_ids[rows],
            sha256="",
        )

    def __repr__(self) -> str:
        return f"<{self._summary()}>"

    def _repr_html_(self) -> str:
        counts = np.bincount(self.relevance, minlength=self.grades)
        rows = [(str(grade), count, f"{count / self.n_docs:.1%}") for grade, count in enumerate(counts)]
        return notebook.notebook_html([self._summary()], ("grade", "documents", "share"), rows)

    def _summary(self) -> str:
        return (
            f"Dataset {self.name}: {self.n_queries:,} queries, {self.n_docs:,} documents,"
            f" {self.n_features} features, grades 0..{self.grades - 1}"
        )


class Description(NamedTuple):
    """Facts about a corpus that `describe` finds. Features are numbered from 0."""

    sizes: NDArray[np.int64]  # (n_queries,) number of documents of each query
    grade_counts: NDArray[np.int64]  # (grades,) number of documents of each grade
    queries_without_relevant: int  # number of queries whose documents all have grade 0
    dead: list[int]  # features that are 0 everywhere
    constant: list[int]  # features that are constant within each query, the dead ones among them
    twins: list[tuple[int, int]]  # pairs of all other features that have the same values everywhere
    missing: dict[int, int]  # for each feature with missing values (NaN), their number


def describe(dataset: Dataset) -> Description:
    """Count the documents of each query and each grade, and find features that are constant, equal or incomplete.

    Parameters
    ----------
    dataset : Dataset

    Returns
    -------
    Description

    Examples
    --------
    >>> from ltr_duel.data import make_corpus
    >>> describe(make_corpus(queries=3, documents=10, grades=2)).grade_counts.tolist()
    [29, 4]
    """
    starts = dataset.query_ptr[:-1]
    dead, constant, twins, missing = [], [], [], {}
    columns: dict[bytes, int] = {}  # the first column with each content
    for number, column in enumerate(dataset.features.T):
        values = np.array(column)
        mapped.release_pages(column)
        if empty := int(np.count_nonzero(np.isnan(values))):
            missing[number] = empty
        if not np.any(values):
            dead.append(number)
        known = np.where(np.isnan(values), -np.inf, values) if empty else values  # missing values tie, as in rankings
        if np.all(np.maximum.reduceat(known, starts) == np.minimum.reduceat(known, starts)):
            constant.append(number)
        else:
            digest = hashlib.sha256((values + np.float32(0)).tobytes()).digest()  # -0 and 0 are equal
            if (first := columns.setdefault(digest, number)) != number:
                twins.append((first, number))
    irrelevant = int(np.count_nonzero(np.maximum.reduceat(dataset.relevance, starts) == 0))
    grades = np.bincount(dataset.relevance, minlength=dataset.grades)
    return Description(dataset.query_sizes, grades, irrelevant, dead, constant, twins, missing)
