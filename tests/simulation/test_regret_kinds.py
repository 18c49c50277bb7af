"""Strong, weak, Borda, utility and NDCG regret: each against its definition, step by step."""

from __future__ import annotations

import numpy as np
import pytest

from ltr_duel.bandits.hooks import select, select_slate, update, update_slate
from ltr_duel.bandits.oracle import duel, multiduel, relabelled
from ltr_duel.bandits.policy import POLICIES
from ltr_duel.core import interpreted
from ltr_duel.core.errors import InputError
from ltr_duel.preferences.matrix import PreferenceMatrix
from ltr_duel.simulation.oracle import FromMatrix
from ltr_duel.simulation.regret import REGRETS, loss_per_arm, places
from ltr_duel.simulation.results import Results
from ltr_duel.simulation.run import simulate
from ltr_duel.simulation.single_run import run_order, run_streams
from tests.conftest import ROCK_PAPER_SCISSORS, bradley_terry, coins

# The best arm stands last, so that an order of the arms by number would be wrong.
MATRIX = PreferenceMatrix(np.ascontiguousarray(bradley_terry(5).p[::-1, ::-1]))


def slates_of(run, steps):
    """Run the path in plain Python, and return the compared arms of each step."""
    policy, params = POLICIES.configure(run.label)[1:]
    state, order, streams = policy.init(5, 0, params), run_order(run.key, 5), run_streams(run.key)
    oracle = relabelled(FromMatrix(MATRIX).open(), order)
    slate, won, compared = np.zeros(5, np.int64), np.zeros((5, 5), np.int8), []
    for t in range(1, steps + 1):
        if policy.feedback == "duel":
            first, second = interpreted(select)(state, params, t, streams.policy)
            outcome = duel(oracle, first, second, streams) if first != second else 0
            interpreted(update)(state, params, t, first, second, outcome, streams.policy)
            compared.append(order[[first, second]])
        else:
            size = select_slate(state, params, t, slate, streams.policy)
            if size > 1:
                multiduel(oracle, slate, size, won, streams)
            update_slate(state, params, t, slate, size, won, streams.policy)
            compared.append(order[slate[:size]])
    return compared


@pytest.mark.parametrize("policy", ["rucb", "mdb"])
def test_every_kind_is_the_sum_over_steps_of_its_definition(policy):
    steps = 400
    run = simulate(coins(MATRIX), policy, horizon=steps, repetitions=1, compiled=False).runs[0]
    gap = MATRIX.p[4] - 0.5
    borda = MATRIX.borda_scores.max() - MATRIX.borda_scores
    utility = np.array([0.1, 0.2, 0.3, 0.4, 0.9])
    compared = slates_of(run, steps)
    expected = {
        "average": sum(gap[s].mean() for s in compared),
        "strong": sum(gap[s].max() for s in compared),
        "weak": sum(gap[s].min() for s in compared),
        "borda": sum(borda[s].mean() for s in compared),
        "utility": sum((0.9 - utility[s]).mean() for s in compared),
        "ndcg": sum((0.9 - utility[s]).mean() for s in compared),
    }
    for name, total in expected.items():
        assert run.regret(MATRIX, name, utility)[-1] == pytest.approx(total), name
    assert expected["weak"] < expected["average"] < expected["strong"]


@pytest.mark.parametrize("policy", ["rucb", "mdb"])
def test_each_step_has_one_best_and_one_worst_arm(policy):
    run = simulate(coins(MATRIX), policy, horizon=10**6, repetitions=1).runs[0]
    assert run.best is not None and run.worst is not None
    assert (run.best.sum(axis=1) == run.checkpoints).all() and (run.worst.sum(axis=1) == run.checkpoints).all()


def test_places_follow_the_gap_to_the_winner():
    assert places(MATRIX).tolist() == [4, 3, 2, 1, 0]
    assert places(ROCK_PAPER_SCISSORS).tolist() == [0, 1, 2]


def test_regrets_that_are_not_defined_are_no_numbers_and_unknown_ones_refused():
    results = simulate(ROCK_PAPER_SCISSORS, "rucb", horizon=100, repetitions=1)
    frame = results.to_frame(tuple(REGRETS))
    for name in ("average", "strong", "weak", "utility", "ndcg"):
        assert frame[f"regret_{name}"].isna().all(), name
    assert frame["regret_borda"].notna().all()
    with pytest.raises(InputError, match="no regret 'avrage'; did you mean 'average'"):
        loss_per_arm(ROCK_PAPER_SCISSORS, "avrage")
    given = Results(results.runs, ROCK_PAPER_SCISSORS, {"utility": np.array([0.0, 0.5, 1.0])})
    assert given.to_frame()["regret_utility"].notna().all()
