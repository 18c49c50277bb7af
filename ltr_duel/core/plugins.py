"""Plug-in files: Python files of the user that add policies, comparison methods or click models."""

from __future__ import annotations

import hashlib
import os
import pkgutil
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from ltr_duel.core.arguments import as_path
from ltr_duel.core.components import REGISTRIES
from ltr_duel.core.errors import InputError

# The registries of all kinds of components.
_HOMES = ("ltr_duel.bandits:POLICIES", "ltr_duel.interleaving:METHODS", "ltr_duel.clicks:CLICK_MODELS")


class Plugin(NamedTuple):
    """A loaded plug-in file, with kind and name of each of its components."""

    path: str
    sha256: str
    components: tuple[tuple[str, str], ...]


_loaded: dict[Path, Plugin] = {}  # the current version of each file


def load_plugin(path: str | Path) -> Plugin:
    """Run a Python file that registers components, so that their names can be used.

    You may edit the file and load it again. Its components then replace the earlier ones, unless the new version fails.

    Parameters
    ----------
    path : str or Path
        A Python file that registers components, as the modules of this package do.

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
    source = path.read_bytes()
    digest, earlier = hashlib.sha256(source).hexdigest(), _loaded.get(path)
    if earlier and earlier.sha256 == digest:
        return earlier
    for home in _HOMES:
        pkgutil.resolve_name(home).names()  # imports the built-in components
    before = {registry: dict(registry._items) for registry in REGISTRIES}
    for registry in REGISTRIES:
        for kind, name in earlier.components if earlier else ():
            if kind == registry.kind:
                registry._items.pop(name, None)
    others = {registry: set(registry._items) for registry in REGISTRIES}
    module = ModuleType(f"ltr_duel_plugin_{path.stem}")
    module.__file__, replaced = str(path), sys.modules.get(module.__name__)
    sys.modules[module.__name__] = module
    try:
        exec(compile(source, path, "exec"), vars(module))
        added = [(registry.kind, name) for registry in REGISTRIES for name in registry._items.keys() - others[registry]]
        if not added:
            raise InputError("registers no component; end it with register(__name__, ...) or policy_from_class(...)")
    except BaseException as error:
        for registry, items in before.items():
            registry._items = items
        if replaced is None:
            del sys.modules[module.__name__]
        else:
            sys.modules[module.__name__] = replaced
        if isinstance(error, KeyboardInterrupt):
            raise
        fault = error if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
        raise InputError(f"{path}: {fault}") from error
    _loaded[path] = Plugin(str(path), digest, tuple(sorted(added)))
    return _loaded[path]


def reload_plugin(plugin: Plugin) -> None:
    """Load a plug-in in a worker. Raise `InputError` if the file fails or has changed in the meantime."""
    path = Path(plugin.path)
    if _loaded.get(path) != plugin and load_plugin(path).sha256 != plugin.sha256:
        raise InputError(f"{path}: changed since the experiment was started")


def plugin_complaint(error: BaseException) -> str | None:
    """Return place and message of an error that was raised in a plug-in, or None for another error."""
    files = set(map(str, _loaded))
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in files]
    if not frames:
        return None
    file, line, function, _ = frames[-1]
    return f"{file}:{line}: {function} raised {type(error).__name__}: {error}".rstrip(": ")
