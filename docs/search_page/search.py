"""A search page at http://127.0.0.1:8000; `ltr-duel serve examples/live.toml` runs beside it.

Pass another address to listen on as an argument, for example in a container: 0.0.0.0 or 127.0.0.1:8001.
"""

import html
import json
import os
import secrets
import sys
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from ltr_duel.client import Client

HERE = Path(__file__).resolve().parent
BOOKS = json.loads((HERE / "books.json").read_text(encoding="utf-8"))  # title, author, and year of each book
LARGEST = 100_000  # maximum size of a request in bytes
KEY = HERE.parents[1] / "examples" / "api.key"  # made by `ltr-duel serve examples/live.toml`
SCRIPT = HERE.parents[1] / "clients" / "js" / "clicks.js"  # copy it to the scripts of your site


def service(deadline=0.2):
    """Return a client of the experiment, whose incumbent is "words"."""
    url = os.environ.get("LTR_DUEL_SERVICE", "http://127.0.0.1:8080")
    key = os.environ.get("LTR_DUEL_API_KEY") or (KEY.read_text(encoding="ascii").strip() if KEY.exists() else "")
    return Client(url, "words", key=key, deadline=deadline)


def rankings(query):
    """Return a list of each ranker; on a real site, from an index, a vector search or a model."""
    words = query.lower().split()
    everywhere = [sum(word in f"{book}".lower() for word in words) for book in BOOKS]
    in_title = [sum(word in book[0].lower() for word in words) for book in BOOKS]
    found = [k for k, hits in enumerate(everywhere) if hits]
    orders = {"words": lambda k: -everywhere[k], "titles": lambda k: -in_title[k], "newest": lambda k: -BOOKS[k][2]}
    return {name: sorted(found, key=order) for name, order in orders.items()}


def search(client, user, query):
    """Return the books to show, and the token of the page."""
    lists = rankings(query)
    if not lists["words"]:
        return {"token": "", "books": []}
    shown = client.decide(user, query, lists)
    if shown.served == "fallback":  # without the experiment, users search as before
        print("the experiment does not answer", file=sys.stderr)
    return {"token": shown.token, "books": [[k, *BOOKS[k]] for k in shown.page]}


class Search(BaseHTTPRequestHandler):
    """Answers a browser; its server has the attribute `client`."""

    def do_GET(self):
        path = self.path.partition("?")[0]
        number = path.removeprefix("/book/")
        if path == "/":
            cookie = f"session={self.session()}; HttpOnly; SameSite=Lax; Path=/"  # the user of the experiment
            self.answer("text/html", (HERE / "page.html").read_bytes(), cookie)
        elif path == "/clicks.js":
            self.answer("text/javascript", SCRIPT.read_bytes())
        elif number.isdecimal() and int(number) < len(BOOKS):
            title, author, year = (html.escape(f"{one}") for one in BOOKS[int(number)])
            page = (
                f'<!doctype html><title>{title}</title><link rel="icon" href="data:,"><h1>{title}</h1>{author}, {year}'
            )
            self.answer("text/html", page.encode())
        else:
            self.send_error(404)

    def do_POST(self):
        size, client = self.headers["content-length"] or "", self.server.client
        if not (size.isascii() and size.isdigit() and int(size[:20]) <= LARGEST):
            self.send_error(413)
            return
        said = json.loads(self.rfile.read(int(size)))
        if self.path == "/search":
            answer = search(client, self.session(), said["query"])
        else:
            answer = {"recorded": client.report(said["token"], said["events"])}
        self.answer("application/json", json.dumps(answer).encode())

    def session(self):
        """Return the session of a browser, which `do_GET` has started."""
        cookie = SimpleCookie(self.headers["cookie"]).get("session")
        return cookie.value if cookie else secrets.token_hex(8)

    def answer(self, kind, body, cookie=""):
        """Send a body."""
        self.send_response(200)
        if cookie:
            self.send_header("set-cookie", cookie)
        self.send_header("content-type", f"{kind}; charset=utf-8")
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    host, _, port = (sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1").partition(":")
    server = ThreadingHTTPServer((host, int(port or 8000)), Search)
    server.client = service()
    server.serve_forever()
