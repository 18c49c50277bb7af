"""The script of a result page reports from a real browser."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "clients" / "js" / "clicks.js"
PAGE = """<!doctype html><link rel="icon" href="data:,"><a href="/book">a</a><script type="module">
import { EventReporter } from "/clicks.js";
const reporter = new EventReporter("/events"), link = document.querySelector("a");
reporter.show("token");
reporter.watch(link, 7);
if (!sessionStorage.visits) {
  sessionStorage.visits = 1;
  link.click(); // leaves the page
}
</script>"""
VIEW = ["/events", {"token": "token", "events": [{"kind": "view"}]}]
CLICK = ["/events", {"token": "token", "events": [{"kind": "click", "document": 7}]}]
BACK = "<!doctype html><link rel='icon' href='data:,'><script>addEventListener('load', () => history.back())</script>"


def test_a_browser_reports_views_and_clicks_also_when_it_leaves_the_page_and_returns(tmp_path):
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("needs a Chromium to open a page with")
    reports = []

    class Site(BaseHTTPRequestHandler):
        def do_GET(self):
            kind, body = {"/clicks.js": ("text/javascript", SCRIPT.read_text()), "/book": ("text/html", BACK)}.get(
                self.path, ("text/html", PAGE)
            )
            self.send_response(200)
            self.send_header("content-type", kind)
            self.end_headers()
            self.wfile.write(body.encode())

        def do_POST(self):
            reports.append([self.path, json.loads(self.rfile.read(int(self.headers["content-length"])))])
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        command = [
            program, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage",
            "--disable-background-networking", f"--user-data-dir={tmp_path / 'profile'}", "--remote-debugging-port=0",
            "--disable-features=BackForwardCache",
            f"http://127.0.0.1:{server.server_port}/",
        ]  # fmt: skip
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as browser:
            ends = time.monotonic() + 120
            while len(reports) < 3 and time.monotonic() < ends:
                time.sleep(0.05)
            browser.terminate()
        server.shutdown()
        thread.join()
    assert sorted(map(json.dumps, reports)) == sorted(map(json.dumps, [VIEW, CLICK, VIEW]))
