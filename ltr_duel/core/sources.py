"""Find the source files that compiled code depends on, so that its cache is renewed exactly when one of them changes.

numba's disk cache notices an edit of a kernel's file, but not of the files that this file imports. This module finds
imports by parsing the text of files; it imports none of them. File names are strings, because `Path` objects would
double the time that each process spends in this module when it loads a kernel.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_IMPORT = re.compile(r"^\s*from (ltr_duel[\w.]*|\.+[\w.]*) import (\([^)]*\)|[^\n]*)", re.M)
_STUB = re.compile(r"^@dispatched", re.M)
_IMPLEMENTS = re.compile(r"^\s*(?:implement\(|register\(\s*__name__)", re.M)  # `register` implements stubs
# The simulation loop of a policy depends on no other policy's module; `kernel_for` receives the policy's own module.
_PAGES = f"{ROOT / 'bandits' / 'policies'}{os.sep}"


@functools.cache
def sources_digest() -> str:
    """Return the SHA-256 of all Python files of the package."""
    return _digest(_all_files())


@functools.cache
def kernel_digest(modules: frozenset[str], compiler: str) -> str:
    """Return the SHA-256 of the compiler's settings and of all source files that kernels of these modules depend on.

    These are the files of the modules and of all their imports. If one of the files contains a dispatched stub, all
    modules of the package that implement stubs are added, except the modules of policies.
    """
    files = _closure(filter(None, map(_file, modules)))
    if any(_STUB.search(_text(file)) for file in files):
        files |= _closure(file for file in _implementing() if not file.startswith(_PAGES))
    return hashlib.sha256(f"{compiler}\0{_digest(files)}".encode()).hexdigest()


def _digest(files: Iterable[str]) -> str:
    """Return one SHA-256 for several files of the package, computed from their paths and texts."""
    return hashlib.sha256(b"".join(sorted(map(_fingerprint, files)))).hexdigest()


@functools.cache
def _fingerprint(file: str) -> bytes:
    place = file.removeprefix(f"{ROOT}{os.sep}").replace(os.sep, "/")
    return hashlib.sha256(f"{place}\0{_text(file)}".encode()).digest()


def _closure(files: Iterable[str]) -> set[str]:
    found: set[str] = set()
    ahead = list(files)
    while ahead:
        file = ahead.pop()
        if file not in found:
            found.add(file)
            ahead += _imported(file)
    return found


@functools.cache
def _imported(file: str) -> tuple[str, ...]:
    """Return the files that a file imports by ``from ... import ...``; `_exported` finds files by exported names."""
    found = []
    for module, listed in _IMPORT.findall(_text(file)):
        for name in re.findall(r"\w+", re.sub(r"#.*|\bas \w+", "", listed)):
            found.append(_file(f"{module}.{name}") or _exported(module, name) or _file(module))
    return tuple(filter(None, found))


def _exported(module: str, name: str) -> str | None:
    """Return the file from which a package exports a name."""
    inner = _stub(module).get(name)
    return None if inner is None else _file(module + inner)


@functools.cache
def _stub(package: str) -> dict[str, str]:
    """Return the module, such as ``".loop"``, of each name that a package exports in its ``__init__.pyi``."""
    stub = ROOT.joinpath(*package.split(".")[1:], "__init__.pyi")
    if not stub.is_file():
        return {}
    lines = reversed(_IMPORT.findall(_text(str(stub))))  # reversed, so that the first of two entries for a name counts
    return {name: inner for inner, listed in lines for name in re.findall(r"\w+", listed)}


@functools.cache
def _file(module: str) -> str | None:
    path = ROOT.joinpath(*module.split(".")[1:])
    return next((str(one) for one in (path.with_suffix(".py"), path / "__init__.py") if one.is_file()), None)


@functools.cache
def _implementing() -> tuple[str, ...]:
    # The search for the two strings rejects most files; the regular expression alone takes ten times as long.
    told = ((file, _text(file)) for file in _all_files())
    return tuple(f for f, text in told if ("implement(" in text or "register(" in text) and _IMPLEMENTS.search(text))


def _all_files() -> Iterator[str]:
    for folder, _, names in os.walk(ROOT):
        yield from (f"{folder}{os.sep}{name}" for name in names if name.endswith(".py"))


@functools.cache
def _text(file: str) -> str:
    with open(file, "rb", buffering=0) as stream:  # noqa: PTH123 -- Path is slower for 500 files
        return stream.read().decode("utf-8")
