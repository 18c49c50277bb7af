"""The right ranker of a world, the quality of lists in it, and the changes in harder worlds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare

from ltr_duel.advice.candidates import candidates_named
from ltr_duel.advice.oracles import fill_tape, new_tape
from ltr_duel.advice.play import Source
from ltr_duel.advice.world import closer, cyclic, noisier, worlds_of
from ltr_duel.bandits import duel
from ltr_duel.core import InputError, Streams, interpreted, stream
from ltr_duel.data import make_corpus
from ltr_duel.interleaving import Comparer
from ltr_duel.preferences import estimate_preferences
from ltr_duel.rankers import feature_rankers, measure_by_query
from ltr_duel.rankers.rankings import inverse
from tests.conftest import random_rankings


@pytest.fixture(scope="module")
def rankings():
    return feature_rankers(make_corpus(queries=15, documents=8, features=4, dead=0, constant=0))


def world_of(rankings, users="perfect", top=10, margin=0.01):
    return worlds_of(rankings, (users,), top, margin)[0]


def streams(seed=0):
    return Streams(*(stream(seed, name) for name in Streams._fields))


def shares(world, method="team_draft", length=2000):
    """Return a tape, how often the first ranker of each pair wins on it, and the users' loss from the lists."""
    tape = new_tape(len(world.ndcg), length)
    comparison = Comparer(world.rankings, world.users, method, "", world.top).open()
    interpreted(fill_tape)(tape, comparison, world.yardstick, world.turned, streams())
    return tape, (tape.outcome > 0).mean(axis=1), tape.cost


@pytest.mark.parametrize("top", [10, 3])
def test_the_best_ranker_is_that_of_the_measure_and_the_margin_makes_more_right(rankings, top):
    values = measure_by_query(rankings, f"NDCG@{top}").mean(axis=1)
    gaps = np.sort(values.max() - values)
    world = world_of(rankings, top=top, margin=(gaps[1] + gaps[2]) / 2)
    assert world.ndcg == pytest.approx(values) and world.measure == f"NDCG@{top}"
    assert world.right.sum() == 2 and world.right[values.argmax()] == 1
    assert world.surprise == pytest.approx(gaps[2])
    assert world_of(rankings, margin=1).surprise == 0


def test_a_list_of_one_ranker_twice_loses_what_the_ranker_loses():
    """Pairs of the best ranker with itself, and of a worse ranker with itself: every list is the ranker's list."""
    two = random_rankings(2, 6, 12, grades=3, seed=3)
    by_query = measure_by_query(two, "NDCG@10")
    best = int(by_query.mean(axis=1).argmax())
    chosen = [best, best, 1 - best, 1 - best]
    world = world_of(
        type(two)(tuple("abcd"), two.order[chosen], two.rank[chosen], two.relevance, two.query_ptr, 3, {"corpus": "t"})
    )
    tape, _, cost = shares(world, length=300)
    assert np.abs(cost[tape.number[0, 1]]).max() < 1e-12  # against itself, query by query
    gaps = by_query[best] - by_query[1 - best]
    lost = cost[tape.number[2, 3]]
    assert np.isclose(lost[:, None], gaps, atol=1e-12).any(axis=1).all()
    assert abs(lost.mean() - world.gaps[2]) < 5 * gaps.std() / np.sqrt(300)
    assert world.right.tolist() == [1, 1, 0, 0]


def test_outcomes_on_the_tape_have_the_law_of_comparisons(rankings):
    world = world_of(rankings, "navigational")
    _, won, _ = shares(world)
    matrix = estimate_preferences(rankings, clicks="navigational", method="team_draft", comparisons=8000, jobs=1)
    truth = matrix.p[np.triu_indices(4, 1)]
    assert np.abs(won - truth).max() < 4.5 * np.sqrt(0.25 / 2000 + 0.25 / 8000)


def test_a_tape_is_used_in_order_and_filled_up_behind():
    world = world_of(random_rankings(3, 4, 6, grades=3))
    tape, comparison = new_tape(3, 4), Comparer(world.rankings, world.users, "team_draft").open()
    given = (tape, comparison, world.yardstick, world.turned, streams())
    interpreted(fill_tape)(*given)
    before = tape.outcome.copy()
    assert [duel(tape, 0, 2, streams()) for _ in range(2)] == before[1, :2].tolist()
    assert duel(tape, 2, 0, streams()) == -before[1, 2]
    assert tape.lost[0] == pytest.approx(tape.cost[1, :3].sum()) and tape.met.tolist() == [1.5, 0, 1.5]
    interpreted(fill_tape)(*given)
    assert tape.played.tolist() == [4, 7, 4] and (tape.outcome[[0, 2]] == before[[0, 2]]).all()
    assert tape.outcome[1, 3] == before[1, 3]


def ideal_random_and_worst():
    """Return three rankers on five queries of six documents: by grade, at random, by reversed grade."""
    some = random_rankings(3, 5, 6, grades=3, seed=1)
    order = some.order.copy()
    for start, stop in zip(some.query_ptr[:-1], some.query_ptr[1:], strict=True):
        order[0, start:stop] = np.argsort(-some.relevance[start:stop], kind="stable")
        order[2, start:stop] = order[0, start:stop][::-1]
    rank = np.stack([inverse(row, some.query_ptr) for row in order])
    return type(some)(some.names, order, rank, some.relevance, some.query_ptr, 3, some.provenance)


def test_harder_worlds_take_half_of_a_lead_or_turn_it_round():
    world = world_of(ideal_random_and_worst(), "navigational", top=3)
    assert np.argsort(-world.ndcg).tolist() == [0, 1, 2]
    lead, near, cycle = (shares(one, length=1500)[1] - 0.5 for one in (world, closer(world), cyclic(world)))
    noise = 4 * np.sqrt(2 * 0.25 / 1500)
    assert lead[0] > 2.5 * noise and lead[1] > 2 * noise  # so that halves and signs can be distinguished
    assert abs(near[0] - lead[0] / 2) < noise and abs(near[1] - lead[1]) < noise
    assert abs(cycle[1] + lead[1]) < noise and abs(cycle[0] - lead[0]) < noise
    assert cyclic(world_of(world.rankings[[0, 1]])) is None
    assert np.ptp(noisier(world).users.p_click) == pytest.approx(np.ptp(world.users.p_click) / 2)
    assert np.mean(noisier(world).users.p_click) == pytest.approx(np.mean(world.users.p_click))


@pytest.mark.parametrize("name", ["rucb/team_draft", "mdb/sosm", "a/b"])
def test_what_users_saw_adds_up(rankings, name):
    """Exposure is one per impression, and the quality of a list is between the worst and the ideal list."""
    (candidate,) = [one for one in candidates_named((name, "rucb/probabilistic")) if one.label == name]
    world = world_of(rankings)
    found = Source.of(candidate, world, 300, compiled=False).start(0, "test").play(np.array([50, 300]))
    assert found.exposure.sum(axis=1) == pytest.approx([50, 300])
    assert 0 < 50 * world.ndcg.max() - found.lost[0] < 50
    assert 50 * world.ndcg.max() - found.lost[0] < 300 * world.ndcg.max() - found.lost[1] < 300
    assert found.lost[1] < 1.05 * (found.exposure @ world.gaps)[1]  # lists are no worse than their rankers here


@pytest.mark.parametrize("name", ["rucb/team_draft", "mdb/sosm", "a/b"])
def test_no_ranker_is_named_for_its_row(rankings, name):
    """With identical rankers and a single shown list, all rankers are named equally often."""
    (candidate,) = [one for one in candidates_named((name, "rucb/probabilistic")) if one.label == name]
    order, rank = (np.repeat(rows[:1], 4, axis=0) for rows in (rankings.order, rankings.rank))
    same = type(rankings)(
        rankings.names, order, rank, rankings.relevance, rankings.query_ptr, rankings.grades, rankings.provenance
    )
    source = Source.of(candidate, world_of(same, "random"), 300, compiled=False)
    named = [source.start(run, "row").play(np.array([1])).named[0] for run in range(200)]
    assert chisquare(np.bincount(named, minlength=4)).pvalue > 1e-3


def test_a_run_that_is_prolonged_is_the_run_that_was_long(rankings):
    for name in ("rucb/team_draft", "mdb/sosm"):
        (candidate,) = candidates_named((name,))
        source = Source.of(candidate, world_of(rankings), 200, compiled=False)
        once = source.start(0, "test").play(np.array([100, 200]))
        player = source.start(0, "test")
        twice = player.play(np.array([100])), player.play(np.array([200]))
        assert [part.named[0] for part in twice] == once.named.tolist()
        assert [part.lost[0] for part in twice] == once.lost.tolist()


@pytest.mark.parametrize(
    "words, sentence",
    [
        (("rucb",), "a candidate is written policy/method, for example 'rucb/team_draft', or 'a/b'; not 'rucb'"),
        ((3,), "a candidate is written policy/method"),
        (("rcub/team_draft",), "no policy 'rcub'; did you mean 'rucb'?"),
        (("mdb/balanced",), "policy 'mdb' compares sets, which method 'balanced' does not; methods that do:"),
        (("rucb/sosm",), "policy 'rucb' compares pairs, which method 'sosm' does not"),
        (("rucb/team_draft", "rucb/team_draft"), "the candidate 'rucb/team_draft' is named twice"),
        (("a/b",), "'a/b' is only for comparison"),
    ],
)
def test_a_candidate_that_cannot_be_is_refused_in_a_sentence(words, sentence):
    with pytest.raises(InputError) as refused:
        candidates_named(words)
    assert str(refused.value).startswith(sentence)


def test_ties_that_are_drawn_anew_are_refused():
    corpus = make_corpus(queries=4, documents=6, features=3)
    with pytest.raises(InputError, match="fixed order of ties"):
        world_of(feature_rankers(corpus, ties="resample"))
