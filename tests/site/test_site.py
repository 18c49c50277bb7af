"""The site: it builds without warnings or broken links, and looks right in a browser at two widths, light and dark."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import ltr_duel
from ltr_duel.core.components import REGISTRIES
from tests.site.snippets import DOCS
from tests.site.walk import walk

HTML = DOCS / "_build" / "html"


def extension(name):
    """Import a module of ``docs/_ext`` that imports no other."""
    spec = importlib.util.spec_from_file_location(name, DOCS / "_ext" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site():
    """Build the site as ``make docs`` does; unchanged pages are not built again."""
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-n", "-q", "-b", "html", str(DOCS), str(HTML)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return HTML


@pytest.mark.long
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1200])
def test_every_page_looks_right_and_loads_nothing_from_elsewhere(site, tmp_path, width, theme):
    pages = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    assert len(pages) > 80
    seen, complaints = walk(site, [f"/{page}" for page in pages], tmp_path / "profile", width, theme)
    assert [one["page"] for one in seen] == [f"/{page}" for page in pages]
    assert complaints == []
    for one in seen:
        assert (one["width"], one["theme"]) == (width, theme), one["page"]
        assert one["overflow"] <= 0 and one["wide"] == [], f"wider than the window: {one}"
        assert one["broken"] == [] and one["nameless"] == [], one


@pytest.mark.long
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1200])
def test_axe_finds_no_fault(site, tmp_path, width, theme):
    axe = os.environ.get("AXE_CORE")
    if not axe:
        pytest.skip("set AXE_CORE to the file axe.min.js of the npm package axe-core")
    pages = sorted(f"/{path.relative_to(site).as_posix()}" for path in site.rglob("*.html"))
    seen, complaints = walk(site, pages, tmp_path / "profile", width, theme, Path(axe).read_text(encoding="utf-8"))
    assert {one["page"]: one["faults"] for one in seen if one["faults"]} == {}
    assert len(seen) == len(pages) and complaints == []


@pytest.mark.long
def test_every_component_has_a_page(site):
    import ltr_duel.data

    folders = {
        "policy": "policies", "comparison method": "methods", "click model": "click_models",
    }  # fmt: skip
    for registry in REGISTRIES:
        if registry.kind in folders:  # tests make others
            made = {path.stem for path in (site / "generated" / folders.pop(registry.kind)).glob("*.html")}
            assert made == {"index", *registry.names()}
    assert not folders
    assert {path.stem for path in (site / "generated" / "corpora").glob("*.html")} == {"index", *ltr_duel.data.CORPORA}


def test_a_page_is_mended_once():
    mended = extension("accessible").mended
    page = '<aside class="sidebar-drawer"><p class="caption" role="heading">A</p><pre>b</pre><th></th>'
    better = mended(page)
    assert better == (
        '<aside class="sidebar-drawer" aria-label="Pages"><p class="caption" role="heading" aria-level="2">A</p>'
        '<pre tabindex="0">b</pre><td></td>'
    )
    assert mended(better) == better
    results = mended('<div id="search-results"></div><pre>')
    assert results.startswith("<h1>Search</h1>") and mended(results) == results
    scrolling = '<div class="table-wrapper docutils"><div class="output text_html">'
    assert mended(scrolling).count('<div tabindex="0" class="') == 2
    named = '<aside class="toc-drawer"><summary aria-label="Toggle hidden content">Show</summary>'
    assert mended(named) == '<aside class="toc-drawer" aria-label="On this page"><summary>Show</summary>'
    assert mended('<th class="head"><p></p></th>') == '<td class="head"></td>'


@pytest.mark.parametrize(
    "kind, error, tabs",
    [("html", None, 1), ("html", OSError(), 0), ("latex", None, 0)],
    ids=["built", "broken", "other"],
)
def test_the_pages_of_a_site_that_was_built_are_mended(tmp_path, kind, error, tabs):
    page = tmp_path / "folder" / "page.html"
    page.parent.mkdir()
    page.write_text("<pre>\N{GREEK SMALL LETTER TAU}</pre>", encoding="utf-8")
    extension("accessible").mend_all(SimpleNamespace(builder=SimpleNamespace(format=kind), outdir=tmp_path), error)
    assert page.read_text(encoding="utf-8").count("tabindex") == tabs


def test_a_link_that_leads_nowhere_and_a_script_from_elsewhere_are_found(tmp_path):
    pytest.importorskip("sphinx", reason="needs Sphinx, of the extra docs")
    (tmp_path / "a.html").write_text('<p id="here"><a href="b.html#there">b</a> <a href="#here">up</a>')
    (tmp_path / "b.html").write_text('<a href="a.html#here">a</a> <a href="https://example.org">out</a>')
    found = list(extension("whole_site").complaints(tmp_path))
    assert found == ["a.html: the anchor in b.html#there does not exist"]
    (tmp_path / "b.html").write_text(
        '<i id="there"></i><a href="c.html">c</a><img src="//e.org/i.png">'
        '<script src="https://cdn.example.org/x.js"></script>'
    )
    assert list(extension("whole_site").complaints(tmp_path)) == [
        "b.html: loads //e.org/i.png",
        "b.html: loads https://cdn.example.org/x.js",
        "b.html: there is no c.html",
    ]


def test_formulas_of_docstrings_survive_markdown():
    sys.path.insert(0, str(DOCS / "_ext"))
    try:
        as_markdown = extension("pages").as_markdown
    finally:
        sys.path.remove(str(DOCS / "_ext"))
    assert as_markdown("O(|slate| K^2), p_i * q_j < `x_y` of ``a*b``") == (
        r"O(\|slate\| K^2), p\_i \* q\_j \< `x_y` of `a*b`"
    )


def test_the_gallery_has_every_public_plot_and_nothing_else():
    packages = [path.parent.name for path in Path(ltr_duel.__file__).parent.glob("*/__init__.pyi")]
    public = {name for package in packages for name in importlib.import_module(f"ltr_duel.{package}").__all__}
    names = {name for name in public if name.startswith("plot_")}
    drawn = set(re.findall(r"\b(plot_\w+)\(", (DOCS / "gallery.md").read_text(encoding="utf-8")))
    assert len(names) >= 9 and drawn == names


def test_every_page_is_named_in_a_list_of_pages():
    lists = "".join(
        path.read_text(encoding="utf-8") for path in DOCS.rglob("index.md") if "generated" not in path.parts
    )
    folders = [DOCS, *(DOCS / name for name in ("tutorials", "explanations", "notebooks"))]
    pages = [path for folder in folders for path in folder.glob("*.md") if path.stem != "index"]
    assert len(pages) > 30 and [page.name for page in pages if f"{page.stem}\n" not in lists] == []
