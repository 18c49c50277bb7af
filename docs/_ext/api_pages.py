"""A page for each package: its public names, from their docstrings. Written to ``generated/api`` before each build."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from names import PACKAGE, homes, public_names
from pages import first_sentence, written

_EXPORT = r"^from \.([\w.]+) import {name} as {name}$"


def constant_page(package: str, name: str, value: Any) -> str:
    """Describe a constant by the comment at its definition."""
    stub = (PACKAGE / package / "__init__.pyi").read_text(encoding="utf-8")
    module = re.search(_EXPORT.format(name=name), stub, re.M)
    comments: list[str] = []
    if module:
        path = PACKAGE / package / module[1].replace(".", "/")
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        lines = path.read_text(encoding="utf-8").splitlines()
        at = next((k for k, line in enumerate(lines) if re.match(rf"{name}\b.*=", line)), 0)
        above = at
        while above and lines[above - 1].startswith("#"):
            above -= 1
        comments = [line.lstrip("# ") for line in lines[above:at]]
        if "  # " in lines[at]:
            comments.append(lines[at].partition("  # ")[2])
    shown = repr(value)
    body = [*comments, ""] if comments else []
    if hasattr(value, "names"):
        body += [f"The registry of {value.kind} components: {', '.join(f'``{one}``' for one in value.names())}.", ""]
    elif isinstance(value, Mapping):
        body += [f"For each of {', '.join(f'``{one}``' for one in value)}: what is known of it.", ""]
    elif len(shown) < 400:
        body += [f"``{shown}``", ""]
    return f".. py:data:: {name}\n\n" + "".join(f"   {line}\n" for line in body)


def package_page(package: str) -> str:
    """The page of a package, in reStructuredText, as docstrings are."""
    title = f"ltr_duel.{package}"
    module = importlib.import_module(title)
    text = [title, "=" * len(title), "", inspect.getdoc(module) or "", "", f".. py:module:: {title}", ""]
    rows, parts = [], []
    for name in public_names()[package]:
        value = getattr(module, name)
        if inspect.isclass(value) and not hasattr(value, "__origin__"):  # not the name of a type
            parts.append(f".. autoclass:: {name}\n   :members:\n")
            about = first_sentence(value)
        elif callable(value) and not hasattr(value, "names") and not hasattr(value, "__origin__"):
            parts.append(f".. autofunction:: {name}\n")
            about = first_sentence(value)
        else:
            parts.append(constant_page(package, name, value))
            about = "A constant." if not hasattr(value, "names") else "A registry."
        rows.append(f"   * - :py:obj:`{name} <{title}.{name}>`\n     - {about}\n")
    table = [".. list-table::", "   :widths: 35 65", "", *rows]
    return "\n".join([*text, *table, "", *parts])


def write_pages(app: Any) -> None:
    """Write all pages and their list."""
    folder = Path(app.srcdir) / "generated" / "api"
    for package in public_names():
        written(folder / f"{package}.rst", package_page(package))
    verbs = sorted(name for name in importlib.import_module("ltr_duel").__all__ if not name.startswith("__"))
    top = ", ".join(f"`{name}`" for name in verbs if name in homes())
    listed = "".join(f"   {package}\n" for package in public_names())
    written(
        folder / "index.rst",
        "Python names\n============\n\n"
        "All public names, from their docstrings, with a page for each package. The examples are run as tests.\n"
        "The :doc:`/architecture` shows the order of the packages.\n\n"
        f"``from ltr_duel import ...`` is a short way to import the most frequently used names: {top}.\n\n"
        f".. toctree::\n   :maxdepth: 1\n\n{listed}",
    )


def skip(app: Any, what: str, name: str, value: Any, skipped: bool, options: Any) -> bool | None:
    """Skip the generated docstrings of NamedTuple fields."""
    return True if type(value).__name__ == "_tuplegetter" else None


_plain: dict[str, list[str]] = {}


def keep(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Store the docstring of a property: napoleon would split "The arms: best first" into a type and a description."""
    if what in ("property", "attribute") and not any(line.startswith("---") for line in lines):
        _plain[name] = list(lines)


def bring_back(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Restore the stored docstring."""
    lines[:] = _plain.pop(name, lines)


def setup(app: Any) -> dict[str, bool]:
    """Write the pages before Sphinx reads the sources."""
    app.connect("builder-inited", write_pages, priority=100)
    app.connect("autodoc-skip-member", skip)
    app.connect("autodoc-process-docstring", keep, priority=100)
    app.connect("autodoc-process-docstring", bring_back, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
