"""Plug-in files: Python files of the user that register components of any kind."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import pkgutil
import sys
import traceback
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import NamedTuple

from ltr_duel.core.arguments import as_path
from ltr_duel.core.components import REGISTRIES
from ltr_duel.core.errors import InputError

# Registries of all kinds of components. They are loaded before a plug-in file runs, to find out what the file adds.
_HOMES = (
    "ltr_duel.bandits:POLICIES",
    "ltr_duel.interleaving:METHODS",
    "ltr_duel.clicks:CLICK_MODELS",
)


class _AsItIsNow(SourceFileLoader):
    """Runs a file's current source. Python's loader stores bytecode, and misses a second edit within one second."""

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


class Plugin(NamedTuple):
    """A loaded plug-in file."""

    path: str
    sha256: str
    components: tuple[tuple[str, str], ...]

    def defines(self, kind: str, name: str) -> bool:
        """Return whether the component is defined in this file."""
        return (kind, name) in self.components


_loaded: dict[Path, Plugin] = {}  # the current version of each file


def load_plugin(path: str | Path) -> Plugin:
    """Run a Python file that registers components, so that their names can be used.

    If the file was loaded before and has been edited, its components replace those of the earlier version. If the new
    version cannot be used, those of the earlier version remain.

    Parameters
    ----------
    path : str or Path
        A Python file, written like the modules of this package that register components.

    Returns
    -------
    Plugin

    Raises
    ------
    InputError
        If the file does not exist, fails, registers nothing, or uses an existing name.

    Examples
    --------
    >>> load_plugin("absent.py")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ltr_duel.core.errors.InputError: ...absent.py: there is no such plug-in file
    """
    path = Path(os.path.realpath(as_path("a plug-in", path)))  # circular links are left as they are
    if not path.is_file():
        raise InputError(f"{path}: there is no such plug-in file")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    earlier = _loaded.get(path)
    if earlier and earlier.sha256 == digest:
        return earlier
    if path.suffix != ".py":
        raise InputError(f"{path}: a plug-in is a Python file and ends in .py")
    for home in _HOMES:
        pkgutil.resolve_name(home)
    registries = {registry.kind: registry for registry in REGISTRIES}
    replaced = [
        (registries[kind], registries[kind][name])
        for kind, name in (earlier.components if earlier else ())
        if name in registries[kind]
    ]
    for registry, item in replaced:
        registry.remove(item.name)
    before = {kind: set(registry.names()) for kind, registry in registries.items()}
    name = f"ltr_duel_plugin_{path.stem}"
    known = sys.modules.get(name)
    try:
        _run(name, path)
        added = _added(before)
        if not added:
            raise InputError("registers no component; end it with register(__name__, ...) or policy_from_class(...)")
    except BaseException as error:
        for kind, one in _added(before):
            registries[kind].remove(one)
        for registry, item in replaced:
            registry.add(item)
        sys.modules.pop(name, None)
        if known is not None:
            sys.modules[name] = known
        if isinstance(error, KeyboardInterrupt):
            raise
        said = error if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
        raise InputError(f"{path}: {said}") from error
    _loaded[path] = Plugin(str(path), digest, added)
    return _loaded[path]


def _run(name: str, path: Path) -> None:
    """Run a file as the module ``name``."""
    loader = _AsItIsNow(name, str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))  # type: ignore[arg-type]  # it has a file
    sys.modules[name] = module
    loader.exec_module(module)


def plugin_complaint(error: BaseException) -> str | None:
    """Return location and message of an error that was raised in a plug-in; None if it was raised elsewhere."""
    files = set(map(str, _loaded))
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in files]
    if not frames:
        return None
    file, line, function, _ = frames[-1]
    return f"{file}:{line}: {function} raised {type(error).__name__}: {error}".rstrip(": ")


def reload_plugin(plugin: Plugin) -> None:
    """Load a plug-in in a worker.

    Raises `InputError` if the file has changed since the plan was made, or cannot be used.
    """
    path = Path(plugin.path)
    if _loaded.get(path) != plugin and load_plugin(path).sha256 != plugin.sha256:
        raise InputError(f"{path}: changed since the experiment was started")


def _added(before: dict[str, set[str]]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (registry.kind, name)
        for registry in REGISTRIES
        for name in registry.names()
        if name not in before.get(registry.kind, set())
    )
