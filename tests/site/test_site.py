"""The site: it builds without a warning, holds together, and looks right in a browser at two widths, light and dark."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

from tests.site.snippets import DOCS
from tests.site.walk import walk

HTML = DOCS / "_build" / "html"


def extension(name):
    """Import a module of ``docs/_ext`` that stands alone."""
    spec = importlib.util.spec_from_file_location(name, DOCS / "_ext" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site():
    """Build the site, as ``make docs`` does; what has not changed is not built again."""
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


def test_a_link_that_leads_nowhere_and_a_script_from_elsewhere_are_found(tmp_path):
    pytest.importorskip("sphinx", reason="needs Sphinx, of the extra docs")
    (tmp_path / "a.html").write_text('<p id="here"><a href="b.html#there">b</a> <a href="#here">up</a>')
    (tmp_path / "b.html").write_text('<a href="a.html#here">a</a> <a href="https://example.org">out</a>')
    found = list(extension("whole_site").complaints(tmp_path))
    assert found == ["a.html: there is no such place in b.html#there"]
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


def test_every_public_plot_is_in_the_gallery():
    import ltr_duel.analysis
    import ltr_duel.logs

    text = (DOCS / "gallery.md").read_text(encoding="utf-8")
    names = [name for package in (ltr_duel.analysis, ltr_duel.logs) for name in package.__all__ if "plot_" in name]
    assert len(names) >= 9 and [name for name in names if f"{name}(" not in text] == []


def test_every_page_is_named_in_a_list_of_pages():
    lists = "".join(
        path.read_text(encoding="utf-8") for path in DOCS.rglob("index.md") if "generated" not in path.parts
    )
    folders = [DOCS, *(DOCS / name for name in ("tutorials", "explanations", "notebooks"))]
    pages = [path for folder in folders for path in folder.glob("*.md") if path.stem != "index"]
    assert len(pages) > 30 and [page.name for page in pages if f"{page.stem}\n" not in lists] == []
