"""Metrics of requests and of the experiment, in the Prometheus text format 0.0.4."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from ltr_duel.live import Counts, Settings, Switches

_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
_MODES = ("experiment", "paused", "winner", "ended")
_SIZES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)

_Row = tuple[Mapping[str, str], float]  # labels and value


class Histogram:
    """For each of several bounds, the number of values up to the bound; and the sum of all values."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds, self._counts, self._sum = bounds, [0] * (len(bounds) + 1), 0.0

    def add(self, value: float) -> None:
        """Count a value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def lines(self, name: str, labels: Mapping[str, str]) -> Iterator[str]:
        """Yield the lines of one histogram."""
        below = 0
        for bound, count in zip((*map("{:g}".format, self._bounds), "+Inf"), self._counts, strict=True):
            below += count
            yield _line(f"{name}_bucket", {**labels, "le": bound}, below)
        yield _line(f"{name}_sum", labels, self._sum)
        yield _line(f"{name}_count", labels, below)


class Metrics:
    """Counters of one experiment, from the start of the process."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self.served: Counter[str] = Counter()  # pages by `Decision.served`
        self._seconds: dict[str, Histogram] = {}
        self._batches, self._commits = Histogram(_SIZES), Histogram(_SECONDS)
        self.waiting = self.failed = self.dropped = 0

    def request(self, path: str, status: int, seconds: float) -> None:
        """Count a request; ``path`` is a path of the service, or empty."""
        self._requests[path, status] += 1
        if path not in self._seconds:
            self._seconds[path] = Histogram(_SECONDS)
        self._seconds[path].add(seconds)

    def batch(self, size: int, seconds: float) -> None:
        """Count a transaction."""
        self._batches.add(size)
        self._commits.add(seconds)

    def text(self, settings: Settings, switches: Switches, counts: Counts, now: float) -> str:
        """Return all metrics as text, including the experiment's counters; ``now`` is the time of its clock."""
        rankers = settings.rankers
        requests = sorted(self._requests.items())
        answered = [({"path": path, "status": str(status)}, count) for (path, status), count in requests]
        modes = [({"mode": mode}, mode == switches.mode) for mode in _MODES]
        shares = [({"of": "experiment"}, switches.share), ({"of": "holdback"}, switches.holdback)]
        dropped = [({"ranker": ranker}, ranker in switches.dropped) for ranker in rankers]
        served = [({"as": why}, count) for why, count in sorted(self.served.items())]
        pulls = [({"ranker": ranker}, count) for ranker, count in zip(rankers, counts.pulls.tolist(), strict=True)]
        lines = [
            *_family("requests_total", "counter", "Requests answered.", answered),
            *self._histograms(),
            *_family("mode", "gauge", "1 for the current mode.", modes),
            *_family("share", "gauge", "Share of users in the experiment or held back.", shares),
            *_family("dropped", "gauge", "1 for a dropped ranker.", dropped),
            *_family(
                "served_total",
                "counter",
                "Pages by status: experiment, or the reason why the page is outside of it.",
                served,
            ),
        ]
        for name, kind, meaning, value in (
            ("pages_total", "counter", "Pages decided.", counts.pages),
            ("clicked_total", "counter", "Pages with clicks.", counts.clicked),
            ("unclicked_total", "counter", "Pages seen without clicks.", counts.unclicked),
            ("expired_total", "counter", "Pages that expired without a report.", counts.expired),
            ("steps_total", "counter", "Outcomes passed to the policy; each drop resets to 0.", counts.steps),
            ("open_pages", "gauge", "Open pages.", counts.open),
            ("open_pages_limit", "gauge", "Maximum number of open pages.", settings.max_open),
            ("late_seconds", "gauge", "Seconds by which the first page is overdue.", max(0.0, now - counts.oldest)),
            ("early_total", "counter", "Pages closed early at the limit of open pages.", counts.early),
            ("damaged_total", "counter", "Pages that could not be read from the store.", counts.damaged),
            ("held_outcomes", "gauge", "Outcomes held until the policy requests them.", counts.held),
            ("waiting_requests", "gauge", "Requests queued for the store.", self.waiting),
            ("failed_batches_total", "counter", "Transactions that failed.", self.failed),
            ("dropped_log_lines_total", "counter", "Log lines that were omitted.", self.dropped),
        ):
            lines += _family(name, kind, meaning, [({}, value)])
        lines += _family(
            "pulls_total", "counter", "Steps in which the policy chose the ranker; each drop resets to 0.", pulls
        )
        return "\n".join(lines) + "\n"

    def _histograms(self) -> Iterator[str]:
        yield from _family("request_seconds", "histogram", "Time from a request to its answer.", ())
        for path, seconds in sorted(self._seconds.items()):
            yield from seconds.lines("request_seconds", {"path": path})
        yield from _family("batch_requests", "histogram", "Requests committed in one transaction.", ())
        yield from self._batches.lines("batch_requests", {})
        yield from _family("batch_seconds", "histogram", "Time to commit one batch.", ())
        yield from self._commits.lines("batch_seconds", {})


def _family(name: str, kind: str, meaning: str, rows: Iterable[_Row]) -> Iterator[str]:
    yield f"# HELP ltr_duel_{name} {meaning}"
    yield f"# TYPE ltr_duel_{name} {kind}"
    yield from (_line(name, labels, value) for labels, value in rows)


def _line(name: str, labels: Mapping[str, str], value: float) -> str:
    inside = ",".join(f'{label}="{_escaped(one)}"' for label, one in labels.items())
    return f"ltr_duel_{name}{{{inside}}} {value:.17g}" if inside else f"ltr_duel_{name} {value:.17g}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
