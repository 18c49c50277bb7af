"""A world that changes: outcomes follow the matrix of the moment, regret is against its winner."""

import re

import numpy as np
import pytest

from ltr_duel.bandits import POLICIES, Run
from ltr_duel.bandits.state import arrays_in
from ltr_duel.core import InputError, stream
from ltr_duel.preferences import PreferenceMatrix
from ltr_duel.simulation import FromSchedule, dynamic_regret, simulate
from tests.bandits.matrices import bradley_terry
from tests.reference.bandits.others import MonitoredRucb
from tests.reference.bandits.walk import walk

BEFORE = PreferenceMatrix([[0.5, 1.0, 1.0], [0.0, 0.5, 1.0], [0.0, 0.0, 0.5]])
AFTER = PreferenceMatrix(BEFORE.p.T)  # the arms in opposite order
SWAP = FromSchedule([BEFORE, AFTER], [300])


def run(policy, schedule=SWAP, horizon=1000, **given):
    given = {"repetitions": 2, "jobs": 1, "preferences": schedule.average(horizon)} | given
    return simulate(schedule, policy, horizon=horizon, **given)


def test_outcomes_follow_the_matrix_of_the_moment():
    result = run("beat_the_winner_reset").runs[0]
    recommended = dict(zip(result.checkpoints.tolist(), result.recommended.tolist(), strict=True))
    assert (recommended[300], recommended[1000]) == (0, 2)


def test_a_jump_ends_at_a_change_and_regret_counts_the_winner_of_the_moment():
    """SAVAGE has stopped at arm 0 before the change; later, arm 0 loses each duel with arm 2: a gap of 1/2 a step.

    Arm 2 is the best fixed arm; before the change, each step of the stopped SAVAGE gains its gap of 1/2.
    """
    result = run("savage")
    frame = dynamic_regret(result, SWAP).query("repetition == 0").set_index("t")
    assert frame["regret_dynamic"][1000] - frame["regret_dynamic"][300] == 700 * 0.5
    before = result.runs[0].exposure[result.runs[0].checkpoints == 300][0] @ [-0.5, -0.5, 0.0]
    assert frame["regret_static"][300] == pytest.approx(before)
    assert frame["regret_static"][1000] == pytest.approx(before + 700 * 0.5)


def test_weak_regret_ranks_the_arms_by_the_matrix_of_the_moment():
    """`random` draws one of three pairs; the best arm is in two of them, and the third has a weak regret of 1/2."""
    schedule = FromSchedule([BEFORE, AFTER], [10_000])
    result = run("random", horizon=30_000, repetitions=1, schedule=schedule)
    weak = dynamic_regret(result, schedule, "weak")["regret_dynamic"].iloc[-1]
    assert weak / 30_000 == pytest.approx(1 / 3 * 0.5, abs=0.01)


def test_the_average_weighs_each_matrix_by_its_steps():
    assert np.allclose(SWAP.average(1000).p, 0.3 * BEFORE.p + 0.7 * AFTER.p)
    assert SWAP.average(200).p.tolist() == BEFORE.p.tolist()


def test_late_outcomes_and_plain_python_take_the_same_schedule():
    compiled, plain = (run("rucb", compiled=c, horizon=400, batch=7) for c in (True, False))
    assert np.array_equal(compiled.runs[0].pulls, plain.runs[0].pulls)


class Changing:
    """A matrix for the reference walk: one matrix up to a number of duels, then another."""

    def __init__(self, before, after, duels):
        self.matrices, self.left = (before, after), duels

    def __len__(self):
        return len(self.matrices[0])

    def __getitem__(self, pair):
        self.left -= 1
        return self.matrices[self.left < 0][pair]


def test_monitored_rucb_restarts_like_the_reference_when_preferences_change():
    before, after = bradley_terry(3, spread=8), bradley_terry(3, spread=8)[::-1, ::-1]
    given, steps, change = POLICIES.configure("monitored_rucb:gap=1.0,segments=2"), 3000, 1500
    fast = Run.on_matrix(given.component, before.copy(), given.params, seed=3, horizon=steps, keep=steps)
    fast.advance(change)
    duels = int((fast.path[:change, 0] != fast.path[:change, 1]).sum())
    fast.oracle.p[:] = after
    fast.advance(steps)
    assert fast.state.windows.now[0].start > change  # it has restarted
    literal = walk(MonitoredRucb, given.params, Changing(before, after, duels), steps, 3)
    assert np.array_equal(fast.path, literal)


@pytest.mark.parametrize("name", ["monitored_rucb", "monitored_double_thompson"])
def test_after_a_detected_change_the_monitored_policy_is_as_before_its_first_duel(name):
    """Each array that is not written anew before it is read is compared with that of a new state."""
    scratch = re.compile(r"levels\.(lane|some|mean|scale)|tournament\.(lane|unmet|lost)")
    given = POLICIES.configure(f"{name}:gap=1.0,segments=2")
    run = Run.on_matrix(given.component, bradley_terry(6, spread=2).copy(), given.params, seed=3, horizon=9000)
    run.advance(4500)
    run.oracle.p[:] = run.oracle.p.T.copy()
    now, t = run.state.windows.now[0], 4500
    while now.start == 0:
        used = {key: array.copy() for key, array in arrays_in(run.state.policy)}
        run.advance(t := t + 1)
    new = given.component.start(6, 9000, given.params, stream(0))
    fresh = {key: array for key, array in arrays_in(new.policy) if not scratch.fullmatch(key)}
    unused = {key for key in fresh if np.array_equal(used[key], fresh[key])}
    assert unused <= {"best", "last", "levels.every", "levels.zeros", "tournament.every"}  # constants and hints
    after = dict(arrays_in(run.state.policy))
    assert [key for key in fresh if not np.array_equal(after[key], fresh[key])] == []


@pytest.mark.parametrize(
    "matrices, changes, message",
    [
        ([BEFORE], [], "between 2 and 100"),
        ([BEFORE, AFTER], [5, 9], "2 matrices need 1 ascending steps"),
        ([BEFORE, AFTER, BEFORE], [9, 5], "3 matrices need 2 ascending steps"),
        ([BEFORE, PreferenceMatrix([[0.5, 0.9], [0.1, 0.5]])], [5], "the first"),
    ],
)
def test_a_malformed_schedule_is_refused(matrices, changes, message):
    with pytest.raises(InputError, match=message):
        FromSchedule(matrices, changes)


def test_results_of_another_schedule_are_refused():
    results = run("random")
    for other in (FromSchedule([BEFORE, AFTER], [301]), FromSchedule([AFTER, BEFORE], [300])):
        with pytest.raises(InputError, match="not of runs of this schedule"):
            dynamic_regret(results, other)
    with pytest.raises(InputError, match="regret 'ndcg'"):
        dynamic_regret(results, SWAP, "ndcg")
