"""The experiment as its file says it. Nothing is read or run here but the one TOML file.

A list anywhere means a product: each problem x policy x horizon x repetition is one run. A file cannot name code:
policies come from the registry, or from files that the user names on the command line.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from ltr_duel.core import InputError, unknown_name
from ltr_duel.experiment.schema import axis, flag, number, one_of, read_table, square, table, tables, text, value, whole

_NO_LIMIT = 10**15


def _click_models() -> Iterable[str]:
    from ltr_duel.clicks import CLICK_MODELS

    return CLICK_MODELS.names()


def _regrets() -> Iterable[str]:
    from ltr_duel.simulation import REGRETS

    return REGRETS


def _utility_sets() -> Iterable[str]:
    from ltr_duel.preferences import UTILITY_SETS

    return UTILITY_SETS


def _families() -> Iterable[str]:
    from ltr_duel.preferences import FAMILIES

    return FAMILIES


def _utility_families() -> Iterable[str]:
    from ltr_duel.preferences import UTILITY_FAMILIES

    return UTILITY_FAMILIES


def _tie_rules() -> Iterable[str]:
    from ltr_duel.rankers import TIE_RULES

    return TIE_RULES


def policy(given: Any) -> tuple[str, ...]:
    """Read ``"rucb:alpha=0.51"``, or ``{name = "rucb", alpha = [0.51, 1.0]}``; the labels it stands for, checked."""
    from ltr_duel.bandits import POLICIES

    if isinstance(given, str):
        labels: tuple[str, ...] = (text(given),)
    elif isinstance(given, dict) and "name" in given:
        names = [name for name in given if name != "name"]
        lists = [one if isinstance(one, list) else [one] for one in (given[name] for name in names)]
        labels = tuple(_label(text(given["name"]), dict(zip(names, chosen, strict=True))) for chosen in product(*lists))
    else:
        raise InputError('must be a name with parameters, "rucb:alpha=0.51", or {name = "rucb", alpha = 0.51}')
    return tuple(POLICIES.configure(label).label for label in labels)


def _label(name: str, params: dict[str, Any]) -> str:
    parts = [f"{key}={str(one).lower() if isinstance(one, bool) else one}" for key, one in params.items()]
    return f"{name}:{','.join(parts)}" if parts else name


@dataclass(frozen=True)
class Subsets:
    """Random subsets of the rankers."""

    size: tuple[int, ...] = axis(whole(1, 100_000))
    count: int = value(whole(1, 100_000), default=1)
    condorcet: bool = value(flag, default=False)  # the first drawn one that has a Condorcet winner
    seed: int = value(whole(-_NO_LIMIT), default=0)


@dataclass(frozen=True)
class Synthetic:
    """A corpus that the program makes up."""

    queries: int = value(whole(1, 10**6), default=200)
    documents: int = value(whole(2, 10**4), default=60)
    features: int = value(whole(2, 10**4), default=136)
    grades: int = value(whole(2, 5), default=5)
    seed: int = value(whole(-_NO_LIMIT), default=0)


@dataclass(frozen=True)
class CorpusSpec:
    """Rankers of a corpus, compared on simulated users."""

    path: tuple[str, ...] = axis(text, default=())
    synthetic: Synthetic | None = table(Synthetic, default=None)  # noqa: RUF009 -- declares a field
    split: str | None = value(one_of("split", lambda: ("train", "vali", "test")), default=None)
    fold: int | None = value(whole(1, 5), default=None)
    ties: str = value(one_of("tie rule", _tie_rules), default="fixed_random")
    drop_constant: bool = value(flag, default=True)
    rankers: tuple[str, ...] = axis(text, default=())
    subsets: Subsets | None = table(Subsets, default=None)  # noqa: RUF009 -- declares a field
    clicks: tuple[str, ...] = axis(one_of("click model", _click_models), default=("navigational",))
    method: tuple[str, ...] = axis(text, default=("probabilistic",))
    outcome: tuple[str, ...] = axis(text, default=("marginal_sign",))
    top: tuple[int, ...] = axis(whole(1, 1000), default=(10,))
    comparisons: int = value(whole(2, _NO_LIMIT), default=4000)
    answers: tuple[str, ...] = axis(one_of("answers", lambda: ("matrix", "sweeps", "live")), default=("matrix",))
    slates: str = value(text, default="sosm")
    seed: int = value(whole(-_NO_LIMIT), default=0)
    name: str = value(text, default="")  # in place of the corpus's own
    source: str = value(text, default="")
    note: str = value(text, default="")

    def __post_init__(self) -> None:
        if bool(self.path) == (self.synthetic is not None):
            raise InputError("give either 'path' or 'synthetic'")
        if self.rankers and self.subsets:
            raise InputError("give either 'rankers' or 'subsets'")


@dataclass(frozen=True)
class MatrixSpec:
    """A preference matrix from a file, or written out, or of a family that a rule makes."""

    file: tuple[str, ...] = axis(text, default=())
    p: tuple[tuple[float, ...], ...] | None = value(square, default=None)
    family: tuple[str, ...] = axis(one_of("family of matrices", _families), default=())
    size: tuple[int, ...] = axis(whole(2, 100_000), default=())
    gamma: tuple[float, ...] = axis(number(1), default=())
    gap: tuple[float, ...] = axis(number(0, 0.5), default=())
    draws: int = value(whole(1, 100_000), default=1)  # of a family that is random
    subsets: Subsets | None = table(Subsets, default=None)  # noqa: RUF009 -- declares a field
    name: str = value(text, default="")
    answers: tuple[str, ...] = axis(one_of("answers", lambda: ("matrix", "sweeps")), default=("matrix",))
    clicks: str = value(one_of("click model", _click_models), default="")  # that it was estimated with
    source: str = value(text, default="")
    note: str = value(text, default="")

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
class UtilitySpec:
    """Arms with random utilities."""

    set: tuple[str, ...] = axis(one_of("set of utilities", _utility_sets), default=())
    means: tuple[float, ...] = axis(number(-1e9, 1e9), default=())
    family: tuple[str, ...] = axis(one_of("family of utilities", _utility_families), default=())
    path: str = value(text, default="")  # of a corpus: the mean of each feature, scaled to 0..1 within its query
    synthetic: Synthetic | None = table(Synthetic, default=None)  # noqa: RUF009 -- declares a field
    size: tuple[int, ...] = axis(whole(2, 100_000), default=())  # arms of a family; how many features, the first ones
    model: tuple[str, ...] = axis(
        one_of("model of utilities", lambda: ("normal", "linear", "logistic", "natural")), default=("normal",)
    )
    name: str = value(text, default="")
    source: str = value(text, default="")
    note: str = value(text, default="")

    def __post_init__(self) -> None:
        corpus = bool(self.path) + (self.synthetic is not None)
        if bool(self.set) + bool(self.means) + bool(self.family) + corpus != 1:
            raise InputError("give either 'set' or 'means' or 'family' or 'path' or 'synthetic'")
        if not (self.set or self.family or self.name):
            raise InputError("means that are written out, or come from a corpus, need a 'name'")
        if bool(self.size) != bool(self.family or corpus):
            raise InputError("'size' belongs to a 'family', a 'path' or a 'synthetic', which need it")


@dataclass(frozen=True)
class Spec:
    """A whole experiment."""

    policies: tuple[tuple[str, ...], ...] = axis(policy)
    horizon: tuple[int, ...] = axis(whole(1, _NO_LIMIT), default=(1_000_000,))
    repetitions: int = value(whole(1, 10**7), default=10)
    seed: int = value(whole(-_NO_LIMIT), default=0)
    regrets: tuple[str, ...] = axis(one_of("regret", _regrets), default=("average", "copeland"))
    checkpoints_per_decade: int = value(whole(1, 10_000), default=20)
    name: str = value(text, default="")
    matrices: tuple[MatrixSpec, ...] = tables(MatrixSpec, default=())
    corpora: tuple[CorpusSpec, ...] = tables(CorpusSpec, default=())
    utilities: tuple[UtilitySpec, ...] = tables(UtilitySpec, default=())

    def __post_init__(self) -> None:
        if not (self.matrices or self.corpora or self.utilities):
            raise InputError("there is nothing to run on: give [[matrices]], [[corpora]] or [[utilities]]")
        labels = self.labels
        for k, label in enumerate(labels):
            if label in labels[:k]:
                raise InputError(f"policies: '{label}' is there twice")

    @property
    def labels(self) -> tuple[str, ...]:
        """The policies with their parameters, as the user named them."""
        return tuple(label for group in self.policies for label in group)


@dataclass(frozen=True)
class SpecFile:
    """A spec with the file it came from: relative paths in it start at the file's folder."""

    path: Path
    content: str
    spec: Spec

    @property
    def digest(self) -> str:
        """SHA-256 of the text."""
        return hashlib.sha256(self.content.encode()).hexdigest()


def read_spec(path: str | Path, content: str | None = None) -> SpecFile:
    """Read an experiment.

    Parameters
    ----------
    path : str or Path
        The TOML file.
    content : str, optional
        Its text, where the file itself need not exist any more.

    Raises
    ------
    InputError
        If the file does not exist, is not TOML, or holds what is not legal; the sentence names the key.
    """
    path = Path(path)
    try:
        content = path.read_text(encoding="utf-8") if content is None else content
        given = tomllib.loads(content)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not TOML: {error}") from None
    return SpecFile(path, content, read_table(Spec, given, f"{path}:"))


def check_regrets(names: Iterable[str]) -> None:
    """Refuse a regret that does not exist."""
    legal = list(_regrets())
    for name in names:
        if name not in legal:
            raise unknown_name("regret", name, legal)
