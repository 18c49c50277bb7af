"""Check the whole built site: internal links exist, and no external resource is loaded."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from sphinx.errors import SphinxError

_LOADS = {("script", "src"), ("img", "src"), ("iframe", "src"), ("link", "href"), ("source", "src"), ("video", "src")}
_LEADS = {("a", "href")}
_NOT_LOADED = {"canonical", "next", "prev", "index", "search", "author", "license", "copyright"}  # values of rel=


class Page(HTMLParser):
    """The anchors of a page, the resources that it loads, and the targets of its links."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.anchors: set[str] = set()
        self.loads: list[str] = []
        self.leads: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        self.anchors |= {value for key in ("id", "name") if (value := known.get(key))}
        for key, value in known.items():
            if value is None:
                continue
            if (tag, key) in _LOADS and not _NOT_LOADED & set((known.get("rel") or "").split()):
                self.loads.append(value)
            elif (tag, key) in _LEADS or (tag, key) in _LOADS:
                self.leads.append(value)


def complaints(folder: Path) -> Iterator[str]:
    """Yield a sentence for each broken link of the site, and for each external resource of a page."""
    pages = {path: Page(path) for path in sorted(folder.rglob("*.html"))}
    for path, page in pages.items():
        name = path.relative_to(folder)
        for address in page.loads:
            if urlsplit(address).scheme not in ("", "data") or urlsplit(address).netloc:
                yield f"{name}: loads {address}"
        for address in [*page.loads, *page.leads]:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                yield f"{name}: there is no {address}"
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                yield f"{name}: the anchor in {address} does not exist"


def look(app: Any, error: Exception | None) -> None:
    """Fail the build if the check finds an error."""
    if error is None and app.builder.format == "html":
        found = list(complaints(Path(app.outdir)))
        if found:
            raise SphinxError("the site has broken links or loads external resources:\n" + "\n".join(found))


def setup(app: Any) -> dict[str, bool]:
    """Register the check after the build."""
    app.connect("build-finished", look, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
