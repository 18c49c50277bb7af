"""With many open pages and clicks in any order, pulls have the distribution of `simulate` with simulated users."""

import heapq

import numpy as np
import pytest
from scipy import stats

from ltr_duel.clicks import click_model, simulate_clicks, users_of
from ltr_duel.core import stream
from ltr_duel.data import make_corpus
from ltr_duel.live import Decide, Experiment, Record, Settings
from ltr_duel.preferences import PreferenceMatrix
from ltr_duel.rankers import feature_rankers
from ltr_duel.simulation import Live, simulate
from tests.live.shop import Watched

RANKINGS = feature_rankers(make_corpus(queries=8, documents=9, features=5, seed=2))
STEPS, RUNS, OPEN = 120, 120, 12


def pulls_of(settings, folder, run):
    """Return the pulls of an experiment whose pages are reported in any order, some never.

    With a window in which pages are shown again, users also load them again, read them in three parts, report their
    clicks in several calls, some late and some twice, and buy something on pages that are open or closed.
    """
    rng = stream(run, "users")
    users = users_of(click_model("navigational", RANKINGS.grades), settings.top)
    clicks, time, due, sales = np.zeros(settings.top, np.int64), 0.0, [], []
    with Experiment.open(folder / f"{run}.db", settings, clock=lambda: time) as experiment:
        turns = experiment._actions.memory.turns
        policy = turns.policy = Watched(turns.policy)
        while True:
            time += 1.0
            query = int(rng.random() * RANKINGS.n_queries)
            start, stop = RANKINGS.query_ptr[query : query + 2]
            lists = {name: RANKINGS.order[k, start:stop].tolist() for k, name in enumerate(RANKINGS.names)}
            calls, user = [Decide("q", lists, f"user {time}")], f"user {time}"
            while due and due[0][0] <= time:
                _, token, clicked = heapq.heappop(due)
                calls.insert(0, Record(token, clicked))
                if settings.sticky:
                    calls[:1] = [Record(token, clicked[k:], final=k == 0) for k in range(len(clicked), -1, -1)]
            page = experiment.answer(calls)[-1]
            if settings.sticky and rng.random() < 0.5:
                parts = [experiment.decide("q", lists, user=user, offset=k, limit=4) for k in (0, 4, 8)]
                assert sum((part.shown for part in parts), ()) == page.shown
            if settings.sticky:
                sale = {"document": page.shown[0], "kind": "purchase", "id": user}
                heapq.heappush(sales, (time + rng.random() * 2 * OPEN, page.token, sale))
                while sales[0][0] <= time:
                    _, token, sale = heapq.heappop(sales)
                    experiment.record(token, [sale], late=True)
            at = np.array(page.shown)
            count = simulate_clicks(users, RANKINGS.relevance, start, at, len(at), clicks, rng)
            clicked = [page.shown[place] for place in clicks[:count]]
            if clicked or rng.random() < 0.5:
                heapq.heappush(due, (time + rng.random() * OPEN, page.token, clicked))
            if policy.steps >= STEPS:
                return policy.pulls(STEPS, 5)


@pytest.mark.long
@pytest.mark.parametrize(
    "policy, sticky",
    [
        *((policy, 0) for policy in ("rucb", "interleaved_filter", "rmed1")),
        *((policy, OPEN) for policy in ("rucb", "rmed1", "double_thompson")),
    ],
)
def test_pulls_through_an_experiment_have_the_law_of_the_simulation(tmp_path, policy, sticky):
    found = []
    for run in range(RUNS):
        settings = Settings(
            name="law",
            rankers=RANKINGS.names,
            policy=policy,
            horizon=STEPS,
            seed=run + 10_000,
            deadline=OPEN,
            order="shown",
            sticky=sticky,
        )
        found.append(pulls_of(settings, tmp_path, run))
    oracle = Live(RANKINGS, "navigational", pairs="team_draft")
    even = PreferenceMatrix(np.full((5, 5), 0.5), RANKINGS.names)
    law = simulate(oracle, policy, horizon=STEPS, repetitions=RUNS, seed=1, preferences=even, jobs=1, compiled=False)
    expected = np.array([run.pulls[-1] for run in law.runs])
    for arm in range(5):
        assert stats.ks_2samp(np.array(found)[:, arm], expected[:, arm], method="asymp").pvalue > 1e-3
