"""An experiment as WSGI middleware: the site shows the page that it finds in its environment.

    from ltr_duel.client import Client
    from engines import Lists
    from middleware import Experiment

    lists = Lists("opensearch", "http://127.0.0.1:9200", "shop", {"words": "by-words", "dense": "by-vectors"})
    client = Client("http://127.0.0.1:8080", "words", key="...")     # "words": the current ranker
    application = Experiment(application, lists, client, "words", user=session_of)

For `GET /search?q=...`, the site receives `ltr_duel.page`, the ids of the documents to show, and `ltr_duel.token`, the
token to put into the page. `clients/js/clicks.js` sends its reports to `POST /events`.
"""

import json
import sys
from http import HTTPStatus
from urllib.parse import parse_qs

LARGEST = 100_000  # bytes of a report


class Experiment:
    """Middleware that requests the lists and the page; after any failure, users get the incumbent's list as before.

    `user` returns the id of the user or the session from the environment of a request; each user counts once for each
    pair of rankers.
    """

    def __init__(self, site, lists, client, incumbent, *, user):
        self.site, self.lists, self.client, self.incumbent, self.user = site, lists, client, incumbent, user

    def __call__(self, environ, start_response):
        """Answer a request."""
        method, path = environ["REQUEST_METHOD"], environ.get("PATH_INFO", "")
        if (method, path) == ("POST", "/events"):
            return self.events(environ, start_response)
        query = parse_qs(environ.get("QUERY_STRING", "")).get("q", [""])[0]
        if path == "/search" and query:
            environ["ltr_duel.page"], environ["ltr_duel.token"] = self.page(query, self.user(environ))
        return self.site(environ, start_response)

    def page(self, query, user):
        """Return the documents to show, and the token; a search without a list of each ranker is not counted."""
        lists, failures = self.lists(query)
        for name, why in failures.items():
            print(f"no list of {name}: {why}", file=sys.stderr)
        if self.incumbent not in lists:
            raise RuntimeError("the search engine does not answer")  # the site fails as it would without the experiment
        if failures or not all(lists.values()):
            return lists[self.incumbent], ""
        shown = self.client.decide(user, query, lists)
        return list(shown.page), shown.token

    def events(self, environ, start_response):
        """Answer a report."""
        size = environ.get("CONTENT_LENGTH") or "0"
        whole = size.isascii() and size.isdigit() and int(size[:20]) <= LARGEST
        given = environ["wsgi.input"].read(int(size)) if whole else b""
        status, body = self.report(given)
        headers = [("content-type", "application/json"), ("content-length", str(len(body)))]
        start_response(f"{status.value} {status.phrase}", headers)
        return [body]

    def report(self, given):
        """Forward a report; return status and body of the answer."""
        try:
            said = json.loads(given)
            recorded = self.client.report(said["token"], said["events"])
        except (ValueError, LookupError, TypeError, RecursionError):
            return HTTPStatus.BAD_REQUEST, b""
        return HTTPStatus.OK, json.dumps({"recorded": recorded}).encode()
