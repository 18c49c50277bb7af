"""The publications that are cited: entries of the BibTeX file ``references.bib``, and short forms of them."""

from __future__ import annotations

import functools
import re
import unicodedata
from dataclasses import dataclass
from importlib.resources import files

from ltr_duel.core.errors import listed, require_one_of

_FIELD = re.compile(r"^\s*(\w+)\s*=\s*\{(.*?)\},?\s*$", re.M | re.S)
_VENUE = re.compile(r".*\((\w[\w ]*)\)\s*$", re.S)  # the short name at the end: "... Machine Learning (ICML)"
_ACCENTS = {"'": "\u0301", '"': "\u0308"}


@dataclass(frozen=True)
class Reference:
    """A publication: its BibTeX entry, and its authors, title, venue and year as plain text."""

    bibtex: str
    authors: tuple[str, ...]
    title: str
    published: str

    def __str__(self) -> str:
        return f"{self._names(5)}, {self.title}, {self.published}"

    @property
    def short(self) -> str:
        """Authors, venue and year, for a table."""
        return f"{self._names(2)}, {self.published}"

    def _names(self, most: int) -> str:
        return listed(self.authors) if len(self.authors) <= most else f"{self.authors[0]} et al."


def reference_of(cite: str) -> Reference:
    """Return the entry of ``references.bib`` with this key. If ``cite`` is a BibTeX entry, parse it."""
    if cite.lstrip().startswith("@"):
        return _parse(cite)
    require_one_of("reference", cite, _references())
    return _references()[cite]


@functools.cache
def _references() -> dict[str, Reference]:
    text = files("ltr_duel.core").joinpath("references.bib").read_text(encoding="utf-8")
    entries = re.split(r"^@", text, flags=re.M)[1:]
    return {re.split("[{,]", entry)[1]: _parse(f"@{entry}") for entry in entries}


def _parse(entry: str) -> Reference:
    fields = {name.lower(): _plain(value) for name, value in _FIELD.findall(entry)}
    long = next((fields[name] for name in ("booktitle", "journal", "school", "note") if name in fields), "")
    families = [name.split(",")[0] for name in re.split(r"\s+and\s+", fields.get("author", ""))]
    published = _VENUE.sub(r"\1", long), fields.get("year", "")
    return Reference(entry.strip(), tuple(families), fields.get("title", ""), " ".join(published).strip())


def _plain(latex: str) -> str:
    text = re.sub(r"\{\\(['\"])(\w)\}", lambda accent: accent[2] + _ACCENTS[accent[1]], latex)
    return unicodedata.normalize("NFC", " ".join(re.sub("[{}]", "", text).split()))
