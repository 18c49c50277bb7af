"""Simulated users of a live experiment in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ltr_duel.core import InputError, errors, stream
from ltr_duel.live import Decide, Experiment, Record
from ltr_duel.replay.users import SimulatedUsers


@dataclass
class Replayed:
    """Counts of a replay."""

    pages: int = 0
    plain: int = 0  # pages of a single ranker
    clicked: int = 0
    lost: int = 0  # pages whose clicks were never reported

    def lines(self) -> list[str]:
        """Return a summary in sentences."""
        return [
            f"pages: {self.pages:,}; {self.clicked:,} clicked, {self.plain:,} of a single ranker, {self.lost:,} never"
            " reported"
        ]


def replay(
    users: SimulatedUsers,
    experiment: Experiment,
    *,
    steps: int = 10_000,
    concurrency: int = 1,
    lost: float = 0.0,
    seed: int = 0,
    progress: Callable[[int], object] = lambda pages: None,
) -> Replayed:
    """Run simulated users who search and click in a live experiment.

    With ``concurrency=1``, the policy takes the same path as in the first repetition of `simulate` with the same seed.
    Simulations have no pages of a single ranker; such a page is reported without clicks, and its query is sent again.

    Parameters
    ----------
    users : SimulatedUsers
    experiment : Experiment
        An open experiment whose rankers are the rankers of the users' corpus.
    steps : int
        Number of pages.
    concurrency : int
        Number of simultaneous users: so many pages are shown before the first of them is reported.
    lost : float
        Share of pages, sampled at random, whose clicks are never reported.
    seed : int
        Seed for sampling the lost pages.
    progress : function
        Called with the number of pages after each step of the simultaneous users.

    Returns
    -------
    Replayed

    Raises
    ------
    InputError
        If a number is out of range, or the experiment rejects a search or a report.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from ltr_duel.data import make_corpus
    >>> from ltr_duel.live import Experiment, Settings
    >>> from ltr_duel.rankers import feature_rankers
    >>> rankings = feature_rankers(make_corpus(queries=10, documents=8, features=2))
    >>> settings = Settings(name="shoes", rankers=rankings.names, policy="random", seed=1)
    >>> with TemporaryDirectory() as folder, Experiment.open(f"{folder}/shoes.db", settings) as experiment:
    ...     replay(SimulatedUsers(rankings, seed=1), experiment, steps=20).pages
    20
    """
    steps = errors.require_whole("the number of steps", steps, 1)
    concurrency = errors.require_whole("the number of users at once", concurrency, 1, 10_000)
    errors.require_between("the share of lost pages", lost, 0, 1)
    losing, found = stream(seed, "replay", "lost"), Replayed()
    queries = list[int]()  # of pages of a single ranker, to be sent again
    while found.pages < steps:
        some = min(concurrency, steps - found.pages)
        queries = queries[:some] + [users.next_query() for _ in range(some - len(queries))]
        pages = _answers(experiment, [Decide(str(query), users.lists(query)) for query in queries])
        reports, again = list[Record](), list[int]()
        for query, page in zip(queries, pages, strict=True):
            clicks: list[int] = []
            if len(page.rankers) > 1:
                clicks = users.clicks(query, page.shown)
            else:
                found.plain += 1
                again.append(query)
            if lost and losing.random() < lost:
                found.lost += 1
            else:
                found.clicked += bool(clicks)
                reports.append(Record(page.token, clicks))
        _answers(experiment, reports)
        queries, found.pages = again, found.pages + some
        progress(found.pages)
    return found


def _answers(experiment: Experiment, calls: Sequence[Decide | Record]) -> list[Any]:
    """Return the answers to calls of one transaction, or raise the first error."""
    answers = experiment.answer(calls)
    for answer in answers:
        if isinstance(answer, InputError):
            raise answer
    return answers
