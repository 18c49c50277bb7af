"""Find components by the names that users type. Components are policies, comparison methods and click models.

Each component is defined in one file, which is a module of this package or a plug-in file of the user. The file
registers the component in a `Registry`. There is one registry for each kind of component.
"""

from __future__ import annotations

import importlib
import math
import pkgutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar

from ltr_duel.core import errors
from ltr_duel.core.digest import sha256_file
from ltr_duel.core.errors import InputError
from ltr_duel.core.references import Reference, reference_of

_KINDS = {bool: "true or false", int: "a whole number", float: "a number"}
_LISTED = {"policy": "policies", "comparison method": "methods", "click model": "clicks"}  # words of `ltr-duel list`


class NoParams(NamedTuple):
    """An empty NamedTuple, for components without parameters."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Component:
    """The base class of policies, comparison methods and click models.

    Parameters
    ----------
    name : str
        The name that users type.
    params : type
        A NamedTuple class whose fields are the parameters of the component. Every field needs a default.
    limits : mapping of str to (low, high)
        The smallest and largest value of each numeric parameter. Write None instead of the largest value if there is no
        limit. By default, any finite value is valid.
    choices : mapping of str to tuple of str
        The valid values of each parameter that is a string.
    cite : str
        The publications that describe the component, the main source first. Give keys of ``references.bib``, separated
        by commas, or a single BibTeX entry.
    where : str
        The place in the main source, such as "Algorithm 1".

    Examples
    --------
    >>> Component(name="mine", cite="zoghi2014rucb", where="Algorithm 1").sources[0].short
    'Zoghi et al., ICML 2014'
    """

    name: str
    params: Callable[..., Any] = field(default=NoParams, repr=False)
    limits: Mapping[str, tuple[float, float | None]] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    cite: str = field(default="", repr=False)
    where: str = field(default="", repr=False)

    @property
    def sources(self) -> tuple[Reference, ...]:
        """The publications that describe the component."""
        keys = [self.cite] if self.cite.lstrip().startswith("@") else self.cite.split(",")
        return tuple(reference_of(key.strip()) for key in keys if key)

    @property
    def parameters(self) -> str:
        """The parameters with their defaults, as a user types them."""
        return ",".join(f"{key}={value}" for key, value in self.params()._asdict().items())

    def facts(self) -> dict[str, str]:
        """Return the parameters and the source, for a table of components."""
        cited = "; ".join(map(str, self.sources)) or "not stated"
        return {"parameters": self.parameters or "none", "source": f"{cited}, {self.where}" if self.where else cited}


Item = TypeVar("Item", bound=Component)


class Configured(NamedTuple, Generic[Item]):
    """A component, together with the parameters that a user has chosen."""

    label: str  # what the user typed, without spaces
    component: Item
    params: Any


class Registry(Generic[Item]):
    """A collection of all components of one kind, for example of all policies. It finds a component by its name.

    If you ask for a component that has the name of its module, only this module is imported. For any other name, all
    modules of the package are imported.

    Parameters
    ----------
    kind : str
        The kind of component, as error messages call it, for example ``"policy"``.
    package : str
        The package whose modules register the components, for example ``"ltr_duel.bandits.policies"``.
    bind : callable, optional
        A function that is called with each component before the component is used.
    check : str
        The location of a function that tests a component, for example ``"ltr_duel.bandits.check:check_policy"``.
    files : tuple of str, optional
        A suffix of file names, and the location of a function that makes a component from a file with this suffix.
        Users may then type the name of a file. The name of the component is the name of the file with the first digits
        of its SHA-256, for example ``users.json#1f0c8a93``. If users type these digits, too, a file that has changed
        since is refused.

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
        bind: Callable[[Item], None] = lambda item: None,
        *,
        check: str,
        files: tuple[str, str] | None = None,
    ) -> None:
        self.kind, self._package, self._bind, self._check, self._files = kind, package, bind, check, files
        self._items: dict[str, Item] = {}
        self._complete = False
        REGISTRIES.append(self)

    def add(self, item: Item) -> Item:
        """Register a component.

        Raises `InputError` if another component has the same name, or if the component has limits or choices for a
        parameter that does not exist.
        """
        if self._find(item.name):
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
        """Test whether a component follows the rules of its kind. Raise `InputError` if it does not."""
        pkgutil.resolve_name(self._check)(item)

    def names(self) -> list[str]:
        """Return the names of all components, sorted."""
        if not self._complete:
            self._complete = True
            for module in self._modules():
                importlib.import_module(f"{self._package}.{module}")
        return sorted(self._items)

    def __getitem__(self, name: str) -> Item:
        """Return the component called ``name``. Raise `InputError` if there is none."""
        if name not in self:
            raise unknown_component(self.kind, name, self.names())
        return self._items[name]

    def get(self, name: str) -> Item | None:
        """Return the component called ``name``, or None."""
        return self[name] if name in self else None  # noqa: SIM401 -- this is `get`

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (self._find(name) or name in self.names())

    def __iter__(self) -> Iterator[Item]:
        return (self[name] for name in self.names())

    def configure(self, text: str | Item) -> Configured[Item]:
        """Return a component with the parameters in a text, for example ``rucb`` or ``mdb:alpha=0.5,beta=1.5``.

        Instead of a text, you can pass a component, even if it is not registered. It has its default parameters.

        Raises
        ------
        InputError
            For an unknown name, an unknown or repeated parameter, or an invalid value.
        """
        if isinstance(text, Component):
            self._bind(text)
            return Configured(text.name, text, text.params())
        if not isinstance(text, str):
            raise InputError(f"a {self.kind} must be a name or an object of that kind, not {errors.shown(text)}")
        label = "".join(text.split())
        name, colon, rest = label.partition(":")
        if self._files and name.partition("#")[0].endswith(self._files[0]):
            item = self._from_file(text.partition(":")[0].strip(), *self._files)
            label = item.name + label.removeprefix(name)
        else:
            item = self[name]
        defaults, given = item.params()._asdict(), {}
        for part in rest.split(",") if colon else ():
            key, equals, value = part.partition("=")
            if not equals or key in given:
                fault = f"{key} is given twice" if key in given else f"'{part}' must be written as key=value"
                raise InputError(f"{self.kind} '{label}': {fault}")
            if key not in defaults:
                raise errors.unknown_name(f"parameter of {self.kind} {item.name} called", key, defaults)
            given[key] = self._value(item, label, key, value, type(defaults[key]))
        return Configured(label, item, item.params(**given))

    def _from_file(self, given: str, suffix: str, maker: str) -> Item:
        path, _, digest = given.partition("#")
        try:
            actual = sha256_file(path)[:8]
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise InputError(f"{path}: {why}; give the name of a {self.kind} or the path of its file") from None
        if digest and digest != actual:
            raise InputError(f"{path} is not the expected file: its digest is {actual}, not {digest}")
        item: Item = pkgutil.resolve_name(maker)(Path(path), f"{path}#{actual}")
        self._bind(item)
        return item

    def _value(self, item: Item, label: str, key: str, text: str, kind: type) -> Any:
        if kind is str:
            errors.require_one_of(f"{key} for {self.kind} {item.name} called", text, item.choices.get(key, [text]))
            return text
        try:
            value = {"true": True, "1": True, "false": False, "0": False}[text.lower()] if kind is bool else kind(text)
        except (KeyError, ValueError):
            raise InputError(f"{self.kind} '{label}': {key} must be {_KINDS[kind]}, not '{text}'") from None
        if key in item.limits:
            errors.require_between(f"{self.kind} '{label}': {key}", value, *item.limits[key])
        if not math.isfinite(value):
            raise InputError(f"{self.kind} '{label}': {key} must be finite, not {value}")
        return value

    def _find(self, name: str) -> bool:
        if name not in self._items and not self._complete and name in self._modules():
            importlib.import_module(f"{self._package}.{name}")
        return name in self._items

    def _modules(self) -> list[str]:
        return [module.name for module in pkgutil.iter_modules(importlib.import_module(self._package).__path__)]


REGISTRIES: list[Registry[Any]] = []


def unknown_component(kind: str, name: str, names: Iterable[str]) -> InputError:
    """Return the error for a name that no component has."""
    own = f"for a custom {kind}, use --plugin FILE (in Python: load_plugin)"
    command = f"ltr-duel list {_LISTED[kind]}" if kind in _LISTED else ""
    return errors.unknown_name(kind, name, names, otherwise=own, command=command)


def module_parts(module: str, names: Iterable[str]) -> dict[str, Any]:
    """Return a dict of what a module defines under the given names. The key ``name`` is the name of the module."""
    defined = vars(sys.modules[module])
    return {"name": Path(defined.get("__file__", "")).stem} | {name: defined[name] for name in names if name in defined}
