"""Components: policies, comparison methods, click models.

Each component is defined in one file, which also registers it. The file is a module in the package for its kind, a
plug-in file that the user names (`load_plugin`), or a module that an installed package declares under the entry point
group ``ltr_duel.plugins``.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import math
import pkgutil
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar

from ltr_duel.core.digest import sha256_file
from ltr_duel.core.errors import InputError, shown, unknown_name
from ltr_duel.core.references import Reference, reference_of

GROUP = "ltr_duel.plugins"


class NoParams(NamedTuple):
    """The parameters of a component without parameters."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Component:
    """The common base of all kinds of components.

    Parameters
    ----------
    name : str
        Name that users type.
    params : type
        A NamedTuple class; every field has a default.
    limits : mapping of str to (low, high)
        Valid closed range of each numeric parameter; None for no bound.
    choices : mapping of str to tuple of str
        Valid values of each string parameter.
    cite : str
        Sources, the main one first: keys of ``references.bib`` separated by commas, or a BibTeX entry.
    where : str
        Section or algorithm in the source.

    Examples
    --------
    >>> Component(name="mine", cite="zoghi2014rucb", where="Algorithm 1").sources[0].short
    'Zoghi et al., ICML 2014'
    """

    name: str
    params: Callable[..., Any] = field(default=NoParams, repr=False)
    limits: Mapping[str, tuple[float | None, float | None]] = field(
        default_factory=lambda: MappingProxyType({}), repr=False
    )
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    cite: str = field(default="", repr=False)
    where: str = field(default="", repr=False)

    @property
    def sources(self) -> tuple[Reference, ...]:
        """The works that describe the component."""
        keys = [self.cite] if self.cite.lstrip().startswith("@") else self.cite.split(",")
        return tuple(reference_of(key.strip()) for key in keys if key)

    @property
    def parameters(self) -> str:
        """The parameters with their defaults, as a user would write them."""
        return ",".join(f"{key}={value}" for key, value in self.params()._asdict().items())

    def facts(self) -> dict[str, str]:
        """Return the facts about the component, keyed by column heading."""
        cited = "; ".join(map(str, self.sources)) or "not stated"
        return {"parameters": self.parameters or "none", "source": f"{cited}, {self.where}" if self.where else cited}


Item = TypeVar("Item", bound=Component)


class Configured(NamedTuple, Generic[Item]):
    """A component with its parameters; the label is the user's text, without spaces."""

    label: str
    component: Item
    params: Any


class Registry(Generic[Item]):
    """The components of one kind, by name.

    Most built-in components have the same name as their module, so their look-up imports only this module. Any other
    look-up, or a list of the names, imports all modules of the kind's package and the modules of installed plug-ins.

    Parameters
    ----------
    kind : str
        Word for a component of this kind in error messages, for example ``"policy"``.
    package : str
        The package whose modules register components, for example ``"ltr_duel.bandits.policies"``.
    bind : callable, optional
        Called with each component before the component is first used.
    check : str
        Location of the function that tests whether a component satisfies the contract of its kind, for example
        ``"ltr_duel.bandits.check:check_policy"``.
    files : tuple of str, optional
        A suffix of file names, and the location of a function that makes a component from such a file. Users may then
        type a file name instead of a component's name. The name of the component then ends with a digest of the file,
        as in ``users.json#1f0c8a93``; the name is invalid after the content of the file has changed.

    Examples
    --------
    >>> from ltr_duel.clicks import CLICK_MODELS
    >>> "navigational" in CLICK_MODELS, CLICK_MODELS["navigational"].name
    (True, 'navigational')
    """

    def __init__(
        self,
        kind: str,
        package: str,
        bind: Callable[[Item], None] | None = None,
        *,
        check: str,
        files: tuple[str, str] | None = None,
    ) -> None:
        self.kind = kind
        self._package = package
        self._bind = bind or (lambda item: None)
        self._check = check
        self._files = files
        self._items: dict[str, Item] = {}
        self._complete = False
        REGISTRIES.append(self)

    def add(self, item: Item) -> Item:
        """Register a component under a new name.

        Raises
        ------
        InputError
            If a component of that name exists, or limits or choices are given for what is no parameter.
        """
        if self._found(item.name):
            raise InputError(f"a {self.kind} named '{item.name}' already exists; choose a different name")
        for key in {*item.limits, *item.choices} - set(item.params()._fields):
            raise InputError(f"{self.kind} '{item.name}': limits or choices of '{key}', which is no parameter")
        self._bind(item)
        self._items[item.name] = item
        return item

    def remove(self, name: str) -> None:
        """Remove a component, for example one from a faulty plug-in."""
        del self._items[name]

    def check(self, item: str | Item) -> None:
        """Test that a component satisfies the contract of its kind.

        Raises
        ------
        InputError
            If the component violates the contract; the message names the component and the fault.
        """
        pkgutil.resolve_name(self._check)(item)

    def names(self) -> list[str]:
        """All names, sorted."""
        self._import_modules()
        return sorted(self._items)

    def __getitem__(self, name: str) -> Item:
        """Return the component called ``name``; an unknown name raises `InputError` with the valid names."""
        if name not in self:
            own = f"for a custom {self.kind}, use --plugin FILE (in Python: load_plugin)"
            raise unknown_name(self.kind, name, self.names(), otherwise=own)
        return self._items[name]

    def get(self, name: str) -> Item | None:
        """Return the component called ``name``, or None."""
        return self[name] if name in self else None  # noqa: SIM401 -- this is `get`

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (self._found(name) or name in self.names())

    def _found(self, name: str) -> bool:
        """Return whether a component is registered, after importing the module of the same name, if there is one."""
        if name not in self._items and not self._complete and name in self._modules():
            importlib.import_module(f"{self._package}.{name}")
        return name in self._items

    def __iter__(self) -> Iterator[Item]:
        return (self[name] for name in self.names())

    def configure(self, text: str | Item) -> Configured[Item]:
        """Parse ``name`` or ``name:key=value,key=value``, or accept a component object with its default parameters.

        A component given as an object need not be registered.

        Raises
        ------
        InputError
            For an unknown name, an unknown or repeated parameter, or an invalid value.
        """
        if not isinstance(text, str | Component):
            raise InputError(f"a {self.kind} must be a name or an object of that kind, not {shown(text)}")
        if not isinstance(text, str):
            self._bind(text)
            return Configured(text.name, text, self._checked(text.name, text, text.params()))
        label = "".join(text.split())
        name, colon, rest = label.partition(":")
        path, _, digest = text.partition(":")[0].strip().partition("#")
        if self._files and path.endswith(self._files[0]):
            item = self._from_file(path, digest, *self._files)
            name = item.name
            label = f"{name}:{rest}" if rest else name
        else:
            item = self[name]
        defaults = item.params()._asdict()
        given: dict[str, Any] = {}
        for part in rest.split(",") if colon else ():
            key, equals, value = part.partition("=")
            if not part or not equals:
                example = f", as in '{name}:{key}={defaults[key]}'" if key in defaults else ""
                raise InputError(f"{self.kind} '{label}': '{part}' must be written as key=value{example}")
            if key not in defaults:
                raise unknown_name(f"parameter of {self.kind} {name} called", key, defaults)
            if key in given:
                raise InputError(f"{self.kind} '{label}': {key} is given twice")
            given[key] = self._converted(label, key, value, defaults[key])
        return Configured(label, item, self._checked(label, item, item.params(**given)))

    def _from_file(self, path: str, digest: str, suffix: str, maker: str) -> Item:
        """Make a component from a file. Raise `InputError` if the file's digest differs from ``digest``."""
        try:
            actual = sha256_file(Path(path))[:8]
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise InputError(f"{path}: {why}; give the name of a {self.kind} or the path of its file") from None
        if digest and digest != actual:
            raise InputError(f"{path} is not the expected file: its digest is {actual}, not {digest}")
        item: Item = pkgutil.resolve_name(maker)(Path(path), f"{path}#{actual}")
        self._bind(item)
        return item

    def _converted(self, label: str, key: str, value: str, default: Any) -> Any:
        """Convert a value to the type of its default."""
        try:
            if isinstance(default, bool):
                return {"true": True, "1": True, "false": False, "0": False}[value.lower()]
            return type(default)(value)
        except (KeyError, ValueError):
            kinds = {bool: "true or false", int: "a whole number"}
            kind = kinds.get(type(default), "a number")
            raise InputError(f"{self.kind} '{label}': {key} must be {kind}, not '{value}'") from None

    def _checked(self, label: str, item: Item, params: Any) -> Any:
        for key, value in params._asdict().items():
            if key in item.choices:
                if value not in item.choices[key]:
                    raise unknown_name(f"{key} for {self.kind} {item.name} called", value, item.choices[key])
            elif not isinstance(value, str):
                low, high = item.limits.get(key, (None, None))
                least, most = (-math.inf if low is None else low), (math.inf if high is None else high)
                if not (least <= value <= most and abs(value) < math.inf):
                    legal = "finite" if low is None else f"at least {low:g}"
                    if high is not None:
                        legal = f"at most {high:g}" if low is None else f"between {low:g} and {high:g}"
                    raise InputError(f"{self.kind} '{label}': {key} must be {legal}, not {value}")
        return params

    def _import_modules(self) -> None:
        if self._complete:
            return
        self._complete = True
        for module in self._modules():
            importlib.import_module(f"{self._package}.{module}")
        _import_installed()

    def _modules(self) -> list[str]:
        return [module.name for module in pkgutil.iter_modules(importlib.import_module(self._package).__path__)]


def page_parts(page: str, names: Iterable[str]) -> dict[str, Any]:
    """Return a module's definitions of the given names, and the stem of its file name under the key ``name``."""
    defined = vars(sys.modules[page])
    return {"name": Path(defined.get("__file__", "")).stem} | {name: defined[name] for name in names if name in defined}


REGISTRIES: list[Registry[Any]] = []
_installed: set[str] = set()


def _import_installed() -> None:
    """Import the modules that installed packages declare; skip a module that fails, with a warning."""
    for point in importlib.metadata.entry_points(group=GROUP):
        if point.value in _installed:
            continue
        _installed.add(point.value)
        try:
            point.load()
        except (Exception, SystemExit) as error:
            warnings.warn(f"plug-in '{point.name}' ({point.value}) is skipped: {error}", stacklevel=2)
