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
from ltr_duel.bandits import POLICIES
from ltr_duel.interleaving import METHODS
from tests.site.snippets import DOCS, ROOT
from tests.site.walk import walk

HTML = DOCS / "_build" / "html"
pytestmark = pytest.mark.xdist_group("site")  # two processes would build the site into one folder


@pytest.fixture
def extension(monkeypatch):
    """Return a function that imports a module of ``docs/_ext``."""
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))

    def imported(name):
        spec = importlib.util.spec_from_file_location(name, DOCS / "_ext" / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return imported


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
    """If AXE_CORE names the file axe.min.js of the npm package axe-core, axe finds no fault either."""
    axe = Path(os.environ["AXE_CORE"]).read_text(encoding="utf-8") if "AXE_CORE" in os.environ else ""
    pages = sorted(f"/{path.relative_to(site).as_posix()}" for path in site.rglob("*.html"))
    seen, complaints = walk(site, pages, tmp_path / "profile", width, theme, axe)
    assert [one["page"] for one in seen] == pages and len(pages) > 80
    assert complaints == []
    for one in seen:
        assert (one["width"], one["theme"]) == (width, theme), one["page"]
        assert one["overflow"] <= 0 and one["wide"] == [], f"wider than the window: {one}"
        assert one["broken"] == [] and one["nameless"] == [] and one["faults"] == [], one


@pytest.mark.parametrize(("registry", "page"), [(POLICIES, "policies.md"), (METHODS, "methods.md")])
def test_every_component_has_an_entry_with_its_use_and_its_rule(registry, page, extension):
    entry = extension("component_pages").entry
    for component in registry:
        if component.state.__module__.startswith("ltr_duel."):  # tests register others
            text = entry(page, component)
            assert "**Use**" in text and ("**Do not use**" in text or "**Not**" in text), component.name
            assert text.count("$$") == 2, component.name


def test_html_of_a_site_page_is_mended_once(extension):
    mended = extension("accessible").mended
    better = mended('<aside class="sidebar-drawer"><p class="caption" role="heading">A</p><pre>b</pre><th></th>')
    assert better == (
        '<aside class="sidebar-drawer" aria-label="Pages"><p class="caption" role="heading" aria-level="2">A</p>'
        '<pre tabindex="0">b</pre><td></td>'
    )
    assert mended(better) == better
    results = mended('<div id="search-results"></div><pre>')
    assert results.startswith("<h1>Search</h1>") and mended(results) == results


@pytest.mark.parametrize(("kind", "error", "tabs"), [("html", None, 1), ("html", OSError(), 0), ("latex", None, 0)])
def test_the_pages_of_a_site_that_was_built_are_mended(tmp_path, extension, kind, error, tabs):
    (tmp_path / "page.html").write_text("<pre>\N{GREEK SMALL LETTER TAU}</pre>", encoding="utf-8")
    extension("accessible").mend_all(SimpleNamespace(builder=SimpleNamespace(format=kind), outdir=tmp_path), error)
    assert (tmp_path / "page.html").read_text(encoding="utf-8").count("tabindex") == tabs


def test_a_link_that_leads_nowhere_and_a_script_from_elsewhere_are_found(tmp_path, extension):
    pytest.importorskip("sphinx", reason="needs Sphinx, of the extra docs")
    (tmp_path / "a.html").write_text('<p id="here"><a href="b.html#there">b</a> <a href="#here">up</a>')
    (tmp_path / "b.html").write_text('<a href="c.html">c</a><img src="//e.org/i.png"><a href="https://e.org">out</a>')
    assert list(extension("whole_site").complaints(tmp_path)) == [
        "a.html: the anchor in b.html#there does not exist",
        "b.html: loads //e.org/i.png",
        "b.html: there is no c.html",
    ]


def test_every_public_plot_is_drawn_on_the_page_of_figures():
    packages = [path.parent.name for path in Path(ltr_duel.__file__).parent.glob("*/__init__.pyi")]
    public = {name for package in packages for name in importlib.import_module(f"ltr_duel.{package}").__all__}
    drawn = set(re.findall(r"\b(plot_\w+)\(", (DOCS / "figures.md").read_text(encoding="utf-8")))
    assert drawn == {name for name in public if name.startswith("plot_")}


def anchors(text):
    """Return the anchors of the headings of a page, as GitHub and the site make them."""
    heads = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.M)
    plain = (re.sub(r"[^\w\- ]", "", re.sub(r"\[(.*?)\]\(.*?\)", r"\1", head).lower()) for head in heads)
    return {head.strip().replace(" ", "-") for head in plain}


def test_every_link_between_pages_leads_to_a_file_and_a_heading_of_the_repository():
    pages = {page: page.read_text(encoding="utf-8") for page in [*ROOT.glob("*.md"), *DOCS.glob("*.md")]}
    for page, text in pages.items():
        for link in re.findall(r"\]\(\s*([^)\s]+)\)", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)):
            name, _, anchor = link.partition("#")
            target = (page.parent / name).resolve() if name else page
            assert "://" in link or target.exists(), f"{page.name}: {link}"
            assert not anchor or target not in pages or anchor in anchors(pages[target]), f"{page.name}: {link}"
    listed = set(re.findall(r"^(\w+)$", pages[DOCS / "index.md"], re.M))
    assert {page.stem for page in DOCS.glob("*.md")} - {"index"} <= listed


def test_the_walk_of_the_architecture_names_files_that_exist_once():
    walk = (DOCS / "architecture.md").read_text(encoding="utf-8").partition("## A walk")[2].partition("\n## ")[0]
    files = re.findall(r"`([\w/]+\.py)`", walk)
    assert len(files) > 20 and len(set(files)) == len(files)
    assert [file for file in files if not (Path(ltr_duel.__file__).parent / file).is_file()] == []
