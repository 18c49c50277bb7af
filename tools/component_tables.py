"""Update the tables of components in docs/ from the registries: ``python tools/component_tables.py [FOLDER]``.

A table is between ``<!-- begin: policies -->`` and ``<!-- end: policies -->``, on any page.
"""

from __future__ import annotations

import pkgutil
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ltr_duel.core import components

# The registry (or the columns) of each table, and the facts that a table omits.
TABLES = {
    "policies": "ltr_duel.bandits:POLICIES",
    "methods": "ltr_duel.interleaving:METHODS",
    "click models": "ltr_duel.clicks:CLICK_MODELS",
    "corpora": "ltr_duel.data:CORPORA",
    "columns": "ltr_duel.core.columns:COLUMNS",
}
_LEFT_OUT = {
    "policies": ("regret",),
    "methods": ("list", "who wins", "outcome rules", "needs", "costs"),
    "click models": ("parameters",),
}
_PLACE = re.compile(r"(<!-- begin: ([\w ]+) -->\n).*?(<!-- end: \2 -->)", re.S)


def table_of(name: str) -> str:
    """Return a table by name, in Markdown."""
    source = pkgutil.resolve_name(TABLES[name])
    rows = columns(source) if name == "columns" else facts_of(name, source)
    head = list(rows[0])
    lines = [head, ["---"] * len(head), *(list(row.values()) for row in rows)]
    cells = ([" ".join(cell.split()).replace("|", "&#124;") for cell in line] for line in lines)
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)


def columns(declared: dict[str, Any]) -> list[dict[str, str]]:
    """Return a row for each column of the table of results."""
    return [{"column": f"`{name}`", "type": one.dtype, "meaning": one.meaning} for name, one in declared.items()]


def facts_of(name: str, registry: components.Registry[Any] | dict[str, Any]) -> list[dict[str, str]]:
    """Return a row for each component of a registry or a dictionary."""
    rows = []
    for component in registry.values() if isinstance(registry, dict) else registry:
        facts = component.facts()
        sources = "; ".join(source.short for source in component.sources)
        if "source" in facts and sources:
            facts["source"] = f"{sources}, {component.where}" if component.where else sources
        for about in _LEFT_OUT.get(name, ()):
            facts.pop(about, None)
        rows.append({"name": f"`{component.name}`", **facts})
    return rows


def with_tables(page: str) -> str:
    """Return the text of a page with current tables."""
    return _PLACE.sub(lambda place: place[1] + table_of(place[2]) + place[3], page)


def outdated(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield each page of a folder with an outdated table, and the current text."""
    for path in sorted(folder.glob("*.md")):
        page = path.read_text(encoding="utf-8")
        if with_tables(page) != page:
            yield path, with_tables(page)


def main() -> None:
    """Update all tables."""
    for path, page in outdated(Path(sys.argv[1] if len(sys.argv) > 1 else "docs")):
        path.write_text(page, encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
