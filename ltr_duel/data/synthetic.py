"""Make synthetic corpora of any size. As in real corpora, values tie, and some features are copies or constant.

Each document has a hidden quality, which determines its grade, apart from noise. With 2, 3 or 5 grades, high grades are
rare. Few features correlate strongly with the quality, many moderately, and some negatively or not at all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import InputError, checked_seed, errors, handed_over, stream
from ltr_duel.data.dataset import Dataset
from ltr_duel.data.feature_names import numbered

_GRADE_SHARES = {2: (0.9, 0.1), 3: (0.8, 0.14, 0.06), 5: (0.52, 0.32, 0.13, 0.02, 0.01)}
_MOST_NUMBERS = 10**10  # 40 GB
_BEST = 0.72  # correlation of the best feature with the quality; the correlations of other features are below 0.65


def make_corpus(
    *,
    queries: int = 200,
    documents: int = 60,
    features: int = 136,
    grades: int = 5,
    seed: int = 0,
    ties: float = 0.4,
    dead: float = 0.04,
    constant: float = 0.04,
    twins: float = 0.1,
    sparsity: float = 0.0,
    doc_ids: bool = True,
    name: str = "synthetic",
) -> Dataset:
    """Make a synthetic corpus.

    Parameters
    ----------
    queries, documents, features, grades : int
        The number of queries, the mean number of documents of a query, and the numbers of features and of relevance
        grades. A query has between 0.5 and 1.5 times the mean number of documents.
    seed : int
        The same seed gives the same corpus.
    ties : float
        The probability that the values of a feature are small whole numbers, so that many documents tie.
    dead, constant : float
        The share of features that are 0 everywhere, and the share of features that are constant within each query.
    twins : float
        The share of features that are near copies of another feature.
    sparsity : float
        The share of all values that are set to 0.
    doc_ids : bool
        Whether documents have ids.
    name : str
        The name of the corpus in plots and reports.

    Returns
    -------
    Dataset
        Values have at most six decimals, so that a text file can represent them exactly.

    Raises
    ------
    InputError
        If a number is out of range or ``dead + constant + twins`` exceeds 1.

    Examples
    --------
    >>> make_corpus(queries=4, documents=20, features=10, seed=1)
    <Dataset synthetic: 4 queries, 74 documents, 10 features, grades 0..4>
    """
    queries = errors.require_whole("queries", queries, 1)
    documents = errors.require_whole("documents", documents, 1)
    features = errors.require_whole("features", features, 1)
    grades = errors.require_whole("grades", grades, 2, 1000)
    seed = checked_seed(seed)
    if queries * documents * features > _MOST_NUMBERS:
        raise InputError(f"queries x documents x features must be at most {_MOST_NUMBERS:,}, to fit in memory")
    shares = {"ties": ties, "dead": dead, "constant": constant, "twins": twins, "sparsity": sparsity}
    for label, share in (shares | {"dead + constant + twins": dead + constant + twins}).items():
        errors.require_between(label, share, 0, 1)

    low, high = max(1, documents // 2), documents + documents // 2
    sizes = stream(seed, "sizes").integers(low, high, queries, endpoint=True)
    query_ptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    query = np.repeat(np.arange(queries), sizes)
    quality = stream(seed, "quality").standard_normal(len(query))
    quality += 0.4 * stream(seed, "query quality").standard_normal(queries)[query]
    columns = np.empty((features, len(query)), dtype=np.float32)
    plan = _plan(features, seed, [round(features * share) for share in (dead, constant, twins)], ties)
    for number, feature in sorted(enumerate(plan), key=lambda item: item[1].kind == "twin"):  # models before copies
        rng = stream(seed, "feature", number)
        if feature.kind == "dead":
            columns[number] = 0
        elif feature.kind == "constant":
            columns[number] = _rounded(rng.gamma(2.0, 3.0, queries)[query])
        elif feature.kind == "twin":  # about one value in fifty is changed
            columns[number] = model = columns[feature.model]
            changed = rng.random(len(model)) < 0.02
            columns[number, changed] = rng.permutation(model)[changed]
        else:
            noise = np.sqrt(1 - feature.strength**2) * rng.standard_normal(len(query))
            columns[number] = _values(feature.strength * quality + noise, number, counts=feature.counts)
        if sparsity:
            columns[number, rng.random(len(query)) < sparsity] = 0
    ids = [f"q{q + 1}-d{d + 1}" for q, size in enumerate(sizes.tolist()) for d in range(size)]
    return Dataset(
        features=handed_over(columns.T),
        relevance=_grades(quality, grades, seed),
        query_ptr=query_ptr,
        query_ids=np.array([str(q + 1) for q in range(queries)]),
        doc_ids=np.array(ids) if doc_ids else None,
        name=name,
        grades=grades,
        sha256="",
        feature_names=numbered(features),
    )


class _Feature(NamedTuple):
    kind: str  # plain, dead, constant or twin
    strength: float  # correlation with the quality
    counts: bool  # whether values are small whole numbers
    model: int  # the column that a twin copies


def _plan(features: int, seed: int, numbers: list[int], ties: float) -> list[_Feature]:
    rng = stream(seed, "plan")
    plain = max(features - sum(numbers), 1)
    kinds = np.repeat(["plain", "dead", "constant", "twin"], [plain, *numbers])  # numbers of each kind
    kinds = (kinds[rng.permutation(len(kinds))] if plain > 1 else kinds)[:features]
    ranked = np.sort(rng.beta(1.2, 2.0, plain) * 0.85 - 0.2)[::-1]  # few high, many medium, some negative values
    ranked[0] = _BEST
    strengths = np.zeros(features)
    strengths[kinds == "plain"] = rng.permutation(ranked)[: np.count_nonzero(kinds == "plain")]
    best = int(np.argmax(strengths))
    models = [int(i) for i in np.flatnonzero(kinds == "plain") if i != best] or [best]

    def feature(kind: str, strength: float) -> _Feature:
        counts = bool(rng.random() < ties)
        return _Feature(kind, strength, counts, models[int(rng.random() * len(models))] if kind == "twin" else -1)

    return [feature(*pair) for pair in zip(kinds.tolist(), strengths.tolist(), strict=True)]


def _values(signal: NDArray[np.float64], number: int, *, counts: bool) -> NDArray[np.float32]:
    spread = np.clip(signal, -4, 4)
    if counts:
        return _rounded(np.floor(np.exp(spread * 0.8)))
    scale = (1.0, 0.02, 8.0, 500.0)[number % 4]
    return _rounded(scale * signal if number % 3 else scale * np.exp(spread))


def _rounded(values: NDArray[np.float64]) -> NDArray[np.float32]:
    return np.round(values, 6).astype(np.float32)


def _grades(quality: NDArray[np.float64], grades: int, seed: int) -> NDArray[np.int16]:
    """Return grades that increase with the quality plus noise."""
    noisy = quality + 0.5 * stream(seed, "grades").standard_normal(len(quality))
    shares = _GRADE_SHARES.get(grades) or tuple(np.full(grades, 1 / grades))
    cuts = np.quantile(noisy, np.minimum(np.cumsum(shares)[:-1], 1 - 0.5 / len(quality)))
    return np.searchsorted(cuts, noisy, side="right").astype(np.int16)
