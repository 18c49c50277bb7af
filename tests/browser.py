"""Headless Chromium: the appearance of a page in a reader's browser."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import escape, unescape
from pathlib import Path

import pytest

_PROBE = """<script>addEventListener("load", () => {
  const wide = element => {
    const box = element.closest(".scroll");
    return !box && element.getBoundingClientRect().right > innerWidth + 1;
  };
  parent.document.getElementById("seen").textContent = JSON.stringify({
    width: innerWidth,
    page: document.documentElement.scrollWidth,
    images: [...document.images].map(image => image.naturalWidth),
    outside: [...document.querySelectorAll("main *")].filter(wide).map(element => element.outerHTML.slice(0, 80)),
    cut: [...document.querySelectorAll("main td")].filter(cell => {
      const box = cell.getBoundingClientRect();
      const around = (cell.closest(".scroll") ?? document.documentElement).getBoundingClientRect();
      return cell.textContent.trim() && !(box.width && box.right <= Math.min(innerWidth, around.right) + 1
        && cell.scrollWidth <= cell.clientWidth + 1);
    }).map(cell => cell.outerHTML.slice(0, 80)),
    loaded: performance.getEntriesByType("resource").map(entry => entry.name).filter(name => !name.startsWith("data:")),
    missing: [...document.querySelectorAll("a[href^='#']")].map(link => link.getAttribute("href").slice(1))
      .filter(name => !document.getElementById(name)),
  });
});</script>"""


def look_at(page: str, folder: Path, width: int) -> dict:
    """Open a page and return the console messages; then open it with a probe, and return the results of the probe.

    The second time, the page is in a frame, because no window is narrower than 500 pixels.
    """
    plain, framed = folder / "page.html", folder / "framed.html"
    plain.write_text(page, encoding="utf-8")
    probed = page.replace("default-src 'none'", "default-src 'none'; script-src 'unsafe-inline'")
    probed = probed.replace("</main></body>", f"</main>{_PROBE}</body>")
    framed.write_text(
        f'<!doctype html><meta charset="utf-8"><pre id="seen"></pre><iframe width="{width}" height="3000"'
        f' style="border: 0" srcdoc="{escape(probed)}"></iframe>',
        encoding="utf-8",
    )
    console = [line for line in _chromium(plain, folder).stderr.splitlines() if "CONSOLE" in line]
    found = re.search(r'<pre id="seen">(.*?)</pre>', _chromium(framed, folder).stdout, re.S)
    assert found and found.group(1), "the page did not load"
    return {**json.loads(unescape(found.group(1))), "console": console}


def _chromium(path: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("needs a Chromium to look at pages with")
    command = [
        program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
        f"--user-data-dir={folder / 'profile'}", "--enable-logging=stderr",
        "--host-resolver-rules=MAP * ~NOTFOUND", "--dump-dom", path.as_uri(),
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=120, check=True)
