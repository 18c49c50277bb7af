"""Pause, resume, share, drop, winner, end: what users then get, and what the experiment remembers."""

import json

import pytest

from ltr_duel.core import InputError
from ltr_duel.live import Control, StoreError, control_store
from tests.live.shop import DOCUMENTS, LISTS, NAMES, Clock, click, learn, opened, settings

USERS = [f"user {k}" for k in range(400)]


def served(experiment, query="q"):
    """Return, for each user, why the page is in or outside of the experiment, and its rankers."""
    pages = [experiment.plan.decide(user, query, LISTS) for user in USERS]
    return [page.served for page in pages], [page.rankers for page in pages]


def control(experiment, use):
    """Use a control, written as its name and arguments between colons."""
    what, *more = use.split(":")
    shares = dict(zip(("share", "holdback"), map(float, more), strict=False)) if what == "share" else {}
    experiment.control(what, *([] if shares else more), **shares)


@pytest.mark.parametrize(
    "uses, words",
    [
        ("pause", "paused"),
        ("pause resume", "running, with all users"),
        ("winner:b", "b is served"),
        ("winner:b pause", "paused; 'resume' serves b"),
        ("winner:b pause resume", "b is served"),
        ("winner:b resume", "running, with all users"),
        ("winner:b end", "ended; b is served"),
        ("winner:b pause end", "ended"),
        ("share:0.5", "running, with 0.5 of the users"),
        ("share:0.5:0.1 pause", "paused; 0.1 held back"),
        ("drop:c drop:d", "running, with all users; dropped: c, d"),
    ],
)
def test_controls_in_turn_lead_to_a_state(tmp_path, uses, words):
    with opened(tmp_path) as experiment:
        for use in uses.split():
            control(experiment, use)
        assert experiment.controls.words == words == experiment.state().controls.words
    with opened(tmp_path) as experiment:
        assert experiment.controls.words == words and experiment.controls.winner in (None, "b")
        assert [control.action for control in experiment.used] == [use.partition(":")[0] for use in uses.split()]


@pytest.mark.parametrize(
    "uses, said",
    [
        ("resume", "changes nothing"),
        ("pause pause", "changes nothing"),
        ("winner:b winner:b", "changes nothing"),
        ("share", "changes nothing"),
        ("stop", "no control 'stop'"),
        ("winner:f", "no ranker 'f'"),
        ("drop:a", "the incumbent"),
        ("drop:b drop:b", "dropped already"),
        ("drop:b winner:b", "dropped, so not served"),
        ("winner:b drop:b", "resume first"),
        ("drop:b drop:c drop:d drop:e", "at least two"),
        ("end pause", "has ended"),
        ("share:2", "between 0 and 1"),
        ("share:0.8:0.3", "more than 1"),
    ],
)
def test_an_invalid_use_is_refused_and_leaves_no_row(tmp_path, uses, said):
    with opened(tmp_path) as experiment:
        with pytest.raises(InputError, match=said):
            for use in uses.split():
                control(experiment, use)
        assert len(experiment.used) == len(uses.split()) - 1


def test_paused_and_ended_experiments_serve_one_list_and_keep_no_page(tmp_path):
    with opened(tmp_path) as experiment:
        for use, ranker, why in (("pause", "a", "paused"), ("winner", "c", "winner"), ("end", "c", "ended")):
            experiment.control(use, ranker if use == "winner" else "")
            page = experiment.decide("user", "q", LISTS)
            assert (page.served, page.rankers, page.token, page.impression) == (why, (ranker,), "", "")
            assert list(page.page) == LISTS[ranker][:10]
        assert experiment.state().pages == 0


def test_a_growing_share_keeps_its_users_and_their_pages(tmp_path):
    with opened(tmp_path, settings(share=0.2, holdback=0.1)) as experiment:
        small, pages = served(experiment)
        experiment.control("share", share=0.6)
        large, later = served(experiment)
        experiment.control("winner", "b")
        won = served(experiment)[0]
    assert 40 < small.count("experiment") < 120 and 190 < large.count("experiment") < 290
    assert (
        small.count("holdback") == large.count("holdback") == won.count("holdback") and 20 < won.count("holdback") < 60
    )
    for before, after, old, new in zip(small, large, pages, later, strict=True):
        assert before != "experiment" or (after == "experiment" and old == new)


def test_a_dropped_ranker_is_not_shown_and_the_others_keep_their_outcomes(tmp_path):
    clock = Clock()
    with opened(tmp_path, settings(policy="double_thompson"), clock=clock) as experiment:
        for user in USERS[:150]:
            clock.now += 1
            experiment.report(*click(experiment.decide(user, "q", LISTS)))
        clock.now += 100
        learn(experiment)
        before, version = experiment.state(), experiment.plan.version
        experiment.control("drop", "b")
        after, plan = experiment.state(), experiment.plan
        assert "b" not in {ranker for rankers in served(experiment)[1] for ranker in rankers}
        assert plan.version > version and after.wins.tolist() == before.wins.tolist()
        assert after.probability[NAMES.index("b")] == 0
        outcomes = [json.loads(arms) for (arms,) in experiment._store.rows("SELECT arms FROM outcomes")]
        assert after.untold == sum(NAMES.index("b") not in arms for arms in outcomes) % 20 > 0
    with opened(tmp_path, settings(policy="double_thompson"), clock=clock) as experiment:
        assert (experiment.plan.sets, experiment.plan.version) == (plan.sets, plan.version)
        for user in USERS[150:250]:
            clock.now += 1
            experiment.report(*click(experiment.decide(user, "q", LISTS)))
        clock.now += 100
        learn(experiment)
        sets, version = experiment.plan.sets, experiment.plan.version
        assert version == plan.version + (after.untold + 100) // 20
    with opened(tmp_path, settings(policy="double_thompson"), clock=clock) as experiment:
        assert (experiment.plan.sets, experiment.plan.version) == (sets, version)


def test_a_store_that_cannot_be_written_takes_no_control(tmp_path):
    with opened(tmp_path) as experiment:
        experiment._store.db.execute(
            "CREATE TRIGGER full BEFORE INSERT ON controls BEGIN SELECT raise(ABORT, 'full'); END"
        )
        with pytest.raises(StoreError, match="cannot be written now: full"):
            control_store(tmp_path / "shop.db", Control("pause"))


def test_a_control_of_another_process_applies_to_a_running_experiment(tmp_path):
    with opened(tmp_path) as experiment:
        experiment.decide("user", "q", LISTS)
        control_store(tmp_path / "shop.db", Control("pause", who="eve"))
        assert experiment.decide("user", "q", LISTS).served == "paused"
        control_store(tmp_path / "shop.db", Control("resume"))
        control_store(tmp_path / "shop.db", Control("drop", "b"))
        assert not experiment.learn() and experiment.plan.version == 2
        control_store(tmp_path / "shop.db", Control("drop", "c"))
        assert not experiment.learn() and experiment.plan.version == 3
        assert [use.who for use in experiment.state().used] == ["eve", "", "", ""]
        assert DOCUMENTS[0] in experiment.decide("user", "q", LISTS).page


def test_versions_only_rise_and_each_is_one_plan_after_drops_at_any_time(tmp_path):
    clock, plans = Clock(), []
    with opened(tmp_path, settings(policy="double_thompson"), clock=clock) as experiment:
        for user in USERS[:150]:
            clock.now += 1
            experiment.report(*click(experiment.decide(user, "q", LISTS)))
        clock.now += 100
        learn(experiment)
        plans.append(experiment.plan)
        control_store(tmp_path / "shop.db", Control("drop", "b"))
        tell = experiment._tell

        def drop_meanwhile(outcomes):
            control_store(tmp_path / "shop.db", Control("drop", "c"))
            tell(outcomes)

        experiment._tell = drop_meanwhile
        experiment.learn()
        plans.append(experiment.plan)
        experiment._tell = tell
        experiment.learn()
        plans.append(experiment.plan)
    control_store(tmp_path / "shop.db", Control("drop", "d"))
    with opened(tmp_path, settings(policy="double_thompson"), clock=clock) as experiment:
        plans.append(experiment.plan)
    versions = [plan.version for plan in plans]
    assert versions == sorted(set(versions))
    shown = [{name for rankers, _ in plan.sets for name in rankers} for plan in plans]
    assert shown[1:] == [{"a", "c", "d", "e"}, {"a", "d", "e"}, {"a", "e"}]


def test_a_drop_between_two_starts_is_a_plan_of_its_own(tmp_path):
    versions = []
    for ranker in ("", "b", "c"):
        if ranker:
            control_store(tmp_path / "shop.db", Control("drop", ranker))
        with opened(tmp_path) as experiment:
            versions.append(experiment.plan.version)
    assert versions == [1, 2, 3]
