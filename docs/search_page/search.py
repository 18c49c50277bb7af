"""A search page at http://127.0.0.1:8000; `ltr-duel serve examples/live.toml` runs beside it."""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.request import Request, urlopen

HERE, SERVICE = Path(__file__).parent, "http://127.0.0.1:8080"
BOOKS = json.loads((HERE / "books.json").read_text(encoding="utf-8"))  # title, author, year


def rankings(query):
    """Return a list of each ranker. Yours are an index, a vector search, a model."""
    words = query.lower().split()
    everywhere = [sum(word in f"{book}".lower() for word in words) for book in BOOKS]
    in_title = [sum(word in book[0].lower() for word in words) for book in BOOKS]
    found = [k for k, hits in enumerate(everywhere) if hits]
    orders = {"words": lambda k: -everywhere[k], "titles": lambda k: -in_title[k], "newest": lambda k: -BOOKS[k][2]}
    return {name: sorted(found, key=order) for name, order in orders.items()}


def ask(path, said):
    headers = {"content-type": "application/json"}
    if key := os.environ.get("LTR_DUEL_API_KEY"):
        headers["authorization"] = f"Bearer {key}"
    request = Request(SERVICE + path, json.dumps(said).encode(), headers)
    return json.load(urlopen(request, timeout=2))


def search(query):
    lists, page = rankings(query), {"page": [], "token": ""}
    try:
        page = ask("/decide", {"query": query, "rankings": lists}) if lists["words"] else page
    except OSError as error:  # without the experiment people search as before
        print(f"the experiment does not answer: {error}", file=sys.stderr)
        page["page"] = lists["words"]
    return {"token": page["token"], "books": [[k, *BOOKS[k]] for k in page["page"]]}


class Search(BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer("text/html; charset=utf-8", (HERE / "page.html").read_bytes())

    def do_POST(self):
        said = json.loads(self.rfile.read(int(self.headers["content-length"])))
        wanted = {"/search": lambda: search(said["query"]), "/clicks": lambda: ask("/clicks", said)}
        self.answer("application/json", json.dumps(wanted[self.path]()).encode())

    def answer(self, kind, body):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", 8000), Search).serve_forever()
