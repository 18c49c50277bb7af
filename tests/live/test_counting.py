"""What counts: the state of an experiment and `compare_log` of its export count the same impressions."""

import random
from contextlib import suppress

import numpy as np
import pytest

from ltr_duel.live import Experiment, TokenError, export_log, forget
from ltr_duel.logs import ClickLog, compare_log
from tests.live.shop import LISTS, NAMES, Clock, click, learn, opened, settings

WINDOW = 60.0


def matrices(path, folder):
    """Return wins and ties of all and of first impressions, computed by `compare_log` from the export."""
    export_log(path, folder / "log.parquet")
    found = compare_log(ClickLog(folder / "log.parquet"))
    first_wins, first_ties = np.zeros((2, 5, 5), np.int64)
    for (one, other), won, lost, tied in zip(
        found.named_pairs, *(part.astype(int) for part in found.sequences[:3]), strict=True
    ):
        i, j = NAMES.index(one), NAMES.index(other)
        first_wins[i, j], first_wins[j, i] = won, lost
        first_ties[i, j] = first_ties[j, i] = tied
    return first_wins.tolist(), first_ties.tolist(), int(sum(found.counts))


@pytest.mark.parametrize("method", ["team_draft", "probabilistic"])
@pytest.mark.parametrize("count", ["seen", "shown"])
@pytest.mark.parametrize("seed", range(3))
def test_the_state_equals_the_comparison_of_the_exported_log(tmp_path, method, count, seed):
    """Random users return, reload, lose pages, click late, twice or not at all; the process restarts; users leave."""
    rng, clock, due = random.Random(seed), Clock(), []
    given = settings(method=method, outcome="" if method == "team_draft" else "marginal_bernoulli", count=count)
    for _ in range(4):
        with opened(tmp_path, given, clock=clock) as experiment:
            for _ in range(120):
                clock.now += rng.choice([-2.0, 0.0, 1.0, 5.0])
                lists = LISTS if rng.random() < 0.9 else {name: ids[::-1] for name, ids in LISTS.items()}
                page = experiment.decide(f"user {rng.randrange(25)}", f"query {rng.randrange(3)}", lists)
                fate = rng.random()
                if fate < 0.2:
                    continue  # the answer came too late: the site showed its own list
                reports = [(page.token, [{"kind": "view"}])]
                reports += [click(page, rng.randrange(1, 11)) for _ in range(rng.randrange(3))]
                delay = rng.choice([0.0, 1.0, 59.0, 61.0, 200.0])
                due += [(clock.now + delay, report) for report in reports for _ in range(rng.choice([1, 1, 2]))]
                for when, report in [one for one in due if one[0] <= clock.now]:
                    with suppress(TokenError):  # the page was forgotten
                        experiment.report(*report)
                    due.remove((when, report))
                if rng.random() < 0.2:
                    experiment.learn()
                if rng.random() < 0.02:
                    forget(tmp_path / "shop.db", user=f"user {rng.randrange(25)}")
            learn(experiment)
            state = experiment.state()
        exported = matrices(tmp_path / "shop.db", tmp_path)
        compared = int(np.triu(state.wins + state.wins.T + state.ties, 1).sum())
        assert (state.first_wins.tolist(), state.first_ties.tolist(), compared) == exported
    assert state.first_wins.sum() > 30 and state.first_wins.sum() + state.first_ties.sum() / 2 < state.compared
    assert (state.unseen > 20) and (count == "shown" or state.compared == state.pages - state.unseen - state.waiting)


def test_a_page_that_reached_nobody_is_no_tie_and_does_not_use_up_its_user(tmp_path):
    clock = Clock()
    with opened(tmp_path, clock=clock) as experiment:
        for k in range(20):
            experiment.decide(f"user {k}", "q", LISTS)  # the site has given up waiting
        clock.now += 2 * WINDOW
        learn(experiment)
        assert (experiment.state().unseen, experiment.state().compared) == (20, 0)
        for k in range(20):
            experiment.report(*click(experiment.decide(f"user {k}", "another q", LISTS)))
        clock.now += 2 * WINDOW
        learn(experiment)
        state = experiment.state()
    assert state.compared == 20 and state.first_wins.sum() + state.first_ties.sum() // 2 == 20


def test_where_sites_send_no_views_every_page_counts(tmp_path):
    clock = Clock()
    with opened(tmp_path, settings(count="shown"), clock=clock) as experiment:
        for k in range(7):
            experiment.decide(f"user {k}", "q", LISTS)
        clock.now += WINDOW + 1
        learn(experiment)
        state = experiment.state()
    assert (state.compared, state.unseen, state.counted) == (7, 7, "shown")
    assert state.ties.sum() // 2 == 7


def test_events_after_the_window_are_kept_but_not_credited(tmp_path):
    clock = Clock()
    with opened(tmp_path, clock=clock) as experiment:
        pages = [experiment.decide(f"user {k}", "q", LISTS) for k in range(3)]
        for page in pages:
            experiment.report(page.token, [{"kind": "view"}])
        owned = [next(k + 1 for k, owner in enumerate(page.record["owners"]) if owner == 0) for page in pages]
        clock.now += WINDOW
        experiment.report(*click(pages[0], owned[0]))  # in time
        clock.now += 1
        experiment.report(*click(pages[1], owned[1]))  # late, before the page is counted
        learn(experiment)
        experiment.report(*click(pages[2], owned[2]))  # late, after the page was counted
        state = experiment.state()
    assert (state.compared, state.wins.sum(), state.ties.sum() // 2, state.clicked) == (3, 1, 2, 1)
    export_log(tmp_path / "shop.db", tmp_path / "log.jsonl", events=tmp_path / "events.jsonl")
    assert (tmp_path / "events.jsonl").read_text().count('"kind": "click"') == 3
    assert (tmp_path / "log.jsonl").read_text().count('"clicks": []') == 2


def test_a_purchase_after_the_next_search_is_credited_inside_the_window(tmp_path):
    clock = Clock()
    with opened(tmp_path, settings(credit="purchase"), clock=clock) as experiment:
        page = experiment.decide("user", "shoes", LISTS)
        experiment.report(page.token, [{"kind": "view"}, {"kind": "click", "document": page.page[0]}])
        experiment.decide("user", "hats", LISTS)
        clock.now += WINDOW / 2
        owned = next(k for k, owner in enumerate(page.record["owners"]) if owner == 1)
        experiment.report(
            page.token, [{"kind": "purchase", "document": page.page[owned], "value": 9.0, "id": "order 7"}]
        )
        clock.now += WINDOW
        learn(experiment)
        state = experiment.state()
    loser, winner = (NAMES.index(name) for name in page.rankers)
    assert state.first_wins[winner, loser] == 1 and state.wins.sum() == 1


def test_a_repeated_call_changes_nothing_and_returns_the_same(tmp_path):
    clock = Clock()
    with opened(tmp_path, clock=clock) as experiment:
        page = experiment.decide("user", "q", LISTS)
        first = experiment.report(*click(page))
        clock.now += 1
        again = experiment.decide("user", "q", LISTS)
        assert (again.page, again.token, again.rankers) == (page.page, page.token, page.rankers)
        assert experiment.report(*click(page)) == first == page.impression
        clock.now += WINDOW + 1
        learn(experiment)
        assert experiment.report(*click(page)) == first
        state = experiment.state()
    assert (state.pages, state.compared) == (1, 1)
    rows = Experiment.open(tmp_path / "shop.db")
    with rows:
        assert rows._store.rows("SELECT count(*) FROM events") == [(1,)]


def test_a_call_counts_all_pages_whose_window_is_over(tmp_path):
    clock = Clock()
    with opened(tmp_path, clock=clock) as experiment:
        for k in range(120):
            experiment.decide(f"user {k}", "q", LISTS)
        clock.now += 2 * WINDOW
        assert (experiment.learn(), experiment.learn()) == (120, 0)


def test_pages_of_one_ranker_are_steps_of_the_policy(tmp_path):
    clock = Clock()
    with opened(tmp_path, settings(policy="rucb", batch=5, rankers=("a", "b")), clock=clock) as experiment:
        for k in range(400):
            clock.now += 1
            page = experiment.decide(f"user {k}", "q", LISTS)
            owners = page.record["owners"] if page.record else [0] * 10
            position = next((k + 1 for k, owner in enumerate(owners) if page.rankers[owner] == "b"), 1)
            experiment.report(*click(page, position))
            experiment.learn()
        state = experiment.state()
    assert state.recommended == "b" and state.alone > 50
    assert state.alone + state.compared + state.waiting == state.pages == 400
    assert state.version == 1 + (state.alone + state.compared) // 5
