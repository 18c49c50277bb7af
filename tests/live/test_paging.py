"""A page that is shown again or in parts is one observation, as in a slow reference that shows each page once."""

import numpy as np
import pytest

from ltr_duel.core import InputError
from ltr_duel.live import Decide, Experiment, ExpiredError, TokenError, UsedError, export_log, forget
from tests.live.shop import DOCUMENTS, KEYS, RANKINGS, Clock, opened, settings

STICKY, DEADLINE, TICKS = 30.0, 50.0, 400


def visits(seed, ticks=TICKS):
    """Yield the searches of a few users: tick, user, query, clicked positions, and time and form of the report."""
    rng = np.random.default_rng(seed)
    for tick in range(ticks):
        user, query = f"user {rng.integers(6)}", f"query {rng.integers(4)}"
        stops = int(rng.integers(1, 11))  # number of documents that the user examines
        places = [place for place in range(stops) if rng.random() < 0.2]
        yield tick, user, query, stops, places, rng.random()


def first_of(tick, user, query, begun, ticks):
    """Return the tick of the page of a search, from all earlier searches."""
    for earlier in ticks:
        if begun.get(earlier) == (user, query) and tick < earlier + STICKY:
            return earlier
    return tick


def whole_pages(folder, seed, policy):
    """The reference: show each page once and completely, and report all clicks of a visit together."""
    given, clock, begun, pages = settings(deadline=DEADLINE, policy=policy), Clock(), {}, {}
    start = clock.now
    with Experiment.open(folder / "whole.db", given, keys=KEYS, clock=clock) as experiment:
        for tick, user, query, _, places, chance in visits(seed):
            clock.now = start + tick
            experiment.expire()
            first = first_of(tick, user, query, begun, list(begun))
            if first == tick:
                begun[tick] = user, query
                pages[tick] = experiment.decide(query, RANKINGS, user=user)
            ids = [pages[first].shown[place] for place in places]
            if chance < 0.8 and is_open(experiment, pages[first]):
                experiment.record(pages[first].token, ids, final=chance >= 0.7)
        clock.now += 2 * DEADLINE
        experiment.expire()
        return experiment.state().to_json(), len(pages)


def is_open(experiment, page):
    return page.page in experiment._actions.memory.waiting


def in_parts(folder, seed, policy, restarts):
    """Show pages in parts of three documents, again and again; report each click alone, some twice, and late sales."""
    given, clock = settings(deadline=DEADLINE, sticky=STICKY, policy=policy), Clock()
    start, rng = clock.now, np.random.default_rng(seed + 1)
    experiment, shown = Experiment.open(folder / "parts.db", given, keys=KEYS, clock=clock), {}
    for tick, user, query, stops, places, chance in visits(seed):
        clock.now = start + tick
        experiment.expire()
        if restarts and tick % 50 == 49:
            experiment.close()
            experiment = Experiment.open(folder / "parts.db", given, keys=KEYS, clock=clock)
        top = experiment.decide(query, RANKINGS, user=user, limit=3)
        seen = list(top.shown)
        while len(seen) < stops:
            by = {"token": top.token} if rng.random() < 0.5 else {"user": user}
            part = experiment.decide(query, RANKINGS, offset=len(seen), limit=3, **by)
            assert (part.page, part.token, part.total) == (top.page, top.token, 10)
            seen += part.shown
        before = shown.get(top.page, [])
        assert len(set(seen)) == len(seen) and all(a == b for a, b in zip(before, seen, strict=False))
        shown[top.page] = max(before, seen, key=len)
        if chance < 0.8 and is_open(experiment, top):
            for place in rng.permutation(places + places[:1]):
                experiment.record(top.token, [seen[place]], final=False)
            if chance >= 0.7:
                experiment.record(top.token, [])
        for document in seen[:1] * (tick % 3):  # some reports before the page is closed, some after
            sale = {"document": document, "kind": "purchase", "value": 9.5, "id": user}
            experiment.record(top.token, [sale, {"document": document, "kind": "click"}], late=True)
    clock.now += 2 * DEADLINE
    experiment.expire()
    with experiment:
        return experiment.state().to_json(), experiment.pages


@pytest.mark.parametrize(
    "policy, restarts", [("rucb", False), ("rucb", True), ("rmed1", False), ("double_thompson", True)]
)
def test_pages_in_parts_shown_again_and_clicked_late_are_the_pages_shown_once(tmp_path, policy, restarts):
    """State, intervals and log are the same to the last bit for any policy; late sales change nothing."""
    whole, pages = whole_pages(tmp_path, 3, policy)
    parts, shown = in_parts(tmp_path, 3, policy, restarts)
    assert pages == shown < TICKS - 50 and parts == whole and whole["clicked"] > 100
    logs = [export_log(tmp_path / f"{name}.db", tmp_path / f"{name}.jsonl") for name in ("whole", "parts")]
    assert logs[0] == logs[1] > 50
    assert (tmp_path / "whole.jsonl").read_text() == (tmp_path / "parts.jsonl").read_text()


def test_a_user_sees_a_page_again_for_as_long_as_it_says_and_other_users_do_not(tmp_path):
    clock = Clock()
    with opened(tmp_path, settings(sticky=30.0), clock=clock) as experiment:
        first = experiment.decide("q", RANKINGS, user="ann")
        clock.now += 29.9
        again = experiment.decide("q", {name: ids[::-1] for name, ids in RANKINGS.items()}, user="ann")
        assert again == first and experiment.pages == 1
        others = [("q", "bob"), ("q2", "ann"), ("q", ""), ("q", "")]
        assert [experiment.decide(query, RANKINGS, user=user).page for query, user in others] == [2, 3, 4, 5]
        clock.now += 0.2
        assert experiment.decide("q", RANKINGS, user="ann").page == 6
        assert experiment.decide("q", RANKINGS, user="ann").page == 6


def test_without_the_setting_each_search_has_a_new_page_unless_it_has_a_token(tmp_path):
    with opened(tmp_path) as experiment:
        first = experiment.decide("q", RANKINGS, user="ann")
        assert experiment.decide("q", RANKINGS, user="ann").page == 2
        assert experiment.decide("q", RANKINGS, token=first.token) == first
        parts = [experiment.decide("q", RANKINGS, token=first.token, offset=k, limit=4).shown for k in (0, 4, 8, 12)]
        assert sum(parts, ()) == first.shown and list(map(len, parts)) == [4, 4, 2, 0]


def test_a_later_part_of_an_unknown_page_is_of_the_incumbents_list_and_counts_nothing(tmp_path):
    with opened(tmp_path, settings(sticky=30.0)) as experiment:
        part = experiment.decide("q", RANKINGS, user="ann", offset=4, limit=4)
        assert (part.shown, part.served, part.page, part.total) == (tuple(DOCUMENTS[4:8]), "later", 0, 10)
        assert experiment.record(part.token, [DOCUMENTS[5]]).credit == {} and experiment.pages == 0
        top = experiment.decide("q", RANKINGS, user="ann", token=part.token)
        assert (top.page, top.served) == (1, "experiment")


def test_a_closed_page_is_shown_again_and_its_clicks_are_refused(tmp_path):
    with opened(tmp_path, settings(sticky=30.0)) as experiment:
        page = experiment.decide("q", RANKINGS, user="ann")
        experiment.record(page.token, [])
        again = experiment.decide("q", RANKINGS, user="ann")
        assert again.shown == page.shown
        with pytest.raises(UsedError):
            experiment.record(again.token, [again.shown[0]])
        experiment._clock.now += 61
        with pytest.raises(ExpiredError):
            experiment.record(again.token, [again.shown[0]])


def test_a_page_of_a_ranker_that_was_dropped_is_not_shown_again(tmp_path):
    with opened(tmp_path, settings(sticky=30.0, policy="random")) as experiment:
        while "b" not in (page := experiment.decide("q", RANKINGS, user=f"u{experiment.pages}")).rankers:
            pass
        experiment.switch("drop", ranker="b")
        user = f"u{page.page - 1}"
        again = experiment.decide("q", RANKINGS, user=user)
        assert again.page == page.page + 1 and "b" not in again.rankers
        assert experiment.decide("q", RANKINGS, token=page.token, offset=3).served == "later"


def test_paused_a_later_part_is_of_the_incumbents_list(tmp_path):
    with opened(tmp_path, settings(sticky=30.0)) as experiment:
        experiment.decide("q", RANKINGS, user="ann")
        experiment.switch("pause")
        part = experiment.decide("q", RANKINGS, user="ann", offset=8, limit=9)
        assert (part.shown, part.served) == (tuple(DOCUMENTS[8:10]), "paused")


def test_a_user_who_was_forgotten_is_a_new_one(tmp_path):
    with opened(tmp_path, settings(sticky=30.0)) as experiment:
        page = experiment.decide("q", RANKINGS, user="ann")
        assert forget(tmp_path / "shop.db", user="ann") == 1
        assert experiment.decide("q", RANKINGS, user="ann").page == 2
        assert experiment.decide("q", RANKINGS, token=page.token).page == 3


@pytest.mark.parametrize(
    "wrong, error",
    [
        ({"offset": -1}, InputError),
        ({"offset": 1.5}, InputError),
        ({"limit": 0}, InputError),
        ({"limit": "9"}, InputError),
        ({"token": "v1.one.x.y"}, TokenError),
        ({"token": 7}, TokenError),
    ],
)
def test_a_part_that_there_cannot_be_is_refused(tmp_path, wrong, error):
    with opened(tmp_path) as experiment:
        with pytest.raises(error):
            experiment.decide("q", RANKINGS, **wrong)
        experiment.switch("pause")
        if "token" not in wrong:
            with pytest.raises(error):
                experiment.decide("q", RANKINGS, **wrong)
        assert experiment.pages == 0


def test_a_token_of_another_query_or_store_shows_no_page(tmp_path):
    (tmp_path / "other").mkdir()
    with opened(tmp_path) as experiment, opened(tmp_path / "other") as other:
        page, foreign = experiment.decide("q", RANKINGS), other.decide("q", RANKINGS)
        with pytest.raises(InputError, match="another query"):
            experiment.decide("p", RANKINGS, token=page.token)
        with pytest.raises(TokenError, match="another experiment"):
            experiment.decide("q", RANKINGS, token=foreign.token)


def test_what_is_remembered_of_users_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr("ltr_duel.live.unsampled.MOST_OPEN", 5)
    with opened(tmp_path, settings(sticky=30.0)) as experiment:
        experiment.answer([Decide("q", RANKINGS, f"user {k}") for k in range(12)])
        assert len(experiment._actions._drafts._latest) == 5
        assert experiment.decide("q", RANKINGS, user="user 11").page == 12
        assert experiment.decide("q", RANKINGS, user="user 0").page == 13


def test_what_is_remembered_of_users_goes_with_the_window(tmp_path):
    clock = Clock()
    with opened(tmp_path, settings(sticky=30.0), clock=clock) as experiment:
        for tick in range(100):
            experiment.decide("q", RANKINGS, user=f"user {tick}")
            clock.now += 1
        assert len(experiment._actions._drafts._latest) == 30
        assert experiment.decide("q", RANKINGS, user="user 71").page == 72
        assert experiment.decide("q", RANKINGS, user="user 70").page == 101


def test_the_window_is_not_longer_than_the_deadline():
    with pytest.raises(InputError, match="sticky: must be at most the deadline of 60 s, not 61"):
        settings(sticky=61.0)


@pytest.mark.parametrize("user", ["", "ann"])
@pytest.mark.parametrize(
    "switches",
    [
        [("winner", {"ranker": "e"})],
        [("end", {})],
        [("winner", {"ranker": "e"}), ("end", {})],
        [("share", {"share": 0.0})],
        [("share", {"share": 0.0, "holdback": 1.0})],
    ],
)
def test_a_token_continues_its_page_whatever_the_switches_say_meanwhile(tmp_path, switches, user):
    with opened(tmp_path, settings(policy="random")) as experiment:
        first = experiment.decide("q", RANKINGS, user=user, limit=5)
        for what, how in switches:
            experiment.switch(what, **how)
        second = experiment.decide("q", {"a": RANKINGS["a"]}, user=user, offset=5, token=first.token)
        assert (second.page, second.token, second.served) == (1, first.token, "experiment")
        assert len(set(first.shown + second.shown)) == 10
        with pytest.raises(InputError, match="another query"):
            experiment.decide("p", RANKINGS, user=user, offset=5, token=first.token)
        with pytest.raises(TokenError):
            experiment.decide("q", RANKINGS, user=user, offset=5, token=first.token[:-2])
        new = experiment.decide("q", RANKINGS, user="bob")
        assert new.page == 0 and experiment.pages == 1


def test_the_coin_of_the_share_is_not_tossed_again_for_a_token(tmp_path):
    served = []
    with opened(tmp_path, settings(policy="random")) as experiment:
        experiment.switch("share", share=0.5)
        for _ in range(40):
            first = experiment.decide("q", RANKINGS, limit=5)
            second = experiment.decide("q", RANKINGS, offset=5, token=first.token)
            again = experiment.decide("q", RANKINGS, token=first.token)
            assert second.served == again.served == first.served and second.page == again.page == first.page
            assert len(set(first.shown + second.shown)) == 10
            served.append(first.served)
        assert experiment.pages == served.count("experiment") > 0 < served.count("share")


def test_a_user_outside_of_the_share_begins_no_page_by_a_token(tmp_path):
    with opened(tmp_path, settings(policy="random")) as experiment:
        first = experiment.decide("q", RANKINGS, user="ann")
        experiment.switch("share", share=0.0)
        assert experiment.decide("q", RANKINGS, user="ann", token=first.token).served == "share"
        forget(tmp_path / "shop.db", user="ann")
        later = experiment.decide("q", RANKINGS, user="ann", token=first.token, offset=5)
        assert (later.served, later.shown, experiment.pages) == ("later", tuple(DOCUMENTS[5:10]), 1)


def test_of_as_many_pages_as_may_be_open_the_one_shown_longest_ago_is_forgotten_first(tmp_path, monkeypatch):
    monkeypatch.setattr("ltr_duel.live.unsampled.MOST_OPEN", 2)
    clock = Clock()
    with opened(tmp_path, settings(sticky=10), clock=clock) as experiment:
        first = [experiment.decide("q", RANKINGS, user=user).page for user in ("ann", "bob")]
        clock.now += 11  # Ann's search gets a new page, later than Bob's
        again = experiment.decide("q", RANKINGS, user="ann").page
        experiment.decide("q", RANKINGS, user="cat")
        assert again not in first and experiment.decide("q", RANKINGS, user="ann").page == again
