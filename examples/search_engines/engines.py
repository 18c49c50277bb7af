"""Request the list of each ranker from OpenSearch, Elasticsearch, Solr or Vespa, with the standard library.

A ranker is a search configuration stored in the engine: a search template (OpenSearch, Elasticsearch), a set of
parameters (Solr) or a rank profile (Vespa). An experiment therefore compares the results that the site would get from
each configuration alone. Lists that the engine marks as incomplete are rejected, because they would be credited to the
ranker.
"""

import json
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor, wait
from typing import NamedTuple
from urllib.parse import quote


class PartialError(Exception):
    """The engine has searched only a part of its documents, or reports an error."""


class Request(NamedTuple):
    """A request to an engine: the part of the address after the host, and a body."""

    path: str
    body: dict


def opensearch(index, configuration, query, size):
    """Return the request for a search template with the parameters `query_string` and `size`."""
    filters = "timed_out,_shards.failed,hits.hits._id"
    path = f"/{quote(index)}/_search/template?filter_path={filters}"
    return Request(path, {"id": configuration, "params": {"query_string": query, "size": size}})


def opensearch_ids(answer):
    """Return the ids of an answer."""
    if answer["timed_out"] or answer["_shards"]["failed"]:
        raise PartialError("the search timed out, or a shard failed")
    return [hit["_id"] for hit in answer.get("hits", {}).get("hits", [])]


def solr(collection, configuration, query, size):
    """Return the request for a set of parameters, such as `qf` of edismax and a reranking model.

    The user's input is a parameter and not part of the query text, so `{!...}` in it has no effect.
    """
    body = {"query": "{!edismax v=$text}", "fields": "id", "limit": size, "params": {"text": query}}
    return Request(f"/solr/{quote(collection)}/query?useParams={quote(configuration)}", body)


def solr_ids(answer):
    """Return the ids of an answer."""
    if answer["responseHeader"]["status"] or answer["responseHeader"].get("partialResults"):
        raise PartialError("the results are partial")
    return [document["id"] for document in answer["response"]["docs"]]


def vespa(sources, configuration, query, size):
    """Return the request for a rank profile."""
    yql = f"select documentid from sources {sources} where userInput(@text)"
    return Request("/search/", {"yql": yql, "text": query, "hits": size, "ranking": {"profile": configuration}})


def vespa_ids(answer):
    """Return the ids of an answer."""
    root = answer["root"]
    if root.get("errors") or not root.get("coverage", {}).get("full", True):
        raise PartialError("there are errors, or a part of the documents was searched")
    return [hit["fields"]["documentid"] for hit in root.get("children", [])]


ENGINES = {
    "opensearch": (opensearch, opensearch_ids),
    "elasticsearch": (opensearch, opensearch_ids),  # the same address and the same answer
    "solr": (solr, solr_ids),
    "vespa": (vespa, vespa_ids),
}


class Lists:
    """Requests the lists of all rankers from one engine at once.

    `engine` is a key of ENGINES; `place` is an index, a collection or the sources of a query; `configurations` maps
    each ranker to its name in the engine; `seconds` is the time limit of the engine; `headers` contain authentication.
    """

    def __init__(self, engine, url, place, configurations, *, size=10, seconds=1.0, headers=None):
        self.request, self.ids = ENGINES[engine]
        self.url, self.place, self.configurations = url.rstrip("/"), place, configurations
        self.size, self.seconds = size, seconds
        self.headers = {"content-type": "application/json", **(headers or {})}
        self.pool = ThreadPoolExecutor(16 * len(configurations), thread_name_prefix="engine")

    def __call__(self, query):
        """Return the lists that arrived in time, and the reasons for the missing ones."""
        asked = {self.pool.submit(self.one, name, query): name for name in self.configurations}
        done, late = wait(asked, self.seconds)
        lists, failures = {}, {asked[future]: "it took too long" for future in late}
        for future in done:
            try:
                lists[asked[future]] = future.result()
            except (OSError, ValueError, LookupError, TypeError, AttributeError, PartialError) as error:
                failures[asked[future]] = str(error) or type(error).__name__
        return lists, failures

    def one(self, name, query):
        """Return the list of a ranker."""
        path, body = self.request(self.place, self.configurations[name], query, self.size)
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(), self.headers)
        try:
            with urllib.request.urlopen(request, timeout=self.seconds) as answer:
                return self.ids(json.load(answer))
        except urllib.error.HTTPError as error:
            error.close()
            raise

    def close(self):
        """Send no further requests."""
        self.pool.shutdown(wait=True, cancel_futures=True)
