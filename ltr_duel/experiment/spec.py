"""The TOML file of an experiment. This module reads only this file, and executes the plug-ins that it names.

Lists are combined as a product: each problem x policy x horizon x repetition is one run.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from ltr_duel.bandits import POLICIES
from ltr_duel.core import InputError, arguments, schema
from ltr_duel.core import plugins as core_plugins
from ltr_duel.experiment.problem_specs import NO_LIMIT, CorpusSpec, MatrixSpec, UtilitySpec
from ltr_duel.simulation import REGRETS

_MOST_LABELS = 10_000  # largest number of policies in one entry


def _policy(given: Any) -> tuple[str, ...]:
    """Return the labels of one of the ``policies``: ``"rucb:alpha=0.51"`` or ``{name = "rucb", alpha = [0.51, 1]}``."""
    if isinstance(given, str):
        labels: tuple[str, ...] = (schema.text(given),)
    elif isinstance(given, dict) and "name" in given:
        names = [name for name in given if name != "name"]
        lists = [one if isinstance(one, list) else [one] for one in (given[name] for name in names)]
        if (many := math.prod(map(len, lists))) > _MOST_LABELS:
            raise InputError(f"stands for {many:,} policies; at most {_MOST_LABELS:,} can be listed at once")
        name = schema.text(given["name"])
        labels = tuple(_label(name, dict(zip(names, chosen, strict=True))) for chosen in product(*lists))
    else:
        raise InputError('must be a name with parameters, "rucb:alpha=0.51", or {name = "rucb", alpha = 0.51}')
    return tuple(POLICIES.configure(label).label for label in labels)


def _label(name: str, params: dict[str, Any]) -> str:
    parts = [f"{key}={str(one).lower() if isinstance(one, bool) else one}" for key, one in params.items()]
    return f"{name}:{','.join(parts)}" if parts else name


@dataclass(frozen=True)
class Spec:
    """An experiment, read by `read_spec`: every problem x horizon x policy x repetition is a run.

    Raises `InputError` if there is no problem, a batch or delay exceeds the horizon, or a policy is given twice.
    """

    policies: tuple[tuple[str, ...], ...] = schema.axis(
        _policy, 'policies = ["rucb", "mdb"]; ltr-duel policies lists all'
    )
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
        seen = set()
        for label in self.labels:
            if label in seen:
                raise InputError(f"policies: '{label}' is given twice")
            seen.add(label)

    @property
    def labels(self) -> tuple[str, ...]:
        """The policies with their parameters."""
        return tuple(label for group in self.policies for label in group)


@dataclass(frozen=True)
class SpecFile:
    """A spec with its file and the plug-ins it needs; paths in the spec are relative to the folder of the file."""

    path: Path
    content: str
    spec: Spec
    plugins: tuple[core_plugins.Plugin, ...] = ()

    @property
    def digest(self) -> str:
        """SHA-256 of the text."""
        return hashlib.sha256(self.content.encode()).hexdigest()


def read_spec(
    path: str | Path, content: str | None = None, *, plugins: Sequence[str | Path] = (), load_named: bool = True
) -> SpecFile:
    """Read an experiment.

    Parameters
    ----------
    path : str or Path
        The TOML file.
    content : str, optional
        The text of the file, which then need not exist.
    plugins : sequence of path
        Plug-in files to load first, in addition to those named in the file.
    load_named : bool
        Whether to load the plug-ins named in the file. Plug-ins run with the rights of the user, so do not load them
        for an experiment from an untrusted source.

    Returns
    -------
    SpecFile
        With the attributes ``path``, ``content``, ``spec`` (a `Spec`) and ``plugins``.

    Raises
    ------
    InputError
        If the file does not exist, is not TOML, or contains an invalid value; the message names the key.

    Examples
    --------
    >>> read_spec("one.toml", "policies = 'rubc'")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ltr_duel.core.errors.InputError: one.toml: policies: no policy 'rubc'; did you mean 'rucb'? (...)
    """
    path = arguments.as_path("an experiment", path)
    content, given = schema.read_toml(path, content)
    named = schema.one_or_more(schema.text, given["plugins"], f"{path}: plugins") if "plugins" in given else ()
    with schema.located(f"{path}: plugins"):  # plug-ins are loaded first, because they may define policies
        more = [path.parent / one for one in named] if load_named else []
        loaded = [core_plugins.load_plugin(one) for one in [*plugins, *more]]
    once = {plugin.sha256: plugin for plugin in loaded}  # a file may be named twice
    return SpecFile(path, content, schema.read_table(Spec, given, f"{path}:"), tuple(once.values()))
