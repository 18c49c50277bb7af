"""Short queries, ties and twins; ties with a new random order in each comparison."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from ltr_duel.clicks import ClickModel
from ltr_duel.core import interpreted, stream
from ltr_duel.interleaving import METHODS, Comparer, comparison
from ltr_duel.interleaving.hooks import credit_pair, credit_slate, draw_pair, draw_slate
from ltr_duel.preferences import estimate_preferences
from ltr_duel.rankers import rankings_from_scores
from tests.conftest import random_rankings
from tests.driving import pairs_often
from tests.rankers.test_features import make_dataset
from tests.reference.sampling import choose_below, enumerate_choices

CLICKS = ClickModel("clicks", (0.3, 0.9), (0.0, 0.0))
PAIRS = [method.name for method in METHODS if method.pairs]
SLATES = [method.name for method in METHODS if method.slates]


def ranked(scores, sizes, ties="fixed_random"):
    scores = np.array(scores, dtype=float)
    dataset = make_dataset(np.zeros((scores.shape[1], 1)), sizes)
    return rankings_from_scores(dataset, dict(zip("abcd", scores, strict=False)), ties=ties)


@pytest.mark.parametrize(
    ("name", "size"), [*((name, 2) for name in PAIRS), *((name, 3) for name in SLATES if "optimized" not in name)]
)  # optimized multileaving samples its lists from a stream of the query
def test_a_query_among_others_is_shown_and_credited_as_it_is_alone(name, size):
    scores, results = stream(1, "queries", name).random((3, 9)), []
    for rankings, query in ((ranked(scores, [3, 6]), 1), (ranked(scores[:, 3:], [6]), 0)):
        c, rng, won = Comparer(rankings, CLICKS, name, top=4).open(), stream(2), np.zeros((3, 3))
        arguments = c.method, c.lists, query, *((0, 1) if size == 2 else (np.arange(3), 3)), c.page
        for _ in range(20):
            length = (draw_pair if size == 2 else draw_slate)(*arguments, rng)
            clicks = np.flatnonzero(np.append(True, rng.random(length - 1) < 0.5))
            c.page.clicks[: len(clicks)] = clicks
            if size == 2:
                won[0, 1] = credit_pair(*arguments, length, len(clicks))
            else:
                credit_slate(*arguments, length, len(clicks), won)
            results.append((c.page.shown.tolist(), c.page.owner.tolist(), won[np.triu_indices(3, 1)].tolist()))
    assert results[:20] == results[20:] and len({str(credit) for *_, credit in results}) > 1


def test_tied_documents_are_shuffled_uniformly_and_others_stay(monkeypatch):
    monkeypatch.setattr(comparison, "random_below", choose_below)
    c = Comparer(ranked([[5, 1, 1, 1, 0, 0]] * 2, [6], ties="resample"), CLICKS, "team_draft").open()
    assert c.tied[0].tolist() == [0, 0, 1, 1, 0, 1]

    def run(chooser):
        interpreted(comparison.redraw_ties)(c, 0, np.array([1]), 1, chooser)
        order = c.current.order[0, :6].tolist()
        assert [c.current.rank[0, d] for d in order] == [1, 2, 3, 4, 5, 6]
        return tuple(order)

    law = enumerate_choices(run)
    expected = {(0, *three, *two) for three in permutations((1, 2, 3)) for two in permutations((4, 5))}
    assert set(law) == expected and all(p == pytest.approx(1 / 12) for p in law.values())


def test_a_constant_ranker_loses_when_its_ties_are_redrawn_before_inference():
    rng = np.random.default_rng(0)
    scores = np.stack([np.zeros(1000), rng.random(1000)])  # constant, and random but distinct
    shares = {}
    for rule in ("resample", "redraw_at_inference"):
        comparer, totals = Comparer(ranked(scores, [100] * 10, ties=rule), CLICKS), np.zeros(2)
        pairs_often(comparer.open(), 0, 1, 10_000, stream(0, rule), totals)
        shares[rule] = (1 + totals[0] / 10_000) / 2
    assert abs(shares["resample"] - 0.5) < 0.1
    assert shares["redraw_at_inference"] < 0.3, "it is not recognised as the source of its own documents"


def test_rankings_that_are_mapped_from_a_file_can_be_read_only():
    rankings = random_rankings(3, 4, 8)
    for array in (rankings.order, rankings.rank, rankings.relevance, rankings.query_ptr):
        array.flags.writeable = False  # read-only, like arrays of a converted corpus
    assert estimate_preferences(rankings, clicks="perfect", method="team_draft", comparisons=20).comparisons[0, 1] == 20
