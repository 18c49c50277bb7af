"""Every fast policy follows the path of its reference implementation: same seed, same pairs, in every step."""

import numpy as np
import pytest

from ltr_duel.bandits.cardinal import ThompsonBandits, choose
from ltr_duel.bandits.check import play
from ltr_duel.bandits.policy import POLICIES
from ltr_duel.core.draws import beta_draw
from tests.bandits.matrices import bradley_terry, cycle
from tests.reference.bandits import boxes, copeland, elimination, mdb, others, rmed, rucb, thompson
from tests.reference.bandits.walk import walk, walk_slates

LITERAL = {
    "rucb": rucb.Rucb,
    "rucb:alpha=0.6,prior_wins=1": rucb.Rucb,
    "rucb:hypothesis=true": rucb.Rucb,
    "mdb": mdb.Mdb,
    "sparring": boxes.Sparring,
    "thompson_sparring": boxes.ThompsonSparring,
    "exp3_sparring": boxes.Exp3Sparring,
    "multisbm": boxes.MultiSbm,
    "doubler": boxes.Doubler,
    "improved_doubler": boxes.ImprovedDoubler,
    "thompson_doubler": boxes.ThompsonDoubler,
    "balanced_doubler:gap=0.5": boxes.BalancedDoubler,
    "interleaved_filter": elimination.InterleavedFilter,
    "interleaved_filter:prune=false,radius_scale=0.5": elimination.InterleavedFilter,
    "interleaved_filter:radius_scale=0.3": elimination.InterleavedFilter,
    "beat_the_mean:gamma=1.1": elimination.BeatTheMean,
    "beat_the_mean_pac:epsilon=0.49,delta=0.9": elimination.BeatTheMeanPac,
    "savage": elimination.Savage,
    "dkwt:delta=0.5": others.Dkwt,
    "beat_the_winner_reset": others.BeatTheWinnerReset,
    "monitored_rucb:gap=1.0,segments=1": others.MonitoredRucb,
    "merge_rucb": thompson.MergeRucb,
    "merge_rucb:batch=2,alpha=0.7": thompson.MergeRucb,
    "rmed1": rmed.Rmed1,
    "rmed2": rmed.Rmed2,
    "rmed2:alpha=9": rmed.Rmed2,
    "rmed2fh": rmed.Rmed2fh,
    "self_sparring": thompson.SelfSparring,
    "multi_self_sparring:size=3": thompson.MultiSelfSparring,
    "winner_stays": others.WinnerStays,
    "winner_stays_strong:beta=1.5": others.WinnerStaysStrong,
    "ccb": others.Ccb,
    "ecw_rmed": copeland.EcwRmed,
    "ecw_rmed:alpha=1,beta=0.001": copeland.EcwRmed,
    "versatile_db": others.VersatileDb,
}
SAMPLED = {"thompson_sparring", "thompson_doubler", "self_sparring", "multi_self_sparring"}
SLOW = {"beat_the_mean", "beat_the_mean_pac", "ecw_rmed"}  # late steps of the reference take milliseconds


@pytest.fixture(autouse=True)
def every_sample_is_drawn(monkeypatch):
    """Thompson bandits find their arm with fewer samples; `test_levels` tests that the distribution is the same."""

    def drawn(bandits, bandit, t, rng):
        samples = [
            beta_draw(a + 1.0, b + 1.0, rng) for a, b in zip(bandits.good[bandit], bandits.bad[bandit], strict=True)
        ]
        return int(np.argmax(samples))

    monkeypatch.setitem(choose.implementations, ThompsonBandits, drawn)


def assert_same_path(text, p, steps, seed):
    given, name = POLICIES.configure(text), text.split(":")[0]
    follow = walk if given.component.feedback == "duel" else walk_slates
    literal = follow(LITERAL[text], given.params, p, steps, seed)
    for jump in (False, True):
        path = play(given, p, steps, seed, jump=jump, plain=name in SAMPLED).path
        wrong = np.flatnonzero((path != literal).any(axis=1))
        assert not wrong.size, f"{text}, step {wrong[0] + 1}: {path[wrong[0]]}, not {literal[wrong[0]]}"


@pytest.mark.parametrize("text", LITERAL)
def test_fast_policy_walks_the_literal_path(text):
    assert_same_path(text, bradley_terry(2), 300, seed=1)
    assert_same_path(text, bradley_terry(5, spread=4), 1200, seed=2)
    assert_same_path(text, bradley_terry(9), 600, seed=3)
    assert_same_path(text, cycle(6), 400, seed=4)
    assert_same_path(text, bradley_terry(6, spread=12), 500, seed=6)  # arms are eliminated
    if text in ("merge_rucb", "merge_rucb:batch=2,alpha=0.7"):
        assert_same_path(text, bradley_terry(13, spread=40), 2000, seed=7)  # through all merges
    if text in ("ecw_rmed", "ecw_rmed:alpha=1,beta=0.001", "ccb"):
        assert_same_path(text, cycle(3, p=0.9), 600, seed=8)  # a known cycle
    if text in ("rucb", "mdb"):
        assert_same_path(text, bradley_terry(5), 10_000, seed=5)


@pytest.mark.long
@pytest.mark.parametrize("n_arms", [4, 10])
@pytest.mark.parametrize("text", LITERAL)
def test_fast_policy_walks_the_literal_path_for_long(text, n_arms):
    steps = 2_000 if text.split(":")[0] in SLOW | SAMPLED | {"sparring", "multisbm"} or "doubler" in text else 30_000
    assert_same_path(text, bradley_terry(n_arms, spread=3), steps, seed=11)


def test_ecw_rmed_recommends_the_arm_that_meets_itself_until_another_has_fewer_losses():
    _, policy, params = POLICIES.configure("ecw_rmed")
    state = policy.init(3, 0, params)
    state.estimates.wins[:] = [[0, 5, 1], [1, 0, 5], [5, 1, 0]]
    state.estimates.losses[:] = 1
    assert policy.recommend(state, params) == 0  # no plan yet: the first arm that beats the most arms
    state.now[0].winner = 2
    assert policy.recommend(state, params) == 2
    state.estimates.wins[1, 0], state.estimates.losses[:] = 9, [2, 0, 1]
    assert policy.recommend(state, params) == 1
