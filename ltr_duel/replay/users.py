"""Simulated users of a search page, with their queries and clicks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ltr_duel.clicks import ClickModel, click_model, simulate_clicks, users_of
from ltr_duel.core import InputError, random_below, stream
from ltr_duel.rankers import REDRAWING, Rankings


class SimulatedUsers:
    """Users of a corpus, sampled as in the first repetition of `simulate` with the same seed.

    Document ids are the numbers of the documents within the query.

    Parameters
    ----------
    rankings : Rankings
        Rankings with a fixed order of ties.
    clicks : str or ClickModel
    top : int
        Maximum number of documents on a page.
    seed : int

    Raises
    ------
    InputError
        If tied documents are reordered each time the rankings are used, or the click model does not fit the corpus.

    Examples
    --------
    >>> from ltr_duel.data import make_corpus
    >>> from ltr_duel.rankers import feature_rankers
    >>> users = SimulatedUsers(feature_rankers(make_corpus(queries=10, documents=8, features=2)), seed=1)
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
        """Sample the query of the next user."""
        return random_below(self._rankings.n_queries, self._queries)

    def lists(self, query: int) -> dict[str, list[int]]:
        """Return the documents of a query, in the order of each ranker."""
        start, end = self._rankings.query_ptr[query : query + 2]
        return dict(zip(self._rankings.names, self._rankings.order[:, start:end].tolist(), strict=True))

    def clicks(self, query: int, page: Sequence[int]) -> list[int]:
        """Return the clicked documents of a page. Raises `InputError` if a document does not belong to the query."""
        start, end = self._rankings.query_ptr[query : query + 2]
        if len(page) > len(self._shown) or not all(type(one) is int and 0 <= one < end - start for one in page):
            raise InputError("the page contains documents of another query, or is longer than 'top'")
        self._shown[: len(page)] = page
        amount = simulate_clicks(
            self._users, self._rankings.relevance, int(start), self._shown, len(page), self._clicked, self._clicks
        )
        return [page[place] for place in self._clicked[:amount]]
