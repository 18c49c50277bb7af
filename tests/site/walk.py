"""Open each page of a site in headless Chromium, in a frame of the given width."""

from __future__ import annotations

import contextlib
import functools
import http.server
import json
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

_WALK = """<!doctype html><meta charset="utf-8"><title>walk</title><pre id="seen"></pre>
<iframe id="frame" width="{width}" height="900" style="border: 0"></iframe>
<script>
localStorage.setItem("theme", "{theme}");
async function walk() {{
  const frame = document.getElementById("frame"), seen = [];
  for (const page of {pages}) {{
    await new Promise(done => {{ frame.onload = done; frame.src = page; }});
    await new Promise(done => setTimeout(done, 100));
    const inside = frame.contentWindow, text = inside.document, faults = [];
    if ({axe}) {{
      const script = text.createElement("script");
      await new Promise(done => {{ script.onload = done; script.src = "/axe.js"; text.head.append(script); }});
      for (const fault of (await inside.axe.run(text, {{resultTypes: ["violations"]}})).violations)
        faults.push(fault.id + ": " + fault.nodes.slice(0, 3).map(node => node.html.slice(0, 99)).join(" "));
    }}
    const box = element => element.closest("pre, .table-wrapper, .output, .genindextable");
    seen.push({{
      page, faults, width: inside.innerWidth, theme: text.body.dataset.theme, title: text.title,
      overflow: text.documentElement.scrollWidth - inside.innerWidth,
      wide: [...text.querySelectorAll("article *")].filter(element => !box(element)
        && element.getBoundingClientRect().right > inside.innerWidth + 1)
        .map(element => element.outerHTML.slice(0, 99)),
      loaded: inside.performance.getEntriesByType("resource").map(entry => entry.name),
      broken: [...text.images].filter(image => !image.naturalWidth).map(image => image.src),
      nameless: [...text.images].filter(image => !image.alt).map(image => image.src),
    }});
  }}
  document.getElementById("seen").textContent = JSON.stringify(seen);
}}
walk();
</script>"""


@contextlib.contextmanager
def served(folder: Path, extra: dict[str, str]) -> Iterator[str]:
    """Serve a folder, and some pages that are not in it, on a port of this machine."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def do_GET(self):
            if self.path not in extra:
                return super().do_GET()
            self.send_response(200)
            kind = "text/javascript" if self.path.endswith(".js") else "text/html"
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.end_headers()
            return self.wfile.write(extra[self.path].encode())

        def log_message(self, *words):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def walk(
    folder: Path, pages: list[str], profile: Path, width: int, theme: str, axe: str = ""
) -> tuple[list[dict], list[str]]:
    """Return the observations of each page, and the console messages; with axe-core's source also its findings."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("needs a Chromium to look at pages with")
    text = _WALK.format(width=width, theme=theme, pages=json.dumps(pages), axe=str(bool(axe)).lower())
    with served(folder, {"/walk.html": text, "/axe.js": axe}) as address:
        words = [
            program, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
            "--disable-component-update", "--disable-dev-shm-usage", f"--user-data-dir={profile}", "--dump-dom",
            "--enable-logging=stderr", "--window-size=1300,1000", "--virtual-time-budget=600000",
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", f"{address}/walk.html",
        ]  # fmt: skip
        done = subprocess.run(words, capture_output=True, text=True, encoding="utf-8", timeout=1800, check=True)
    found = re.search(r'<pre id="seen">(.+?)</pre>', done.stdout, re.S)
    assert found, f"the walk did not end:\n{done.stderr[-2000:]}"
    seen = json.loads(unescape(found[1]))
    foreign = [name for one in seen for name in one["loaded"] if not name.startswith(address)]
    return seen, [*(line for line in done.stderr.splitlines() if "CONSOLE" in line), *foreign]
