"""Update the sizes of the floors in docs/architecture.md, and report missing or deleted modules.

``python tools/floors.py`` (part of ``make tables``) writes modules, lines (in hundreds) and public names into the table
of floors, and prints modules that the list of modules lacks, and deleted modules in the list. A test fails only if a
number on the page is far off (`misleads`), so that most commits need no update.
"""

from __future__ import annotations

import importlib
import re
import tomllib
from pathlib import Path
from typing import NamedTuple

import ltr_duel

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "architecture.md"
PACKAGE = Path(ltr_duel.__file__).parent  # the installed package
WHOLE = "ltr_duel"
CLIENT = "papers"  # not part of the library, so its public names do not count
_ROW = re.compile(r"^\| `(\w+)` \| (.+?) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|$", re.M)
_MODULES = re.compile(r"^- \*\*(\w+)\*\*: (.*(?:\n  .*)*)", re.M)


class Size(NamedTuple):
    """Modules, lines (rounded to hundreds) and public names of a floor."""

    modules: int
    lines: int
    names: int


def floors() -> list[str]:
    """Return the floors from the top, in the order of the layers contract."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = [one["layers"] for one in contracts if one["type"] == "layers"]
    return [floor for layer in layers for floor in layer.split(" | ")]


def size(floor: str) -> Size:
    """Return the size of a floor, or of the package."""
    counted = floors() if floor == WHOLE else [floor]
    files = [path for one in counted for path in (PACKAGE / one).rglob("*.py")]
    files += PACKAGE.glob("*.py") if floor == WHOLE else ()
    lines = sum(path.read_bytes().count(b"\n") for path in files)
    public = [one for one in counted if one != CLIENT or floor == CLIENT]
    names = {name for one in public for name in getattr(importlib.import_module(f"ltr_duel.{one}"), "__all__", ())}
    return Size(len(files), round(lines, -2), len(names))


def sizes_of(page: str) -> dict[str, Size]:
    """Return the printed size of each floor."""
    return {row[1]: Size(*(int(number.replace(",", "")) for number in row.groups()[2:])) for row in _ROW.finditer(page)}


def misleads(printed: int, counted: int) -> bool:
    """Return whether a printed number is off by over a tenth, and by over 4 modules or names, or 300 lines."""
    return abs(printed - counted) > max(counted / 10, 4 if max(printed, counted) < 1000 else 300)


def renewed(page: str) -> str:
    """Return a page with the current sizes."""
    return _ROW.sub(lambda row: f"| `{row[1]}` | {row[2]} | {' | '.join(f'{n:,}' for n in size(row[1]))} |", page)


def strange_modules(page: str) -> list[str]:
    """Return a sentence for each floor whose list of modules lacks a module or contains a deleted module."""
    found = []
    for floor, text in _MODULES.findall(page.partition("\n## Modules\n")[2].partition("\n## ")[0]):
        named = set(re.findall(r"\w+", re.sub(r"\([^)]*\)", "", text)))
        there = {path.stem for path in (PACKAGE / floor).glob("*.py")} - {"__init__"}
        there |= {path.name for path in (PACKAGE / floor).iterdir() if path.is_dir() and path.name != "__pycache__"}
        if differs := sorted(named ^ there):
            found.append(f"Modules of {floor}: the list and the folder differ in {', '.join(differs)}")
    return found


def main() -> None:
    """Update the page."""
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(renewed(page), encoding="utf-8")
    print("\n".join(strange_modules(page)) or "The list of modules matches the folders.")


if __name__ == "__main__":
    main()
