"""Switches take effect immediately, after a restart and in a second process, and keep the policy's distribution."""

import math
import sqlite3
from contextlib import closing

import pytest

from ltr_duel.core import InputError
from ltr_duel.live import (
    Decide,
    Record,
    StoreError,
    Switch,
    Switches,
    TokenError,
    check_store,
    export_log,
    read_switches,
    switch_store,
)
from ltr_duel.live.switches import side_of, switches_of
from ltr_duel.live.turns import policy_without
from ltr_duel.logs import ClickLog, compare_log
from tests.live.shop import DOCUMENTS, NAMES, RANKINGS, Clock, opened, settings
from tests.live.test_experiment import use
from tests.site.snippets import run_command

TOP = 10


def switched(experiment, *switches):
    for one in switches:
        experiment.switch(**one._asdict())
    return experiment.switches


def served(experiment, users):
    """Return {user: the reason for the served list}."""
    return {user: experiment.decide("q", RANKINGS, user=user).served for user in users}


def test_paused_every_search_gets_the_incumbents_list_and_nothing_is_kept(tmp_path):
    with opened(tmp_path, settings(incumbent="c")) as experiment:
        waits = experiment.decide("q", RANKINGS)
        assert switched(experiment, Switch("pause")).mode == "paused"
        page = experiment.decide("q", RANKINGS, user="ann")
        assert (page.page, page.served, page.rankers) == (0, "paused", ("c",))
        assert page.shown == tuple(RANKINGS["c"][:TOP])
        assert experiment.decide("q", {"c": ["x"]}).shown == ("x",)
        assert experiment.record(page.token, page.shown[:1]).credit == {}
        assert experiment.record(waits.token, []).page == 1  # clicks of pages before the pause count
        assert experiment.pages == 1
        assert switched(experiment, Switch("resume")) == Switches()
        assert experiment.decide("q", RANKINGS).page == 2
        other = experiment.outside(Decide("q", RANKINGS), away=True)
        assert (other.served, other.rankers) == ("away", ("c",))


def test_tokens_of_pages_outside_are_signed_and_of_this_experiment(tmp_path):
    (tmp_path / "other").mkdir()
    with opened(tmp_path) as experiment, opened(tmp_path / "other") as other:
        for one in (experiment, other):
            switched(one, Switch("pause"))
        token = other.decide("q", RANKINGS).token
        for wrong in (token, token[:-2], "x"):
            for record in (experiment.record, lambda token, clicks: experiment.outside(Record(token, clicks))):
                with pytest.raises(TokenError):
                    record(wrong, [])


@pytest.mark.parametrize("lists, sentence", [({"a": []}, "is empty"), ({"a": ["x", "x"]}, "twice"), ({}, "is missing")])
def test_a_list_that_cannot_be_shown_is_refused_outside_too(tmp_path, lists, sentence):
    with opened(tmp_path) as experiment:
        switched(experiment, Switch("pause"))
        with pytest.raises(InputError, match=sentence):
            experiment.decide("q", lists)


@pytest.mark.parametrize(
    "before, switch, sentence",
    [
        ([], Switch("stop"), "no switch 'stop'"),
        ([], Switch("winner", ranker="z"), "no ranker 'z'"),
        ([], Switch("drop", ranker="a"), "is the incumbent"),
        ([Switch("drop", ranker="b")], Switch("drop", ranker="b"), "dropped already"),
        ([Switch("drop", ranker="b")], Switch("winner", ranker="b"), "'b' is dropped, so it is not served"),
        ([Switch("winner", ranker="b")], Switch("drop", ranker="b"), "resume first"),
        ([Switch("drop", ranker=one) for one in "bcd"], Switch("drop", ranker="e"), "at least two rankers"),
        ([], Switch("share", share=1.5), "between 0 and 1"),
        ([], Switch("share", share=math.nan), "between 0 and 1"),
        ([], Switch("share", share=0.9, holdback=0.2), "at most 0.8"),
        ([Switch("share", share=0.5, holdback=0.2)], Switch("share", share=0.9), "at most 0.8"),
        ([Switch("end")], Switch("resume"), "has ended"),
        ([Switch("end")], Switch("end"), "has ended"),
        ([], Switch("resume"), "is not paused"),
        ([Switch("pause"), Switch("resume")], Switch("resume"), "is not paused"),
        ([Switch("pause")], Switch("pause"), "is paused already"),
        ([Switch("winner", ranker="b")], Switch("winner", ranker="b"), "served as the winner already"),
        ([], Switch("share"), "the share is 1 already, with a holdback of 0"),
        ([Switch("share", share=0.5, holdback=0.2)], Switch("share", share=0.5), "0.5 already, with a holdback of 0.2"),
    ],
)
def test_a_switch_of_no_use_is_refused_and_changes_nothing(tmp_path, before, switch, sentence):
    with opened(tmp_path) as experiment:
        switched(experiment, *before)
        then = experiment.switches
        with pytest.raises(InputError, match=sentence):
            switched(experiment, switch)
        with pytest.raises(InputError, match=sentence):
            switch_store(tmp_path / "shop.db", switch)
        assert experiment.switches == then
        assert len(experiment.state().switched) == len(before)


def test_uses_that_changed_nothing_in_stores_of_earlier_versions_harm_nothing(tmp_path):
    uses = [Switch("resume"), Switch("share", share=1.0, holdback=0.0), Switch("pause"), Switch("pause")]
    with opened(tmp_path) as experiment, experiment._store.transaction():
        for one in uses:
            experiment._store.add_switch(0, 0.0, one)
    assert check_store(tmp_path / "shop.db") == []
    with opened(tmp_path) as experiment:
        assert (experiment.switches, len(experiment.state().switched)) == (Switches(mode="paused"), 4)
        assert switched(experiment, Switch("resume")) == Switches()


def test_the_winner_and_the_end_serve_one_list(tmp_path):
    with opened(tmp_path) as experiment:
        switched(experiment, Switch("winner", ranker="b"))
        page = experiment.decide("q", RANKINGS)
        assert (page.served, page.rankers, page.shown) == ("winner", ("b",), tuple(RANKINGS["b"][:TOP]))
        switched(experiment, Switch("end"))
        assert experiment.decide("q", RANKINGS).rankers == ("b",) and experiment.pages == 0


def test_after_the_end_the_sentence_does_not_say_to_go_on(tmp_path):
    with opened(tmp_path) as experiment:
        use(experiment, 30)
        said = experiment.state().sentence
        assert said.startswith("go on")
        for switch in (Switch("winner", ranker="b"), Switch("pause")):
            switched(experiment, switch)
            assert experiment.state().sentence == f"Nothing is compared until 'resume'. Before: {said}"
        switched(experiment, Switch("end"))
        state = experiment.state()
        assert (state.sentence, state.impressions_to_go) == ("ended without a decision; a is served.", math.inf)


def test_the_share_is_what_was_asked_and_a_user_stays_on_one_side(tmp_path):
    users = [f"user {k}" for k in range(4000)]
    with opened(tmp_path, settings(policy="random")) as experiment:
        key = bytes.fromhex(experiment._store.about("sides"))
        sides = {}
        for share, holdback in ((0.1, 0.05), (0.3, 0.05), (0.95, 0.05)):
            switched(experiment, Switch("share", share=share, holdback=holdback))
            ways = {user: experiment.outside(Decide("q", RANKINGS, user)) for user in users}
            sides[share] = {user: way.served if way else "experiment" for user, way in ways.items()}
            for name, part in (("experiment", share), ("holdback", holdback)):
                count = sum(one == name for one in sides[share].values())
                assert abs(count - part * len(users)) < 4 * math.sqrt(part * (1 - part) * len(users))
        for small, large in ((0.1, 0.3), (0.3, 0.95)):  # users who were in stay in, users held back stay out
            assert all(sides[large][u] == "experiment" for u in users if sides[small][u] == "experiment")
        held = [{user for user in users if one[user] == "holdback"} for one in sides.values()]
        assert held[0] == held[1] == held[2] == {user for user in users if side_of(key, user) >= 0.95}
        switched(experiment, Switch("winner", ranker="b"))
        ways = {user: experiment.outside(Decide("q", RANKINGS, user)).served for user in users}
        assert {user for user, way in ways.items() if way == "holdback"} == held[0]
    with opened(tmp_path, settings(policy="random")) as experiment:
        switched(experiment, Switch("resume"), Switch("share", share=0.3, holdback=0.0))
        assert served(experiment, users[:50]) == {
            user: "experiment" if sides[0.3][user] == "experiment" else "share" for user in users[:50]
        }


def test_sides_are_even_and_another_store_has_others():
    some, other = ([side_of(bytes([key]) * 16, f"u{k}") for k in range(10_000)] for key in (1, 2))
    for low in range(10):
        assert abs(sum(low / 10 <= one < (low + 1) / 10 for one in some) - 1000) < 4 * 30
    both = sum(a < 0.5 and b < 0.5 for a, b in zip(some, other, strict=True))
    assert abs(both - 2500) < 4 * math.sqrt(10_000 * 0.25 * 0.75)


def test_searches_without_a_user_are_shared_out_too(tmp_path):
    with opened(tmp_path, settings(policy="random")) as experiment:
        switched(experiment, Switch("share", share=0.3))
        inside = sum(experiment.decide("q", RANKINGS).page > 0 for _ in range(1000))
        assert abs(inside - 300) < 4 * math.sqrt(1000 * 0.3 * 0.7) and experiment.pages == inside


def path_of(experiment, users):
    """Return the rankers and lists of the experiment's pages, each with a click on the first document."""
    path = []
    for user in users:
        page = experiment.decide("q", RANKINGS, user=user)
        experiment.record(page.token, page.shown[:1])
        path += [(page.rankers, page.shown)] if page.page else []
    return path


def test_users_outside_leave_the_path_of_the_policy_as_it_is(tmp_path):
    users = [f"u{k}" for k in range(120)]
    for name in ("some", "alone"):
        (tmp_path / name).mkdir()
    with opened(tmp_path / "some") as experiment:
        experiment.switch("share", share=0.5)
        inside = [user for user in users if experiment.outside(Decide("q", RANKINGS, user)) is None]
        path = path_of(experiment, users)
    assert 30 < len(inside) < 90
    with opened(tmp_path / "alone") as experiment:
        assert path_of(experiment, inside) == path


def outcomes(folder):
    """Return the outcomes of each pair of arms in the order of arrival."""
    found = {}
    with closing(sqlite3.connect(folder / "shop.db")) as db:
        for arms, signs in db.execute("SELECT arms, signs FROM events JOIN pages USING (page) ORDER BY event"):
            if signs is not None:
                found.setdefault((arms[0], arms[2]), []).append(1 if signs == b"\1" else -1)
    return found


@pytest.mark.parametrize("policy", ["rucb", "double_thompson", "interleaved_filter"])
def test_a_dropped_ranker_is_never_shown_and_the_others_have_the_path_of_a_policy_without_it(tmp_path, policy):
    """The reference: a policy of four arms that takes each pair's outcomes from a queue."""
    given, clock = settings(policy=policy, horizon=2000), Clock()
    with opened(tmp_path, given, clock=clock) as experiment:
        use(experiment, 80)
        clock.now += 61
        experiment.expire()
        switched(experiment, Switch("drop", ranker="c"))
        stacks = outcomes(tmp_path)
        reference, path = policy_without(given, (0, 1, 3, 4)), []
        for _ in range(60):
            turns = experiment._actions.memory.turns
            while True:
                key = tuple((0, 1, 3, 4)[arm] for arm in reference.ask())
                if key[0] == key[1]:
                    break
                if not stacks.get(key):
                    break
                reference.tell(stacks[key].pop(0))
            assert turns.asked == key
            page = experiment.decide("q", RANKINGS)
            path.append(page.rankers)
            recorded = experiment.record(page.token, page.shown[2:3])
            if key[0] == key[1]:
                reference.tell()
            else:
                stacks.setdefault(key, []).append(outcomes(tmp_path)[key][-1])
            assert recorded.page == page.page
        assert "c" not in {name for pair in path for name in pair} and len({*path}) > 1
        state = experiment.state()
        assert state.probability[2] == 0 and "c" not in state.asked and state.recommended != "c"


def test_a_page_of_a_dropped_ranker_counts_for_its_pair_and_teaches_nothing(tmp_path):
    lists = {"a": ["x", "y"], "b": ["y", "x"], "c": ["y", "x"]}
    with opened(tmp_path, settings(rankers=tuple(lists), policy="random")) as experiment:
        while "c" not in (page := experiment.decide("q", lists)).rankers:
            pass
        switched(experiment, Switch("drop", ranker="c"))
        before = experiment.state()
        experiment.record(page.token, page.shown[:1])
        after = experiment.state()
        assert (after.compared, after.steps, after.held) == (before.compared + 1, before.steps, 0)


@pytest.mark.parametrize("order", ["arrival", "shown"])
@pytest.mark.parametrize("killed", [False, True])
def test_a_store_with_dropped_rankers_goes_on_after_a_restart(tmp_path, order, killed):
    given, clock = settings(order=order), Clock()
    experiment = opened(tmp_path, given, clock=clock)
    use(experiment, 40)
    switched(experiment, Switch("drop", ranker="c", by="ops"), Switch("share", share=0.5), Switch("drop", ranker="b"))
    use(experiment, 40)
    before, waiting = experiment.state().to_json(), experiment._actions.memory.turns.waiting()
    if killed:
        experiment._store._held.close()
    else:
        experiment.close()
    with opened(tmp_path, given, clock=clock) as experiment:
        assert experiment.state().to_json() == before
        assert experiment._actions.memory.turns.waiting() == waiting
        assert experiment.switches == Switches("experiment", "", 0.5, 0.0, ("c", "b"))
        assert before["switched"][0]["switch"]["by"] == "ops"


def test_the_intervals_of_the_others_stay_and_the_sentence_is_about_them(tmp_path):
    lists = {"a": ["x", "y"], "b": ["y", "x"], "c": ["y", "x"]}
    with opened(tmp_path, settings(rankers=tuple(lists), policy="random")) as experiment:
        for _ in range(300):
            page = experiment.decide("q", lists)
            experiment.record(page.token, [] if "c" in page.rankers else ["x"])
        before = experiment.state()
        assert before.sentence.startswith("go on") and before.impressions_to_go > 0
        switched(experiment, Switch("drop", ranker="c"))
        after = experiment.state()
    for name in ("wins", "ties", "mean", "low", "high", "exposure"):
        assert (getattr(after, name) == getattr(before, name)).all()
    assert after.decisions == before.decisions
    assert after.sentence.startswith("stop: a wins.") and after.impressions_to_go == 0
    assert export_log(tmp_path / "shop.db", tmp_path / "log.jsonl") == 300
    assert compare_log(ClickLog(tmp_path / "log.jsonl")).impressions == 300


def test_a_switch_from_beside_is_seen_by_the_next_call(tmp_path):
    with opened(tmp_path) as experiment:
        experiment.decide("q", RANKINGS)
        assert switch_store(tmp_path / "shop.db", Switch("pause", by="ann")).mode == "paused"
        experiment.expire()
        assert experiment.decide("q", RANKINGS).served == "paused"
        switch_store(tmp_path / "shop.db", Switch("resume"))
        experiment._looked = -math.inf  # a second later
        experiment.decide("q", RANKINGS)
        assert experiment.decide("q", RANKINGS).page == 2
        switch_store(tmp_path / "shop.db", Switch("drop", ranker="b"))
        experiment.expire()
        assert experiment.switches.dropped == ("b",) and "b" not in experiment.asked
        before = experiment.state().to_json()
    with opened(tmp_path) as experiment:
        assert experiment.state().to_json() == before
    now, used = read_switches(tmp_path / "shop.db")
    assert now == Switches(dropped=("b",))
    assert [(one.page, one.switch.what, one.switch.by) for one in used] == [
        (1, "pause", "ann"), (1, "resume", ""), (2, "drop", ""),
    ]  # fmt: skip


def test_the_command_answers_with_what_was_done_and_what_holds(tmp_path):
    opened(tmp_path).close()
    for command, said in (
        ("pause", "paused"), ("resume", "resumed: the experiment is running, with all users"),
        ("switches", "the experiment is running, with all users"),
    ):  # fmt: skip
        code, printed = run_command(["live", command, str(tmp_path / "shop.db")])
        follows = "" if command == "switches" else " (a running service applies this within a second)"
        assert code == 0 and printed.splitlines()[0] == f"{tmp_path / 'shop.db'}: {said}{follows}"


def test_a_use_from_beside_holds_no_call_up_while_it_looks_whether_a_policy_can_go_on(tmp_path, monkeypatch):
    """Loading a policy starts a compiler, and no search may wait for it; rows are replayed without a policy."""
    built = []

    def slow(given, left):
        if not built:  # meanwhile a search comes, and another program uses a switch
            built.append(left)
            assert experiment.decide("q", RANKINGS).page == 1
            assert switch_store(tmp_path / "shop.db", Switch("pause", by="ann")) == Switches("paused")
        return policy_without(given, left)

    with opened(tmp_path) as experiment:
        monkeypatch.setattr("ltr_duel.live.switches.policy_without", slow)
        assert switch_store(tmp_path / "shop.db", Switch("drop", ranker="b")) == Switches("paused", dropped=("b",))
        monkeypatch.setattr("ltr_duel.live.switches.policy_without", None)
        assert switch_store(tmp_path / "shop.db", Switch("resume")) == Switches(dropped=("b",))
        assert [one.switch.what for one in read_switches(tmp_path / "shop.db")[1]] == ["pause", "drop", "resume"]


def test_a_drop_with_which_the_policy_cannot_go_on_is_refused_and_its_row_pauses(tmp_path, monkeypatch):
    def too_few(given, left):
        raise InputError("the policy needs more rankers")

    monkeypatch.setattr("ltr_duel.live.switches.policy_without", too_few)
    with opened(tmp_path) as experiment:
        for use_it in (
            experiment.switch,
            lambda what, ranker: switch_store(tmp_path / "shop.db", Switch(what, ranker)),
        ):
            with pytest.raises(InputError, match="needs more rankers"):
                use_it("drop", ranker="b")
        assert experiment.switches == Switches()
    with closing(sqlite3.connect(tmp_path / "shop.db")) as db, db:
        db.execute("INSERT INTO switches VALUES (1, 0, 1.0, 'drop', '[\"b\"]', '')")
    with opened(tmp_path) as experiment:
        assert experiment.switches == Switches(mode="paused", damaged=True)


def test_a_share_leaves_those_held_back_as_they_are_unless_it_says_so(tmp_path):
    with opened(tmp_path) as experiment:
        assert switched(experiment, Switch("share", share=0.5, holdback=0.1)).holdback == 0.1
        assert switched(experiment, Switch("share", share=0.6)) == Switches(share=0.6, holdback=0.1)
        assert switch_store(tmp_path / "shop.db", Switch("share", share=0.7)) == Switches(share=0.7, holdback=0.1)
        assert switched(experiment, Switch("share", share=0.8, holdback=0.0)).holdback == 0
        used = [one.switch for one in read_switches(tmp_path / "shop.db")[1]]
        assert [(one.share, one.holdback) for one in used] == [(0.5, 0.1), (0.6, 0.1), (0.7, 0.1), (0.8, 0)]


def test_after_a_pause_the_winner_is_served_again(tmp_path):
    with opened(tmp_path) as experiment:
        switched(experiment, Switch("winner", ranker="b"), Switch("pause"))
        assert experiment.switches.words == "paused; 'resume' serves b" and experiment.needed == ("a",)
        assert experiment.decide("q", {"a": ["x"]}).served == "paused"
        assert switched(experiment, Switch("resume")) == Switches("winner", "b")
        before = experiment.state().to_json()["switched"]
    with opened(tmp_path) as experiment:
        assert experiment.switches == Switches("winner", "b") and experiment.state().to_json()["switched"] == before
        assert switched(experiment, Switch("resume")) == Switches()
        switched(experiment, Switch("winner", ranker="b"), Switch("pause"))
        assert switched(experiment, Switch("drop", ranker="b"), Switch("resume")) == Switches(dropped=("b",))
        switched(experiment, Switch("winner", ranker="c"), Switch("pause"))
        assert switched(experiment, Switch("end")) == Switches("ended", dropped=("b",))  # served to no user


def test_a_use_says_of_shares_only_where_it_is_one(tmp_path):
    with opened(tmp_path) as experiment:
        switched(experiment, Switch("share", share=0.5, holdback=0.1), Switch("pause", by="ann"))
        share, pause = [one["switch"] for one in experiment.state().to_json()["switched"]]
    assert share == {"what": "share", "ranker": "", "share": 0.5, "holdback": 0.1, "by": ""}
    assert pause == {"what": "pause", "ranker": "", "by": "ann"}


def test_two_services_on_one_store_agree(tmp_path, monkeypatch):
    """The lock file was removed, for example by a clean-up program."""
    monkeypatch.setattr("ltr_duel.live.running._PAUSE", 0.0)
    with opened(tmp_path) as one:
        use(one, 20)
        for lock in tmp_path.glob("*-lock*"):
            lock.unlink()
        with opened(tmp_path) as other:
            one.switch("drop", ranker="d")
            other.switch("share", share=0.25)
            one.expire()
            assert one.switches == other.switches == Switches(share=0.25, dropped=("d",))
            assert one.asked == other.asked
            users = [f"u{k}" for k in range(200)]
            sides = [[e.outside(Decide("q", RANKINGS, user)) is None for user in users] for e in (one, other)]
            assert sides[0] == sides[1] and 20 < sum(sides[0]) < 90


def test_paused_it_serves_while_the_store_is_away_and_a_switch_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("ltr_duel.live.running._PAUSE", 0.0)
    with opened(tmp_path) as experiment:
        switched(experiment, Switch("pause"))
        (tmp_path / "shop.db").rename(tmp_path / "elsewhere")
        experiment._looked = -math.inf
        assert [experiment.decide("q", RANKINGS).served for _ in range(3)] == ["paused"] * 3
        with pytest.raises(StoreError):
            experiment.switch("resume")
        assert experiment.decide("q", RANKINGS).served == "paused"
        (tmp_path / "elsewhere").rename(tmp_path / "shop.db")
        switched(experiment, Switch("resume"))
        assert experiment.decide("q", RANKINGS).page == 1


@pytest.mark.parametrize("value", ["[0.", '["much", 0]', "[3, 0]"])
def test_a_damaged_use_of_a_switch_pauses(tmp_path, value):
    with opened(tmp_path) as experiment:
        switched(experiment, Switch("share", share=0.5), Switch("drop", ranker="b"))
    with closing(sqlite3.connect(tmp_path / "shop.db")) as db, db:
        db.execute("UPDATE switches SET value = ? WHERE switch = 1", (value,))
    with opened(tmp_path) as experiment:
        assert experiment.switches == Switches(mode="paused", dropped=("b",), damaged=True)
        with pytest.raises(InputError, match="cannot be resumed"):
            switched(experiment, Switch("resume"))
        assert switched(experiment, Switch("winner", ranker="c")).mode == "winner"


@pytest.mark.parametrize(
    "words",
    [
        "UPDATE switches SET value = '[' WHERE switch = 2",
        "DELETE FROM switches WHERE switch = 2",
        """UPDATE switches SET value = '["z"]' WHERE switch = 2""",
    ],
)
def test_no_resume_lifts_the_pause_of_a_damaged_row_and_a_check_names_it(tmp_path, words):
    with opened(tmp_path) as experiment:
        switched(experiment, Switch("share", share=0.5), Switch("drop", ranker="b"), Switch("pause"), Switch("resume"))
    assert check_store(tmp_path / "shop.db") == []
    with closing(sqlite3.connect(tmp_path / "shop.db")) as db, db:
        db.execute(words)
    (found,) = check_store(tmp_path / "shop.db")
    assert found.startswith("use 2 of a switch: ")
    with opened(tmp_path) as experiment:
        assert experiment.switches == Switches(mode="paused", share=0.5, damaged=True)


def test_a_dropped_ranker_cannot_become_the_incumbent(tmp_path):
    with opened(tmp_path) as experiment:
        switched(experiment, Switch("drop", ranker="b"))
    with pytest.raises(InputError, match="incumbent: ranker 'b' was dropped"):
        opened(tmp_path, settings(incumbent="b"))
    with opened(tmp_path, settings(incumbent="c")) as experiment:
        assert experiment.switches == Switches(dropped=("b",))
        with pytest.raises(InputError, match="is the incumbent"):
            switched(experiment, Switch("drop", ranker="c"))


def test_the_rows_say_the_same_under_any_incumbent(tmp_path):
    with opened(tmp_path) as experiment:
        switched(experiment, Switch("drop", ranker="b"))
        rows = experiment._store.switches()
    assert switches_of(rows, settings(incumbent="b")) == switches_of(rows, settings()) == Switches(dropped=("b",))


def test_in_a_trial_of_equals_all_have_the_incumbents_list(tmp_path):
    with opened(tmp_path, settings(aa=True, incumbent="b")) as experiment:
        for _ in range(20):
            page = experiment.decide("q", RANKINGS)
            assert page.shown == tuple(RANKINGS["b"][:TOP]) and len(page.rankers) == 2
            experiment.record(page.token, page.shown[:1])
        with pytest.raises(InputError, match="empty"):
            experiment.decide("q", {name: DOCUMENTS for name in NAMES if name != "b"})
