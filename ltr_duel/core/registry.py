"""Registries that fill themselves: a new policy, method or click model is one new file and no edit elsewhere."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Generic, TypeVar

from ltr_duel.core.errors import unknown_name

Item = TypeVar("Item")


class PlainRegistry(Generic[Item]):
    """Named items, registered by the modules of one package when they are imported.

    The modules are imported on the first look-up, not before, so that importing the package stays cheap.

    Parameters
    ----------
    kind : str
        What an item is called in errors, for example ``"policy"``.
    package : str
        The package whose modules register items, for example ``"ltr_duel.bandits"``.
    """

    def __init__(self, kind: str, package: str) -> None:
        self.kind = kind
        self._package = package
        self._items: dict[str, Item] = {}
        self._complete = False

    def add(self, name: str, item: Item) -> Item:
        """Register ``item`` under ``name``; a name is given once."""
        if name in self._items:
            raise ValueError(f"{self.kind} '{name}' is registered twice")
        self._items[name] = item
        return item

    def names(self) -> list[str]:
        """All registered names, sorted."""
        self._import_modules()
        return sorted(self._items)

    def __getitem__(self, name: str) -> Item:
        """Return the item called ``name``; an unknown name raises `InputError` with the legal ones."""
        self._import_modules()
        try:
            return self._items[name]
        except KeyError:
            raise unknown_name(self.kind, name, self.names()) from None

    def __contains__(self, name: object) -> bool:
        self._import_modules()
        return name in self._items

    def __iter__(self) -> Iterator[Item]:
        return (self[name] for name in self.names())

    def _import_modules(self) -> None:
        if self._complete:
            return
        self._complete = True
        package = importlib.import_module(self._package)
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{self._package}.{module.name}")
