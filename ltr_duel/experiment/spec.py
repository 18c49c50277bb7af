"""The experiment as its file says it. Nothing is read here but the one TOML file, and run but the plug-ins it names.

A list anywhere means a product: each problem x policy x horizon x repetition is one run.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import product
from pathlib import Path
from typing import Any

from ltr_duel.bandits import POLICIES
from ltr_duel.clicks import CLICK_MODELS
from ltr_duel.core import InputError, Plugin, as_path, load_plugin
from ltr_duel.data import ReadOptions
from ltr_duel.experiment.schema import (
    axis,
    flag,
    located,
    number,
    one_of,
    read_table,
    read_toml,
    several,
    square,
    table,
    tables,
    text,
    text_or,
    value,
    whole,
)
from ltr_duel.preferences import FAMILIES, UTILITY_FAMILIES, UTILITY_SETS
from ltr_duel.rankers import TIE_RULES
from ltr_duel.simulation import REGRETS

_NO_LIMIT = 10**15
_MOST_LABELS = 10_000  # that one entry of the policies stands for
_MOST_ARMS = 10_000  # of a matrix that is made: 800 MB
_LARGEST = 3.4028234e38  # in a float32


def policy(given: Any) -> tuple[str, ...]:
    """Read ``"rucb:alpha=0.51"``, or ``{name = "rucb", alpha = [0.51, 1.0]}``; the labels it stands for, checked."""
    if isinstance(given, str):
        labels: tuple[str, ...] = (text(given),)
    elif isinstance(given, dict) and "name" in given:
        names = [name for name in given if name != "name"]
        lists = [one if isinstance(one, list) else [one] for one in (given[name] for name in names)]
        if (many := math.prod(map(len, lists))) > _MOST_LABELS:
            raise InputError(f"stands for {many:,} policies; at most {_MOST_LABELS:,} can be listed at once")
        labels = tuple(_label(text(given["name"]), dict(zip(names, chosen, strict=True))) for chosen in product(*lists))
    else:
        raise InputError('must be a name with parameters, "rucb:alpha=0.51", or {name = "rucb", alpha = 0.51}')
    return tuple(POLICIES.configure(label).label for label in labels)


def _click_model(given: Any) -> str:
    """Read a click model with its parameters, ``"navigational:position_bias=0.5"``; the label, checked."""
    return CLICK_MODELS.configure(text(given)).label


def _label(name: str, params: dict[str, Any]) -> str:
    parts = [f"{key}={str(one).lower() if isinstance(one, bool) else one}" for key, one in params.items()]
    return f"{name}:{','.join(parts)}" if parts else name


@dataclass(frozen=True)
class Subsets:
    """Random subsets of the rankers."""

    size: tuple[int, ...] = axis(whole(1, 100_000))
    count: int = value(whole(1, 100_000), default=1)
    condorcet: bool = value(flag, default=False)  # only those that have a Condorcet winner
    seed: int = value(whole(-_NO_LIMIT), default=0)


@dataclass(frozen=True)
class Synthetic:
    """A synthetic corpus."""

    queries: int = value(whole(1, 10**6), default=200)
    documents: int = value(whole(2, 10**4), default=60)
    features: int = value(whole(2, 10**4), default=136)
    grades: int = value(whole(2, 5), default=5)
    seed: int = value(whole(-_NO_LIMIT), default=0)


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
    drop_constant: bool = value(flag, default=True)
    rankers: tuple[str, ...] = axis(text, default=())
    subsets: Subsets | None = table(Subsets, default=None)
    clicks: tuple[str, ...] = axis(_click_model, default=("navigational",))
    method: tuple[str, ...] = axis(text, default=("probabilistic",))
    outcome: tuple[str, ...] = axis(text, default=("marginal_sign",))
    top: tuple[int, ...] = axis(whole(1, 1000), default=(10,))
    comparisons: int = value(whole(2, _NO_LIMIT), default=4000)
    answers: tuple[str, ...] = axis(one_of("answers", ("matrix", "sweeps", "live")), default=("matrix",))
    slates: str = value(text, default="sosm")
    seed: int = value(whole(-_NO_LIMIT), default=0)

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
    answers: tuple[str, ...] = axis(one_of("answers", ("matrix", "sweeps")), default=("matrix",))
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


@dataclass(frozen=True)
class Spec:
    """A whole experiment, as `read_spec` reads it: every problem x horizon x policy x repetition is a run.

    Parameters
    ----------
    policies : tuple of tuple of str
        Labels, a tuple for each entry of the file.
    horizon : tuple of int
        Steps of a run, each 1 to 10^15.
    repetitions : int
        Runs of each policy on each problem, 1 to 10^7.
    seed : int
        Of everything random in the runs.
    regrets : tuple of str
        Columns of the tidy table: ``average``, ``strong``, ``weak``, ``copeland``, ``borda``, ``utility``, ``ndcg``.
    checkpoints_per_decade : int
        How densely, on a logarithmic scale, a run is recorded; 1 to 10,000.
    name : str
        For people.
    plugins : tuple of str
        Plug-in files, relative to the folder of the file.
    matrices, corpora, utilities : tuple
        The problems.

    Raises
    ------
    InputError
        If there is no problem, or a policy is given twice.

    Examples
    --------
    >>> content = '''
    ... policies = ["rucb", "mdb"]
    ... utilities = [{ set = "1good5poor" }]
    ... '''
    >>> spec = read_spec("two.toml", content).spec
    >>> spec.labels, spec.repetitions, spec.utilities[0].set
    (('rucb', 'mdb'), 10, ('1good5poor',))
    """

    policies: tuple[tuple[str, ...], ...] = axis(policy)
    horizon: tuple[int, ...] = axis(whole(1, _NO_LIMIT), default=(1_000_000,))
    repetitions: int = value(whole(1, 10**7), default=10)
    seed: int = value(whole(-_NO_LIMIT), default=0)
    regrets: tuple[str, ...] = axis(one_of("regret", REGRETS), default=("average", "copeland"))
    checkpoints_per_decade: int = value(whole(1, 10_000), default=20)
    name: str = value(text, default="")
    plugins: tuple[str, ...] = axis(text, default=())
    matrices: tuple[MatrixSpec, ...] = tables(MatrixSpec, default=())
    corpora: tuple[CorpusSpec, ...] = tables(CorpusSpec, default=())
    utilities: tuple[UtilitySpec, ...] = tables(UtilitySpec, default=())

    def __post_init__(self) -> None:
        if not (self.matrices or self.corpora or self.utilities):
            raise InputError("there is nothing to run on: give [[matrices]], [[corpora]] or [[utilities]]")
        seen = set()
        for label in self.labels:
            if label in seen:
                raise InputError(f"policies: '{label}' is given twice")
            seen.add(label)

    @property
    def labels(self) -> tuple[str, ...]:
        """The policies with their parameters, as the user named them."""
        return tuple(label for group in self.policies for label in group)


@dataclass(frozen=True)
class SpecFile:
    """A spec with the file it came from and the plug-ins it needs; its paths are relative to the file's folder."""

    path: Path
    content: str
    spec: Spec
    plugins: tuple[Plugin, ...] = ()

    @property
    def digest(self) -> str:
        """SHA-256 of the text."""
        return hashlib.sha256(self.content.encode()).hexdigest()


def read_spec(path: str | Path, content: str | None = None, *, plugins: Sequence[str | Path] = ()) -> SpecFile:
    """Read an experiment.

    Parameters
    ----------
    path : str or Path
        The TOML file.
    content : str, optional
        Its text; the file itself need not exist then.
    plugins : sequence of path
        Plug-in files to load first, beside those that the file names itself.

    Returns
    -------
    SpecFile
        With the attributes ``path``, ``content``, ``spec`` (a `Spec`) and ``plugins``.

    Raises
    ------
    InputError
        If the file does not exist, is not TOML, or holds what is not legal; the sentence names the key.

    Examples
    --------
    >>> read_spec("one.toml", "policies = 'rubc'")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ltr_duel.core.errors.InputError: one.toml: policies: no policy 'rubc'; did you mean 'rucb'? (...)
    """
    path = as_path("an experiment", path)
    content, given = read_toml(path, content)
    named = several(text, given["plugins"], f"{path}: plugins") if "plugins" in given else ()
    with located(f"{path}: plugins"):  # before the rest: the policies may come from them
        loaded = [load_plugin(one) for one in [*plugins, *(path.parent / one for one in named)]]
    once = {plugin.sha256: plugin for plugin in loaded}  # a file named twice, or its copy, is one
    return SpecFile(path, content, read_table(Spec, given, f"{path}:"), tuple(once.values()))
