"""Read the TOML file that describes an experiment. Data files are not read yet.

A key can list several values. All combinations are then run: each problem with each policy, horizon and repetition.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import product
from pathlib import Path
from typing import Any

from ltr_duel.bandits import POLICIES
from ltr_duel.clicks import CLICK_MODELS
from ltr_duel.core import InputError, arguments, schema
from ltr_duel.core import plugins as core_plugins
from ltr_duel.data import ReadOptions
from ltr_duel.interleaving import METHODS
from ltr_duel.preferences import FAMILIES, UTILITY_FAMILIES, UTILITY_SETS, VARIANCE_REDUCTION
from ltr_duel.rankers import TIE_RULES
from ltr_duel.simulation import INDEPENDENT_COINS, REGRETS

NO_LIMIT = 10**15
MATRIX_ANSWERS = ("matrix", INDEPENDENT_COINS)  # independent coins also answer comparisons of sets
_MOST_ARMS = 10_000  # largest number of arms of a synthetic matrix (800 MB)
_LARGEST = 3.4028234e38  # largest float32
_MOST_LABELS = 10_000  # largest number of policies that one entry may stand for


def _fill(value: Any) -> float | str:
    return schema.text(value) if isinstance(value, str) else float(schema.number(-_LARGEST, _LARGEST)(value))


def _square(value: Any) -> tuple[tuple[float, ...], ...]:
    rows, entry = value if isinstance(value, list) else [], schema.number(0, 1)
    if not rows or not all(isinstance(row, list) and len(row) == len(rows) for row in rows):
        raise InputError("must be a square of numbers, [[0.5, 0.6], [0.4, 0.5]]")
    return tuple(tuple(map(entry, row)) for row in rows)


_reduction = schema.one_of("variance reduction", VARIANCE_REDUCTION)
_model = schema.one_of("model of utilities", ("normal", "linear", "logistic", "natural"))


@dataclass(frozen=True)
class Subsets:
    """The settings for drawing random subsets of the rankers. Each subset becomes a problem of its own."""

    size: tuple[int, ...] = schema.axis(schema.whole(1, 100_000), "size = [5, 10]")
    count: int = schema.value(schema.whole(1, 100_000), default=1)
    condorcet: bool = schema.value(schema.flag, default=False)  # whether only subsets with a Condorcet winner are drawn
    seed: int = schema.value(schema.whole(-NO_LIMIT), default=0)


@dataclass(frozen=True)
class Synthetic:
    """The settings of a synthetic corpus."""

    queries: int = schema.value(schema.whole(1, 10**6), default=200)
    documents: int = schema.value(schema.whole(2, 10**4), default=60)
    features: int = schema.value(schema.whole(2, 10**4), default=136)
    grades: int = schema.value(schema.whole(2, 5), default=5)
    seed: int = schema.value(schema.whole(-NO_LIMIT), default=0)


@dataclass(frozen=True)
class ProblemSpec:
    """The settings that all kinds of problems have."""

    name: str = schema.value(schema.text, default="")  # for a corpus, it replaces the name of the corpus
    source: str = schema.value(schema.text, default="")  # origin of the data, for the column ``source``
    note: str = schema.value(schema.text, default="")

    @property
    def origin(self) -> dict[str, str]:
        """The source of the problem and the note on it, which become columns of the results."""
        return {key: text for key, text in (("source", self.source), ("note", self.note)) if text}


@dataclass(frozen=True)
class ReadingSpec(ProblemSpec):
    """The settings for reading the feature files of a corpus. `load_dataset` explains them."""

    split: str | None = schema.value(schema.one_of("split", ("train", "vali", "test")), default=None)
    fold: int | None = schema.value(schema.whole(1, 5), default=None)
    dialect: str | None = schema.value(schema.text, default=None)
    features: int | None = schema.value(schema.whole(1, 10**6), default=None)
    first_id: int | None = schema.value(schema.whole(0, 1), default=None)
    fill: float | str | None = schema.value(_fill, default=None)
    labels: str | None = schema.value(schema.text, default=None)
    unlabelled: str | None = schema.value(schema.text, default=None)
    omitted: str | None = schema.value(schema.text, default=None)

    @property
    def reading(self) -> dict[str, Any]:
        """The settings for reading feature files, without those that are not given."""
        return {key: value for key in READING if (value := getattr(self, key)) is not None}

    def check_reading(self, *, file_given: bool) -> None:
        """Raise an error if a setting is invalid, or if there are settings but no feature files."""
        if self.reading and not file_given:
            raise InputError(f"'{next(iter(self.reading))}' requires 'path'")
        ReadOptions(**{key: value for key, value in self.reading.items() if key not in ("split", "fold")})


# The keys that tell how feature files are read.
READING = [field.name for field in fields(ReadingSpec) if field not in fields(ProblemSpec)]


@dataclass(frozen=True)
class CorpusSpec(ReadingSpec):
    """A problem whose arms are the rankers of a corpus. Clicks of simulated users compare the rankers."""

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
    outcome: tuple[str, ...] = schema.axis(schema.text, default=("",))  # empty: the default of the method
    top: tuple[int, ...] = schema.axis(schema.whole(1, 1000), default=(10,))
    comparisons: int | None = schema.value(schema.whole(2, NO_LIMIT), default=None)
    variance_reduction: str = schema.value(_reduction, default="auto")
    answers: tuple[str, ...] = schema.axis(schema.one_of("answers", (*MATRIX_ANSWERS, "users")), default=("matrix",))
    slates: str = schema.value(schema.component(METHODS), default="sosm")
    seed: int = schema.value(schema.whole(-NO_LIMIT), default=0)

    def __post_init__(self) -> None:
        if bool(self.path) == (self.synthetic is not None):
            raise InputError("give either 'path' or 'synthetic'")
        self.check_reading(file_given=bool(self.path))
        if self.rankers and self.subsets:
            raise InputError("give either 'rankers' or 'subsets'")


@dataclass(frozen=True)
class MatrixSpec(ProblemSpec):
    """A problem that is given by its preference matrix: a file, numbers in the TOML file, or a synthetic family."""

    file: tuple[str, ...] = schema.axis(schema.text, default=())
    p: tuple[tuple[float, ...], ...] | None = schema.value(_square, default=None)
    family: tuple[str, ...] = schema.axis(schema.one_of("family of matrices", FAMILIES), default=())
    size: tuple[int, ...] = schema.axis(schema.whole(2, _MOST_ARMS), default=())
    gamma: tuple[float, ...] = schema.axis(schema.number(1), default=())
    gap: tuple[float, ...] = schema.axis(schema.number(0, 0.5), default=())
    draws: int = schema.value(schema.whole(1, 100_000), default=1)  # number of matrices from a random family
    # The number of comparisons of each pair from which the matrices in files were estimated.
    comparisons: int | None = schema.value(schema.whole(1, NO_LIMIT), default=None)
    subsets: Subsets | None = schema.table(Subsets, default=None)
    answers: tuple[str, ...] = schema.axis(schema.one_of("answers", MATRIX_ANSWERS), default=("matrix",))
    # The click model with which the matrix was estimated.
    clicks: str = schema.value(schema.one_of("click model", CLICK_MODELS.names), default="")

    def __post_init__(self) -> None:
        if bool(self.file) + (self.p is not None) + bool(self.family) != 1:
            raise InputError("give either 'file' or 'p' or 'family'")
        if self.p is not None and not self.name:
            raise InputError("a matrix with 'p' needs a 'name'")
        if bool(self.family) != bool(self.size):
            raise InputError("'family' and 'size' must be given together")
        if (self.comparisons and not self.file) or (not self.family and (self.gamma or self.gap or self.draws > 1)):
            raise InputError("'gamma', 'gap' and 'draws' require a 'family', 'comparisons' a 'file'")


@dataclass(frozen=True)
class UtilitySpec(ReadingSpec):
    """A problem whose arms have random utilities. The higher the mean utility of an arm is, the more often it wins."""

    set: tuple[str, ...] = schema.axis(schema.one_of("set of utilities", UTILITY_SETS), default=())
    means: tuple[float, ...] = schema.axis(schema.number(-1e9, 1e9), default=())
    family: tuple[str, ...] = schema.axis(schema.one_of("family of utilities", UTILITY_FAMILIES), default=())
    path: str = schema.value(schema.text, default="")  # a corpus: the means of its scaled features are the utilities
    synthetic: Synthetic | None = schema.table(Synthetic, default=None)
    size: tuple[int, ...] = schema.axis(schema.whole(2, _MOST_ARMS), default=())  # number of arms, or of first features
    subsets: Subsets | None = schema.table(Subsets, default=None)
    model: tuple[str, ...] = schema.axis(_model, default=("normal",))

    def __post_init__(self) -> None:
        corpus = bool(self.path) + (self.synthetic is not None)
        if bool(self.set) + bool(self.means) + bool(self.family) + corpus != 1:
            raise InputError("give either 'set' or 'means' or 'family' or 'path' or 'synthetic'")
        self.check_reading(file_given=bool(self.path))
        if not (self.set or self.family or self.name):
            raise InputError("'means', and means of the features of a corpus, need a 'name'")
        if bool(self.size) != bool(self.family or corpus) and not (corpus and self.subsets):
            raise InputError("'size' must be given with 'family', 'path' or 'synthetic', and only with them")


def _policy(entry: Any) -> tuple[str, ...]:
    if isinstance(entry, str):
        labels: tuple[str, ...] = (schema.text(entry),)
    elif isinstance(entry, dict) and "name" in entry:  # {name = "rucb", alpha = [0.51, 1]} means two policies
        names = [name for name in entry if name != "name"]
        lists = [value if isinstance(value, list) else [value] for value in map(entry.get, names)]
        if (many := math.prod(map(len, lists))) > _MOST_LABELS:
            raise InputError(f"stands for {many:,} policies; at most {_MOST_LABELS:,} can be listed at once")
        name = schema.text(entry["name"])
        labels = tuple(_label(name, dict(zip(names, chosen, strict=True))) for chosen in product(*lists))
    else:
        raise InputError('must be a name with parameters, "rucb:alpha=0.51", or {name = "rucb", alpha = 0.51}')
    return tuple(POLICIES.configure(label).label for label in labels)


def _label(name: str, params: dict[str, Any]) -> str:
    parts = (f"{key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in params.items())
    return f"{name}:{','.join(parts)}" if params else name


@dataclass(frozen=True)
class Spec:
    """The content of an experiment's file. Each combination of problem, horizon, policy and repetition is a run."""

    policies: tuple[tuple[str, ...], ...] = schema.axis(_policy, 'policies = ["rucb", "mdb"]')
    horizon: tuple[int, ...] = schema.axis(schema.whole(1, NO_LIMIT), default=(1_000_000,))
    repetitions: int = schema.value(schema.whole(1, 10**7), default=20)
    seed: int = schema.value(schema.whole(-NO_LIMIT), default=0)
    regrets: tuple[str, ...] = schema.axis(schema.one_of("regret", REGRETS), default=("average", "copeland"))
    checkpoints_per_decade: int = schema.value(schema.whole(1, 10_000), default=20)
    batch: int = schema.value(schema.whole(1, NO_LIMIT), default=1)
    delay: int = schema.value(schema.whole(0, NO_LIMIT), default=0)
    name: str = schema.value(schema.text, default="")
    plugins: tuple[str, ...] = schema.axis(schema.text, default=())
    matrices: tuple[MatrixSpec, ...] = schema.tables(MatrixSpec, default=())
    corpora: tuple[CorpusSpec, ...] = schema.tables(CorpusSpec, default=())
    utilities: tuple[UtilitySpec, ...] = schema.tables(UtilitySpec, default=())

    def __post_init__(self) -> None:
        if not (self.matrices or self.corpora or self.utilities):
            raise InputError("there is no problem: give [[matrices]], [[corpora]] or [[utilities]]")
        for name in ("batch", "delay"):
            if getattr(self, name) > min(self.horizon):
                raise InputError(f"{name}: {getattr(self, name):,} is more than the horizon of {min(self.horizon):,}")
        if repeated := [label for label, count in Counter(self.labels).items() if count > 1]:
            raise InputError(f"policies: '{repeated[0]}' is given twice")

    @property
    def labels(self) -> tuple[str, ...]:
        """The policies with their parameters, for example ``rucb:alpha=0.51``."""
        return tuple(label for group in self.policies for label in group)


@dataclass(frozen=True)
class SpecFile:
    """The file of an experiment, its content, and its plug-ins. Paths in the file are relative to its folder."""

    path: Path
    content: str
    spec: Spec
    plugins: tuple[core_plugins.Plugin, ...] = ()


def read_spec(path: str | Path, content: str | None = None, *, plugins: Sequence[str | Path] = ()) -> SpecFile:
    """Read the TOML file that describes an experiment.

    Parameters
    ----------
    path : str or Path
        The TOML file.
    content : str, optional
        The text of the file. If it is given, the file need not exist.
    plugins : sequence of path
        More Python files with plug-ins, in addition to the files that the TOML file names.

    Returns
    -------
    SpecFile

    Raises
    ------
    InputError
        If the file does not exist, is not TOML, or contains an invalid value. The message names the key of the value.

    Examples
    --------
    >>> read_spec("one.toml", "policies = 'rubc'")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ltr_duel.core.errors.InputError: one.toml: policies: no policy 'rubc'; did you mean 'rucb'? (...)
    """
    path = arguments.as_path("an experiment", path)
    content, table = schema.read_toml(path, content)
    named = schema.one_or_more(schema.text, table["plugins"], f"{path}: plugins") if "plugins" in table else ()
    with schema.located(f"{path}: plugins"):  # plug-ins are loaded first, because they may define policies
        loaded = [core_plugins.load_plugin(file) for file in [*plugins, *(path.parent / name for name in named)]]
    once = {plugin.sha256: plugin for plugin in loaded}  # a file that is named twice is kept once
    return SpecFile(path, content, schema.read_table(Spec, table, f"{path}:"), tuple(once.values()))
