"""The problems in the file of an experiment: corpora, matrices and utilities. This module reads no other file."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from ltr_duel.clicks import CLICK_MODELS
from ltr_duel.core import InputError, schema
from ltr_duel.data import ReadOptions
from ltr_duel.interleaving import METHODS
from ltr_duel.preferences import FAMILIES, REDUCTIONS, UTILITY_FAMILIES, UTILITY_SETS
from ltr_duel.rankers import TIE_RULES
from ltr_duel.simulation import INDEPENDENT_COINS

NO_LIMIT = 10**15
OF_A_MATRIX = ("matrix", INDEPENDENT_COINS)  # independent coins also answer comparisons of sets
_MOST_ARMS = 10_000  # largest number of arms of a synthetic matrix (800 MB)
_LARGEST = 3.4028234e38  # largest float32


def _fill(given: Any) -> float | str:
    return schema.text(given) if isinstance(given, str) else float(schema.number(-_LARGEST, _LARGEST)(given))


def _square(given: Any) -> tuple[tuple[float, ...], ...]:
    rows, entry = given if isinstance(given, list) else [], schema.number(0, 1)
    if not rows or not all(isinstance(row, list) and len(row) == len(rows) for row in rows):
        raise InputError("must be a square of numbers, [[0.5, 0.6], [0.4, 0.5]]")
    return tuple(tuple(entry(one) for one in row) for row in rows)


@dataclass(frozen=True)
class Subsets:
    """Random subsets of the rankers."""

    size: tuple[int, ...] = schema.axis(schema.whole(1, 100_000), "size = [5, 10]")
    count: int = schema.value(schema.whole(1, 100_000), default=1)
    condorcet: bool = schema.value(schema.flag, default=False)  # only subsets with a Condorcet winner
    seed: int = schema.value(schema.whole(-NO_LIMIT), default=0)


@dataclass(frozen=True)
class Synthetic:
    """A synthetic corpus."""

    queries: int = schema.value(schema.whole(1, 10**6), default=200)
    documents: int = schema.value(schema.whole(2, 10**4), default=60)
    features: int = schema.value(schema.whole(2, 10**4), default=136)
    grades: int = schema.value(schema.whole(2, 5), default=5)
    seed: int = schema.value(schema.whole(-NO_LIMIT), default=0)


@dataclass(frozen=True)
class ProblemSpec:
    """The keys that all kinds of problems have."""

    name: str = schema.value(schema.text, default="")  # for a corpus: replaces the name of the corpus
    source: str = schema.value(schema.text, default="")  # origin of the data, for the column ``source``
    note: str = schema.value(schema.text, default="")

    @property
    def origin(self) -> dict[str, str]:
        """The columns about the source of the problem."""
        return {key: given for key, given in (("source", self.source), ("note", self.note)) if given}


@dataclass(frozen=True)
class ReadingSpec(ProblemSpec):
    """The options for reading the feature files of a corpus; `load_dataset` uses them."""

    split: str | None = schema.value(schema.one_of("split", ("train", "vali", "test")), default=None)
    fold: int | None = schema.value(schema.whole(1, 5), default=None)
    dialect: str | None = schema.value(schema.text, default=None)
    features: int | None = schema.value(schema.whole(1, 10**6), default=None)
    first_id: int | None = schema.value(schema.whole(0, 1), default=None)
    repeated: str | None = schema.value(schema.text, default=None)
    fill: float | str | None = schema.value(_fill, default=None)
    labels: str | None = schema.value(schema.text, default=None)
    unlabelled: str | None = schema.value(schema.text, default=None)
    omitted: str | None = schema.value(schema.text, default=None)
    limit: float | None = schema.value(schema.number(0), default=None)

    @property
    def reading(self) -> dict[str, Any]:
        """The options to which the spec gives a value."""
        given = {key: getattr(self, key) for key in READING}
        return {key: one for key, one in given.items() if one is not None}

    def check_reading(self, *, of_a_file: bool) -> None:
        """Raise an error if options are invalid, or are given although no file is read."""
        if self.reading and not of_a_file:
            raise InputError(f"'{next(iter(self.reading))}' requires 'path'")
        ReadOptions(**{key: one for key, one in self.reading.items() if key not in ("split", "fold")})


READING = [one.name for one in fields(ReadingSpec) if one not in fields(ProblemSpec)]  # keys of the reading options


@dataclass(frozen=True)
class CorpusSpec(ReadingSpec):
    """Rankers of a corpus, compared on simulated users."""

    path: tuple[str, ...] = schema.axis(schema.text, default=())
    synthetic: Synthetic | None = schema.table(Synthetic, default=None)
    ties: str = schema.value(schema.one_of("tie rule", TIE_RULES), default="fixed_random")
    tie_seed: int = schema.value(schema.whole(-NO_LIMIT), default=0)
    drop_constant: bool = schema.value(schema.flag, default=True)
    queries: str = schema.value(schema.one_of("choice of queries", ("all", "with_relevant")), default="all")
    rankers: tuple[str, ...] = schema.axis(schema.text, default=())
    subsets: Subsets | None = schema.table(Subsets, default=None)
    clicks: tuple[str, ...] = schema.axis(schema.component(CLICK_MODELS), default=("navigational",))
    method: tuple[str, ...] = schema.axis(schema.component(METHODS), default=("probabilistic",))
    outcome: tuple[str, ...] = schema.axis(schema.text, default=("",))  # empty: the method's first
    top: tuple[int, ...] = schema.axis(schema.whole(1, 1000), default=(10,))
    comparisons: int | None = schema.value(schema.whole(2, NO_LIMIT), default=None)
    variance_reduction: tuple[str, ...] = schema.axis(  # a list is one value: a combination of reductions
        schema.one_of("variance reduction", ("auto", "none", *REDUCTIONS)), empty=True, default=("auto",)
    )
    answers: tuple[str, ...] = schema.axis(schema.one_of("answers", (*OF_A_MATRIX, "live")), default=("matrix",))
    slates: str = schema.value(schema.component(METHODS), default="sosm")
    seed: int = schema.value(schema.whole(-NO_LIMIT), default=0)

    def __post_init__(self) -> None:
        if bool(self.path) == (self.synthetic is not None):
            raise InputError("give either 'path' or 'synthetic'")
        self.check_reading(of_a_file=bool(self.path))
        if self.rankers and self.subsets:
            raise InputError("give either 'rankers' or 'subsets'")


@dataclass(frozen=True)
class MatrixSpec(ProblemSpec):
    """Preference matrices from files, from numbers in the spec, or from synthetic families."""

    file: tuple[str, ...] = schema.axis(schema.text, default=())
    p: tuple[tuple[float, ...], ...] | None = schema.value(_square, default=None)
    family: tuple[str, ...] = schema.axis(schema.one_of("family of matrices", FAMILIES), default=())
    size: tuple[int, ...] = schema.axis(schema.whole(2, _MOST_ARMS), default=())
    gamma: tuple[float, ...] = schema.axis(schema.number(1), default=())
    gap: tuple[float, ...] = schema.axis(schema.number(0, 0.5), default=())
    draws: int = schema.value(schema.whole(1, 100_000), default=1)  # number of matrices from a random family
    subsets: Subsets | None = schema.table(Subsets, default=None)
    answers: tuple[str, ...] = schema.axis(schema.one_of("answers", OF_A_MATRIX), default=("matrix",))
    clicks: str = schema.value(
        schema.one_of("click model", CLICK_MODELS.names), default=""
    )  # the click model with which the matrix was estimated

    def __post_init__(self) -> None:
        if bool(self.file) + (self.p is not None) + bool(self.family) != 1:
            raise InputError("give either 'file' or 'p' or 'family'")
        if self.p is not None and not self.name:
            raise InputError("a matrix with 'p' needs a 'name'")
        if bool(self.family) != bool(self.size):
            raise InputError("'family' and 'size' must be given together")
        if not self.family and (self.gamma or self.gap or self.draws > 1):
            raise InputError("'gamma', 'gap' and 'draws' require a 'family'")


@dataclass(frozen=True)
class UtilitySpec(ReadingSpec):
    """Arms with random utilities."""

    set: tuple[str, ...] = schema.axis(schema.one_of("set of utilities", UTILITY_SETS), default=())
    means: tuple[float, ...] = schema.axis(schema.number(-1e9, 1e9), default=())
    family: tuple[str, ...] = schema.axis(schema.one_of("family of utilities", UTILITY_FAMILIES), default=())
    path: str = schema.value(schema.text, default="")  # a corpus: its features' means, scaled per query, are used
    synthetic: Synthetic | None = schema.table(Synthetic, default=None)
    size: tuple[int, ...] = schema.axis(schema.whole(2, _MOST_ARMS), default=())  # number of arms, or of features
    model: tuple[str, ...] = schema.axis(
        schema.one_of("model of utilities", ("normal", "linear", "logistic", "natural")), default=("normal",)
    )

    def __post_init__(self) -> None:
        corpus = bool(self.path) + (self.synthetic is not None)
        if bool(self.set) + bool(self.means) + bool(self.family) + corpus != 1:
            raise InputError("give either 'set' or 'means' or 'family' or 'path' or 'synthetic'")
        self.check_reading(of_a_file=bool(self.path))
        if not (self.set or self.family or self.name):
            raise InputError("'means', and means of the features of a corpus, need a 'name'")
        if bool(self.size) != bool(self.family or corpus):
            raise InputError("'size' must be given with 'family', 'path' or 'synthetic', and only with them")
