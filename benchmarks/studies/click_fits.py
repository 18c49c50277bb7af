"""Fits of click models: sessions per second, compared with PyClick (github.com/markovi/PyClick) if it is installed.

Both packages fit the first three quarters of the same simulated sessions by the same rules: 50 iterations, and a prior
of one success and one failure for each parameter. Log-likelihood and perplexity are computed on the other sessions.
``LTR_DUEL_SESSIONS`` may name a session log in Yandex's format, for example PyClick's sample, to use instead.
"""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.studies.timing import table
from ltr_duel.clicks import Sessions, fit_clicks
from ltr_duel.logs import ClickLog, sessions_in_log
from tests.reference import pyclick
from tests.reference.fitted_clicks import Truth, drawn

_THEIRS = {"pbm": "PBM", "cascade": "CM", "dbn": "DBN", "sdbn": "SDBN", "ubm": "UBM"}
_SESSIONS = {"PBM": 4000, "UBM": 4000, "DBN": 200}  # fewer sessions for models on which PyClick is slow
_ALL = 40_000


def simulated(n: int) -> Sessions:
    """Sample sessions of ten positions: 40 queries of 20 documents, each with three lists."""
    rng = np.random.default_rng(0)
    lists = np.array([rng.permutation(20)[:10] + 20 * query for query in range(40) for _ in range(3)])
    truth = Truth(rng.uniform(0.02, 0.6, 800), rng.uniform(0.1, 0.7, 800), shared=[0.9])
    sessions = drawn("dbn", truth, lists, n, rng)
    return sessions._replace(query=sessions.query // 3, graded=False)


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.thread_time()
    result = work()
    return time.thread_time() - began, result


def theirs(sessions: Sessions, name: str) -> tuple[float, float, float]:
    """Return PyClick's time, log-likelihood, and perplexity."""
    evaluation = importlib.import_module("pyclick.click_models.Evaluation")
    results = importlib.import_module("pyclick.search_session.SearchResult")
    searches = importlib.import_module("pyclick.search_session.SearchSession")
    parts = []
    for part in sessions.split(0.75):
        made = []
        for s, query in enumerate(part.query):
            one = searches.SearchSession(str(query))
            inside = slice(part.ptr[s], part.ptr[s + 1])
            items, clicks = part.item[inside].tolist(), part.click[inside].tolist()
            one.web_results = [results.SearchResult(str(i), int(c)) for i, c in zip(items, clicks, strict=True)]
            made.append(one)
        parts.append(made)
    model = getattr(importlib.import_module(f"pyclick.click_models.{name}"), name)()

    def work() -> tuple[float, float]:
        model.train(parts[0])
        likelihood = evaluation.LogLikelihood().evaluate(model, parts[1])
        return likelihood, evaluation.Perplexity().evaluate(model, parts[1])[0]

    spent, (likelihood, perplexity) = seconds(work)
    return spent, likelihood, perplexity


def ours(sessions: Sessions, name: str, **settings: Any) -> tuple[float, float, float]:
    """Return the time, log-likelihood, and perplexity of this package."""
    first, rest = sessions.split(0.75)
    fit_clicks(first.kept(np.arange(first.number) < 20), name, **settings)  # compile
    spent, found = min(
        (seconds(lambda: fit_clicks(first, name, held_out=rest, **settings)) for _ in range(3)), key=lambda one: one[0]
    )
    return spent, found.test.log_likelihood, found.test.perplexity


def by_their_rules(sessions: Sessions, name: str) -> tuple[float, float, float]:
    """Return the time, log-likelihood, and perplexity of a compiled version of PyClick's rules."""
    first, rest = sessions.split(0.75)

    def work() -> Any:
        return pyclick.judged(name, pyclick.fit(name, first), rest)

    work()  # compile
    spent, found = min((seconds(work) for _ in range(3)), key=lambda one: one[0])
    return spent, found.log_likelihood, found.perplexity


def main() -> None:
    path = os.environ.get("LTR_DUEL_SESSIONS")
    sessions = sessions_in_log(ClickLog(path, format="yandex")) if path else simulated(_ALL)
    sessions = sessions.kept(np.arange(sessions.number) < _ALL)
    source = path or "simulated"
    try:
        importlib.import_module("pyclick")
    except ImportError:
        print("PyClick is not installed, so it is not compared (pip install git+https://github.com/markovi/PyClick)\n")
    else:
        rows = []
        for name, other in _THEIRS.items():
            part = sessions.kept(np.arange(sessions.number) < _SESSIONS.get(other, _ALL))
            slow, their_likelihood, their_perplexity = theirs(part, other)
            fast, likelihood, perplexity = by_their_rules(part, name)
            figures = [f"{value:.6f}" for value in (their_likelihood, likelihood, their_perplexity, perplexity)]
            rows.append([name, f"{part.number:,}", *figures, f"{slow:.2f}", f"{fast:.4f}", f"{slow / fast:,.0f}"])
        head = ["model", "sessions", "log-likelihood", "ours", "perplexity", "ours", "seconds", "ours", "times faster"]
        table(f"PyClick and ours with its updates ({source}; held-out figures)", head, rows)
        print()
    rows = []
    sessions = sessions if path else simulated(100_000)
    for name in (*_THEIRS, "table"):
        spent, likelihood, perplexity = ours(sessions, name)
        rows.append([name, f"{likelihood:.6f}", f"{perplexity:.6f}", f"{spent:.2f}"])
    head = ["model", "log-likelihood", "perplexity", "seconds"]
    table(f"Maximum likelihood ({source}, {sessions.number:,} sessions; held-out figures)", head, rows)


if __name__ == "__main__":
    main()
