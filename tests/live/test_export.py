"""The exported log says what the experiment says of itself, to the last bit."""

import pytest

from ltr_duel.live import export_log
from ltr_duel.logs import ClickLog, compare_log, stopping_decisions
from tests.live.shop import NAMES, Clock, opened, settings
from tests.live.test_experiment import use


@pytest.mark.parametrize("users", [False, True])
@pytest.mark.parametrize(
    "policy, method, outcome, suffix",
    [
        ("rucb", "team_draft", "", "parquet"),
        ("interleaved_filter", "probabilistic", "marginal_bernoulli", "jsonl"),
        ("multi_self_sparring:size=3", "probabilistic", "", "csv"),
    ],
)
def test_compare_finds_in_the_log_what_the_state_says(tmp_path, users, policy, method, outcome, suffix):
    given = settings(policy=policy, method=method, outcome=outcome, horizon=500)
    clock = Clock()
    with opened(tmp_path, given, clock=clock) as experiment:
        for part in range(6):
            use(experiment, 50, part, users=users)
            clock.now += (70, 3, -2, 40, 90, 1)[part]
        state = experiment.state()
    log = tmp_path / f"log.{suffix}"
    assert export_log(tmp_path / "shop.db", log) == state.compared > 0
    found = compare_log(ClickLog(log), rankers=NAMES, cluster="user" if users else "impression", bootstrap=0)
    assert found.impressions == state.compared and found.names == NAMES
    for (a, b), wins, losses, ties in zip(found.pairs, found.wins, found.losses, found.ties, strict=True):
        assert (state.wins[a, b], state.wins[b, a], state.ties[a, b]) == (wins, losses, ties)
    mine = {(one.first, one.second): one for one in state.decisions}
    theirs = stopping_decisions(found, given.confidence)
    assert len(theirs) > 3
    for one in theirs:
        assert mine[one.first, one.second] == one
    assert (state.wins + state.wins.T + state.ties).sum() == 2 * found.counts.sum()
