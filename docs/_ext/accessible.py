"""Add attributes for keyboards and screen readers to the built pages if the theme and other extensions omit them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_MENDED = {
    # headings in the menu need a level
    '<p class="caption" role="heading">': '<p class="caption" role="heading" aria-level="2">',
    # two landmarks of one kind need names
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="Pages">',
    '<aside class="toc-drawer">': '<aside class="toc-drawer" aria-label="On this page">',
    # scrollable elements must be reachable, and so scrollable, by keyboard
    "<pre>": '<pre tabindex="0">',
    '<div class="table-wrapper ': '<div tabindex="0" class="table-wrapper ',
    '<div class="output text_html">': '<div tabindex="0" class="output text_html">',
    # the visible text is the name of the element
    '<summary aria-label="Toggle hidden content">': "<summary>",
    # an empty corner of a table is not a heading
    "<th></th>": "<td></td>",
    '<th class="head"><p></p></th>': '<td class="head"></td>',
    # the page of search results needs a heading
    '<div id="search-results"></div>': '<h1>Search</h1>\n<div id="search-results"></div>',
}


def mended(page: str) -> str:
    """Return the text of a page with the missing attributes; a page that was mended before is unchanged."""
    if "<h1>Search</h1>" in page:
        return page
    for found, wanted in _MENDED.items():
        page = page.replace(found, wanted)
    return page


def mend_all(app: Any, error: Exception | None) -> None:
    """Add the missing attributes to all pages of the site."""
    if error is None and app.builder.format == "html":
        for path in Path(app.outdir).rglob("*.html"):
            page = path.read_text(encoding="utf-8")
            if (better := mended(page)) != page:
                path.write_text(better, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Run `mend_all` after the build."""
    app.connect("build-finished", mend_all, priority=800)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
