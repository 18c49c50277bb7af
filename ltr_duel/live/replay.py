"""Try the plans of an experiment on simulated users."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ltr_duel.clicks import ClickModel, click_model, simulate_clicks, users_of
from ltr_duel.core import InputError, random_below, stream
from ltr_duel.live.plan import LivePlan
from ltr_duel.live.plan_checks import keep_plan
from ltr_duel.live.planner import next_plan
from ltr_duel.live.settings import Settings
from ltr_duel.live.signing import Keys
from ltr_duel.logs import ClickLog, write_log
from ltr_duel.rankers import REDRAWING, Rankings

EXPOSURES, EVENTS = "exposures", "events"  # the two parts of a log, each a folder of Parquet files
_BEGINS, _HOUR = 1_700_000_000.0, 3600.0  # start of the simulated clock, and seconds of an hour
_EVENT = "impression", "time", "item", "position", "kind", "value"


class Visitors:
    """Simulated users, who search in a corpus and click. Documents are named by their numbers within the query.

    Queries and clicks are drawn as in the first repetition of `simulate` with this seed.

    Parameters
    ----------
    rankings : Rankings
        The rankings to show, in which tied documents must have a fixed order.
    clicks : str or ClickModel
        The click model, ``navigational`` by default.
    top : int
        The largest number of documents on a page, 10 by default.
    seed : int

    Raises
    ------
    InputError
        If tied documents have no fixed order, or if the click model does not fit the corpus.

    Examples
    --------
    >>> from ltr_duel.data import make_corpus
    >>> from ltr_duel.rankers import feature_rankers
    >>> users = Visitors(feature_rankers(make_corpus(queries=10, documents=8, features=2)), seed=1)
    >>> sorted(users.lists(users.next_query()))
    ['1', '2']
    """

    def __init__(
        self, rankings: Rankings, clicks: str | ClickModel = "navigational", *, top: int = 10, seed: int = 0
    ) -> None:
        if rankings.provenance.get("ties") in REDRAWING:
            raise InputError("a search page requires a fixed order of ties: use rankings whose ties are ordered once")
        self._rankings = rankings
        self._users = users_of(click_model(clicks, rankings.grades), top)
        self._queries, self._clicks = (stream(seed, 0, name) for name in ("queries", "clicks"))
        self._shown, self._clicked = np.zeros(top, np.int64), np.zeros(top, np.int64)

    def next_query(self) -> int:
        """Draw the query of the next user."""
        return random_below(self._rankings.n_queries, self._queries)

    def lists(self, query: int) -> dict[str, list[int]]:
        """Return the list of each ranker for a query."""
        start, end = self._rankings.query_ptr[query : query + 2]
        return dict(zip(self._rankings.names, self._rankings.order[:, start:end].tolist(), strict=True))

    def clicks(self, query: int, page: Sequence[int]) -> list[int]:
        """Return the documents that a user clicks. Raises `InputError` if a document does not belong to the query."""
        start, end = self._rankings.query_ptr[query : query + 2]
        if len(page) > len(self._shown) or not all(type(doc) is int and 0 <= doc < end - start for doc in page):
            raise InputError("the page contains documents of another query, or is longer than 'top'")
        self._shown[: len(page)] = page
        amount = simulate_clicks(
            self._users, self._rankings.relevance, int(start), self._shown, len(page), self._clicked, self._clicks
        )
        return [page[place] for place in self._clicked[:amount]]


class Loop(NamedTuple):
    """The settings of `follow_plans`: what is simulated, how often, and in which folder."""

    settings: Settings
    secrets: dict[str, bytes]  # the secrets of the keys that sign plans
    rankings: Rankings
    clicks: str | ClickModel
    folder: Path  # folder for plan.json, earlier plans and the log
    users: int  # number of returning users of each process; with 0, each search has a new user
    searches: int  # number of searches in each process under each plan
    seed: int


def follow_plans(loop: Loop, *, plans: int, processes: int) -> Iterator[tuple[LivePlan, int]]:
    """Simulate users under one plan after another. Yield each plan, with the number of pages that were logged.

    Each plan is made from the logs of all earlier plans, and used for an hour.
    """
    import joblib  # imported here, because the import takes long

    for name in (EXPOSURES, EVENTS):
        if (loop.folder / name).exists():
            raise InputError(f"{loop.folder / name}: exists already; simulated users need a new folder")
        (loop.folder / name).mkdir(parents=True)
    plan = log = None
    for number in range(plans):
        if any((loop.folder / EVENTS).iterdir()):
            log = ClickLog(loop.folder / EXPOSURES, events=loop.folder / EVENTS, skip_bad=None)
        plan = next_plan(loop.settings, log, at=_BEGINS + number * _HOUR, last=plan)
        keep_plan(plan, loop.folder / "plan.json", Keys(loop.secrets))
        work = [(loop, plan.version, process) for process in range(processes)]
        yield plan, sum(joblib.Parallel(processes)(joblib.delayed(_follow)(*task) for task in work))


def _follow(loop: Loop, version: int, process: int) -> int:
    plan = LivePlan.read(loop.folder / "plan.json", Keys(loop.secrets))
    seed = int(stream(loop.seed, "plans", version, process).integers(1 << 62))
    users = Visitors(loop.rankings, loop.clicks, top=plan.top, seed=seed)
    coming = stream(loop.seed, "plans", version, process, "users")
    rows, events, logged = list[dict[str, Any]](), list[tuple[Any, ...]](), set[str]()
    for k in range(loop.searches):
        query = users.next_query()
        user = f"u{process}-{random_below(loop.users, coming)}" if loop.users else f"{version}-{process}-{k}"
        now = plan.at + process * 1e-3 + (_HOUR - 2) * k / loop.searches
        decision = plan.decide(user, str(query), users.lists(query), now=now)
        if decision.record is None or decision.impression in logged:  # a page that is shown again is logged once
            continue
        logged.add(decision.impression)
        rows.append(decision.record)
        for item in users.clicks(query, decision.page):
            position = decision.page.index(item) + 1
            events.append((decision.impression, now + 0.1 * position, str(item), position, "click", 1.0))
    for name, columns, table in (
        (EXPOSURES, tuple(rows[0]) if rows else (), [tuple(row.values()) for row in rows]),
        (EVENTS, _EVENT, events),
    ):
        if table:
            with write_log(loop.folder / name / f"{version}-{process}.parquet", columns) as log:
                log.write(dict(zip(columns, map(list, zip(*table, strict=True)), strict=True)))
    return len(rows)
