"""The problems of an experiment as its file says them: corpora, matrices, utilities. Nothing is read here."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from ltr_duel.clicks import CLICK_MODELS
from ltr_duel.core import InputError
from ltr_duel.data import ReadOptions
from ltr_duel.experiment.schema import (
    axis,
    component,
    flag,
    listing,
    number,
    one_of,
    square,
    table,
    text,
    text_or,
    value,
    whole,
)
from ltr_duel.interleaving import METHODS
from ltr_duel.preferences import FAMILIES, REDUCTIONS, UTILITY_FAMILIES, UTILITY_SETS
from ltr_duel.rankers import TIE_RULES
from ltr_duel.simulation import INDEPENDENT_COINS

NO_LIMIT = 10**15
OF_A_MATRIX = ("matrix", INDEPENDENT_COINS, "sweeps")  # the second is the first for sets too
_MOST_ARMS = 10_000  # of a matrix that is made: 800 MB
_LARGEST = 3.4028234e38  # in a float32


@dataclass(frozen=True)
class Subsets:
    """Random subsets of the rankers."""

    size: tuple[int, ...] = axis(whole(1, 100_000), "size = [5, 10]")
    count: int = value(whole(1, 100_000), default=1)
    condorcet: bool = value(flag, default=False)  # only those that have a Condorcet winner
    seed: int = value(whole(-NO_LIMIT), default=0)


@dataclass(frozen=True)
class Synthetic:
    """A synthetic corpus."""

    queries: int = value(whole(1, 10**6), default=200)
    documents: int = value(whole(2, 10**4), default=60)
    features: int = value(whole(2, 10**4), default=136)
    grades: int = value(whole(2, 5), default=5)
    seed: int = value(whole(-NO_LIMIT), default=0)


@dataclass(frozen=True)
class ProblemSpec:
    """What every problem may have."""

    name: str = value(text, default="")  # for a corpus: in place of its own
    source: str = value(text, default="")  # where the data come from, for the column of that name
    note: str = value(text, default="")

    @property
    def origin(self) -> dict[str, str]:
        """What the file says of where the problem comes from."""
        return {key: said for key, said in (("source", self.source), ("note", self.note)) if said}


@dataclass(frozen=True)
class ReadingSpec(ProblemSpec):
    """How the feature files of a corpus are read: the options of `load_dataset`, which checks them."""

    split: str | None = value(one_of("split", ("train", "vali", "test")), default=None)
    fold: int | None = value(whole(1, 5), default=None)
    dialect: str | None = value(text, default=None)
    features: int | None = value(whole(1, 10**6), default=None)
    first_id: int | None = value(whole(0, 1), default=None)
    repeated: str | None = value(text, default=None)
    fill: float | str | None = value(text_or(number(-_LARGEST, _LARGEST)), default=None)
    labels: str | None = value(text, default=None)
    unlabelled: str | None = value(text, default=None)
    limit: float | None = value(number(0), default=None)

    @property
    def reading(self) -> dict[str, Any]:
        """The options that are given."""
        given = {key: getattr(self, key) for key in READING}
        return {key: one for key, one in given.items() if one is not None}

    def check_reading(self, *, of_a_file: bool) -> None:
        """Refuse options that are not legal, or that nothing is read with."""
        if self.reading and not of_a_file:
            raise InputError(f"'{next(iter(self.reading))}' goes with 'path'")
        ReadOptions(**{key: one for key, one in self.reading.items() if key not in ("split", "fold")})


READING = [one.name for one in fields(ReadingSpec) if one not in fields(ProblemSpec)]  # the keys


@dataclass(frozen=True)
class CorpusSpec(ReadingSpec):
    """Rankers of a corpus, compared on simulated users."""

    path: tuple[str, ...] = axis(text, default=())
    synthetic: Synthetic | None = table(Synthetic, default=None)
    ties: str = value(one_of("tie rule", TIE_RULES), default="fixed_random")
    tie_seed: int = value(whole(-NO_LIMIT), default=0)
    drop_constant: bool = value(flag, default=True)
    queries: str = value(one_of("choice of queries", ("all", "with_relevant")), default="all")
    rankers: tuple[str, ...] = axis(text, default=())
    subsets: Subsets | None = table(Subsets, default=None)
    clicks: tuple[str, ...] = axis(component(CLICK_MODELS), default=("navigational",))
    method: tuple[str, ...] = axis(component(METHODS), default=("probabilistic",))
    outcome: tuple[str, ...] = axis(text, default=("",))  # empty: the unbiased rule of the method
    top: tuple[int, ...] = axis(whole(1, 1000), default=(10,))
    comparisons: int | None = value(whole(2, NO_LIMIT), default=None)
    variance_reduction: tuple[str, ...] = listing(
        one_of("variance reduction", ("auto", "none", *REDUCTIONS)), default=("auto",)
    )
    answers: tuple[str, ...] = axis(one_of("answers", (*OF_A_MATRIX, "live")), default=("matrix",))
    slates: str = value(component(METHODS), default="sosm")
    seed: int = value(whole(-NO_LIMIT), default=0)

    def __post_init__(self) -> None:
        if bool(self.path) == (self.synthetic is not None):
            raise InputError("give either 'path' or 'synthetic'")
        self.check_reading(of_a_file=bool(self.path))
        if self.rankers and self.subsets:
            raise InputError("give either 'rankers' or 'subsets'")


@dataclass(frozen=True)
class MatrixSpec(ProblemSpec):
    """A preference matrix from a file, or written out, or of a family that a rule makes."""

    file: tuple[str, ...] = axis(text, default=())
    p: tuple[tuple[float, ...], ...] | None = value(square, default=None)
    family: tuple[str, ...] = axis(one_of("family of matrices", FAMILIES), default=())
    size: tuple[int, ...] = axis(whole(2, _MOST_ARMS), default=())
    gamma: tuple[float, ...] = axis(number(1), default=())
    gap: tuple[float, ...] = axis(number(0, 0.5), default=())
    draws: int = value(whole(1, 100_000), default=1)  # of a family that is random
    subsets: Subsets | None = table(Subsets, default=None)
    answers: tuple[str, ...] = axis(one_of("answers", OF_A_MATRIX), default=("matrix",))
    clicks: str = value(one_of("click model", CLICK_MODELS.names), default="")  # that it was estimated with

    def __post_init__(self) -> None:
        if bool(self.file) + (self.p is not None) + bool(self.family) != 1:
            raise InputError("give either 'file' or 'p' or 'family'")
        if self.p is not None and not self.name:
            raise InputError("a matrix that is written out needs a 'name'")
        if bool(self.family) != bool(self.size):
            raise InputError("'family' and 'size' go together")
        if not self.family and (self.gamma or self.gap or self.draws > 1):
            raise InputError("'gamma', 'gap' and 'draws' belong to a 'family'")


@dataclass(frozen=True)
class UtilitySpec(ReadingSpec):
    """Arms with random utilities."""

    set: tuple[str, ...] = axis(one_of("set of utilities", UTILITY_SETS), default=())
    means: tuple[float, ...] = axis(number(-1e9, 1e9), default=())
    family: tuple[str, ...] = axis(one_of("family of utilities", UTILITY_FAMILIES), default=())
    path: str = value(text, default="")  # of a corpus: the mean of each feature, scaled to 0..1 within its query
    synthetic: Synthetic | None = table(Synthetic, default=None)
    size: tuple[int, ...] = axis(
        whole(2, _MOST_ARMS), default=()
    )  # arms of a family; how many features, the first ones
    model: tuple[str, ...] = axis(
        one_of("model of utilities", ("normal", "linear", "logistic", "natural")), default=("normal",)
    )

    def __post_init__(self) -> None:
        corpus = bool(self.path) + (self.synthetic is not None)
        if bool(self.set) + bool(self.means) + bool(self.family) + corpus != 1:
            raise InputError("give either 'set' or 'means' or 'family' or 'path' or 'synthetic'")
        self.check_reading(of_a_file=bool(self.path))
        if not (self.set or self.family or self.name):
            raise InputError("means that are written out, or come from a corpus, need a 'name'")
        if bool(self.size) != bool(self.family or corpus):
            raise InputError("'size' belongs to a 'family', a 'path' or a 'synthetic', which need it")
