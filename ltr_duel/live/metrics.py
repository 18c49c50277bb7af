"""The metrics of the service for a Prometheus server: answers, their times, and numbers of pages."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from ltr_duel.live.state import LiveState

_SECONDS = 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0
_PATHS = {"/decide", "/events", "/control", "/state", "/plan", "/health", "/metrics", "/"}
_PAGES = "waiting", "unseen", "compared", "alone", "clicked"


class Metrics:
    """The metrics of one service."""

    media_type = CONTENT_TYPE_LATEST

    def __init__(self, waiting: Callable[[], int]) -> None:
        self._registry = registry = CollectorRegistry()
        self._answers = Counter("ltr_duel_answers", "Answers by path and status", ["path", "status"], registry=registry)
        self._seconds = Histogram(
            "ltr_duel_answer_seconds", "Time of the answers", ["path"], registry=registry, buckets=_SECONDS
        )
        self._pages = Gauge("ltr_duel_pages", "Pages of the experiment, see LiveState", ["kind"], registry=registry)
        self._version = Gauge("ltr_duel_plan_version", "Number of the plan that decides", registry=registry)
        Gauge("ltr_duel_waiting", "Requests that wait for the store", registry=registry).set_function(waiting)

    def count(self, path: str, status: int, seconds: float) -> None:
        """Count an answer."""
        path = path if path in _PATHS else "other"
        self._answers.labels(path, status).inc()
        self._seconds.labels(path).observe(seconds)

    def text(self, state: LiveState) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        for kind in _PAGES:
            self._pages.labels(kind).set(getattr(state, kind))
        self._version.set(state.version)
        return generate_latest(self._registry)
