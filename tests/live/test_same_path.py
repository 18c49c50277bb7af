"""With one open page at a time, an experiment follows `simulate` with the same seed: lists, clicks, coins and arms.

This also holds if users reload pages, read them in parts, click late, and buy something days later.
"""

import numpy as np
import pytest

from ltr_duel.bandits import POLICIES, Run, new_recorder, relabelled
from ltr_duel.clicks import click_model, simulate_clicks, users_of
from ltr_duel.core import stream
from ltr_duel.data import make_corpus
from ltr_duel.live import Settings
from ltr_duel.rankers import feature_rankers
from ltr_duel.simulation import Live, RunKey, run_order, run_streams
from ltr_duel.simulation.simulated_users import draw_query
from tests.live.shop import opened

SEED, STEPS = 3, 150
RANKINGS = feature_rankers(make_corpus(queries=6, documents=9, features=5, seed=2))


def simulated(settings):
    """Return the path of a simulation, its pulls and exposure, and the arm that it recommends."""
    _, policy, params = POLICIES.configure(settings.policy)
    method = settings.method
    slates = method if policy.feedback == "slate" else "sosm"
    pairs = method if policy.feedback == "duel" else "team_draft"
    oracle = Live(RANKINGS, "navigational", pairs=pairs, outcome=settings.outcome, slates=slates, top=settings.top)
    key = RunKey({}, policy.name, params._asdict(), STEPS, 0, SEED)
    recorder = new_recorder(5, [STEPS], path=(STEPS, 2 if policy.feedback == "duel" else 5))
    order = run_order(key, 5)
    known = relabelled(oracle.open(), order)
    run = Run(policy, params, 5, known, run_streams(key), recorder, horizon=STEPS, plain=True)
    run.advance(STEPS)
    back = np.argsort(order)
    path = order[recorder.path] if policy.feedback == "duel" else recorder.path[:, back]
    return path, recorder.pulls[-1, back], recorder.exposure[-1, back], order[run.recommend()]


def whole(experiment, query, lists, user):
    """Read a page in parts of two documents, by its token or its user, and load it again."""
    page = experiment.decide(query, lists, user=user, limit=2)
    shown = page.shown
    while len(shown) < page.total:
        by = {"token": page.token} if len(shown) % 4 else {"user": user}
        shown += experiment.decide(query, lists, offset=len(shown), limit=2, **by).shown
    assert experiment.decide(query, lists, user=user).shown == shown
    return page._replace(shown=shown)


def report_late(experiment, page, clicked):
    """Report the clicks one by one, some twice; and a sale when the page is closed."""
    for document in clicked[::-1] + clicked[:1]:
        experiment.record(page.token, [document], final=False)
    experiment.record(page.token, [])
    for _ in range(2):
        sale = {"document": page.shown[0], "kind": "purchase", "value": 9.5, "id": "order"}
        experiment.record(page.token, [sale], late=True)


def replayed(folder, settings):
    """Send simulated users to an experiment, one after the other; return the arms of each step, and the state.

    With a window in which pages are shown again, they come back to each page and report late.
    """
    queries, clicking = stream(SEED, 0, "queries"), stream(SEED, 0, "clicks")
    users = users_of(click_model("navigational", RANKINGS.grades), settings.top)
    path, query, clicks = [], -1, np.zeros(settings.top, np.int64)
    with opened(folder, settings) as experiment:
        for step in range(STEPS):
            if query < 0:
                query = draw_query(RANKINGS.n_queries, np.zeros(0), queries)
            start, stop = RANKINGS.query_ptr[query : query + 2]
            lists = {name: RANKINGS.order[k, start:stop].tolist() for k, name in enumerate(RANKINGS.names)}
            if settings.sticky:
                page = whole(experiment, f"q{query}", lists, f"user {step}")
            else:
                page = experiment.decide(f"q{query}", lists)
            path.append([RANKINGS.names.index(name) for name in page.rankers])
            if len(page.rankers) == 1:  # the simulation samples no query for a single arm
                continue
            at = np.array(page.shown)
            count = simulate_clicks(users, RANKINGS.relevance, start, at, len(at), clicks, clicking)
            clicked = [page.shown[place] for place in clicks[:count]]
            report_late(experiment, page, clicked) if settings.sticky else experiment.record(page.token, clicked)
            query = -1
        return path, experiment.state()


@pytest.mark.parametrize(
    "policy, method, sticky, outcome",
    [
        ("rucb", "team_draft", 0, ""),
        ("rucb", "probabilistic", 0, ""),  # both have the unbiased rule by default
        ("rucb", "probabilistic", 0, "marginal_sign"),
        ("interleaved_filter", "balanced", 0, ""),
        ("multi_self_sparring:size=3", "probabilistic", 0, ""),
        ("mdb", "team_draft", 0, ""),
        ("rucb", "team_draft", 60, ""),
        ("rmed1", "team_draft", 60, ""),
        ("double_thompson", "probabilistic", 60, ""),
        ("multi_self_sparring:size=3", "probabilistic", 60, ""),
    ],
)
def test_one_page_at_a_time_is_the_path_of_the_simulation(tmp_path, policy, method, sticky, outcome):
    given = {"policy": policy, "method": method, "sticky": sticky, "outcome": outcome}
    settings = Settings(name="same", rankers=RANKINGS.names, seed=SEED, top=6, horizon=STEPS, **given)
    simulated_path, pulls, exposure, recommended = simulated(settings)
    path, state = replayed(tmp_path, settings)
    if POLICIES.configure(policy).component.feedback == "duel":
        assert [sorted(set(step)) for step in path] == [sorted(set(step)) for step in simulated_path.tolist()]
    else:
        assert [sorted(step) for step in path] == [np.repeat(range(5), row).tolist() for row in simulated_path]
    assert state.pulls.tolist() == pulls.tolist()
    assert state.exposure == pytest.approx(exposure)
    assert state.recommended == RANKINGS.names[recommended]
    assert policy == "mdb" or len({tuple(sorted(step)) for step in path}) > 3
