"""The cited works: a list in BibTeX, ``references.bib``, and the short forms of its entries."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from importlib.resources import files

from ltr_duel.core.errors import listed, require_one_of

_FIELD = re.compile(r"^\s*(\w+)\s*=\s*\{(.*?)\},?\s*$", re.M | re.S)
_VENUE = re.compile(r"\((\w[\w ]*)\)\s*$")  # the short name at the end: "... Machine Learning (ICML)"


@dataclass(frozen=True)
class Reference:
    """One entry of ``references.bib``. ``venue`` is the short name of the venue, if the entry contains one."""

    key: str
    bibtex: str
    author: str
    title: str
    venue: str
    year: str

    def __str__(self) -> str:
        """Return authors, title, venue and year in one line."""
        return _plain(f"{self._authors(5)}, {self.title}, {self.venue} {self.year}")

    @property
    def short(self) -> str:
        """Authors, venue and year: the form for a table."""
        return _plain(f"{self._authors(2)}, {self.venue} {self.year}")

    def _authors(self, most: int) -> str:
        """Return the family names; if there are more than ``most``, the first one with "et al."."""
        names = [name.split(",")[0].strip() for name in re.split(r"\s+and\s+", self.author)]
        if len(names) > most:
            return f"{names[0]} et al."
        return listed(names)


def reference_of(cite: str) -> Reference:
    """Return the entry of ``references.bib`` with this key, or parse a BibTeX entry."""
    if cite.lstrip().startswith("@"):
        return _read(cite)
    known = _known()
    require_one_of("reference", cite, known)
    return known[cite]


@functools.cache
def _known() -> dict[str, Reference]:
    text = files("ltr_duel.core").joinpath("references.bib").read_text(encoding="utf-8")
    entries = [_read("@" + entry) for entry in re.split(r"^@", text, flags=re.M)[1:]]
    return {entry.key: entry for entry in entries}


def _read(entry: str) -> Reference:
    key = re.match(r"\s*@\w+\{\s*([^,\s]+)", entry)
    fields = {name.lower(): value for name, value in _FIELD.findall(entry)}
    long = fields.get("booktitle") or fields.get("journal") or fields.get("school") or fields.get("note", "")
    short = _VENUE.search(long)
    return Reference(
        key[1] if key else "",
        entry.strip(),
        fields.get("author", ""),
        fields.get("title", ""),
        short[1] if short else long,
        fields.get("year", ""),
    )


def _plain(text: str) -> str:
    """Return LaTeX text as plain text."""
    for accent, letter in (("{\\'e}", "é"), ("{\\'a}", "á"), ('{\\"o}', "ö"), ('{\\"u}', "ü")):
        text = text.replace(accent, letter)
    return " ".join(text.replace("{", "").replace("}", "").split())
