"""Users cannot click unseen documents, and pages that no user has seen are not shown again."""

import pytest

from ltr_duel.core import InputError
from ltr_duel.live import Drop, Experiment, ExpiredError, TokenError, UsedError, check_store
from tests.live.shop import KEYS, RANKINGS, Clock, opened, settings

NEVER_ALONE = {"policy": "random"}


def later_report(experiment, token, document):
    experiment.record(token, [{"document": document, "kind": "purchase"}], late=True)


def test_clicks_below_the_part_that_was_shown_are_refused_until_it_is_shown(tmp_path):
    with opened(tmp_path) as experiment:
        whole = experiment.decide("p", RANKINGS).shown
        page = experiment.decide("q", RANKINGS, limit=4)
        below = (set(whole) - set(page.shown)).pop()
        for how in ({"final": False}, {"final": True}, {"late": True}):
            clicks = [{"document": below, "kind": "click"}] if how.get("late") else [below]
            with pytest.raises(InputError, match="is not on the page"):
                experiment.record(page.token, clicks, **how)
        second = experiment.decide("q", RANKINGS, token=page.token, offset=4, limit=3)
        experiment.record(page.token, [second.shown[2]], final=False)
        third = (set(whole) - set(page.shown) - set(second.shown)).pop()
        with pytest.raises(InputError, match="is not on the page"):
            experiment.record(page.token, [third])
        experiment.decide("q", RANKINGS, token=page.token)
        experiment.record(page.token, [third])
        assert experiment.state().clicked == 1


@pytest.mark.parametrize(
    "offset, limit, seen", [(0, None, 10), (0, 10, 10), (0, 11, 10), (0, 1, 1), (6, 2, 8), (99, 9, 4)]
)
def test_the_depth_is_the_end_of_the_lowest_part(tmp_path, offset, limit, seen):
    with opened(tmp_path) as experiment:
        page = experiment.decide("q", RANKINGS, limit=4 if offset else limit)
        if offset:
            experiment.decide("q", RANKINGS, token=page.token, offset=offset, limit=limit)
        all_of_it = experiment._actions._store.shown(1)[3]
        ids = [one for one in RANKINGS["a"] if one in all_of_it]
        accepted = 0
        for one in ids:
            try:
                experiment.record(page.token, [one], final=False)
                accepted += 1
            except InputError:
                pass
        assert accepted == seen


def test_how_far_a_user_has_seen_survives_a_restart_and_a_reload_takes_nothing_back(tmp_path):
    given, clock = settings(sticky=30.0), Clock()
    with opened(tmp_path, given, clock=clock) as experiment:
        page = experiment.decide("q", RANKINGS, user="ann", limit=2)
        deep = experiment.decide("q", RANKINGS, user="ann", offset=2, limit=5)
        experiment.decide("q", RANKINGS, user="ann", limit=2)
    with opened(tmp_path, given, clock=clock) as experiment:
        experiment.record(page.token, deep.shown[-1:], final=False)
        later_report(experiment, page.token, deep.shown[0])
        assert experiment.expire() == 0
    assert check_store(tmp_path / "shop.db") == []


def test_a_page_that_reached_no_user_is_not_shown_again_after_a_restart_and_takes_no_outcomes(tmp_path):
    given, clock = settings(sticky=30.0, **NEVER_ALONE), Clock()
    with opened(tmp_path, given, clock=clock) as experiment:
        page = experiment.decide("q", RANKINGS, user="ann")
        seen = experiment.decide("q", RANKINGS, user="bob")
        experiment.answer([Drop(page.page)])
    with opened(tmp_path, given, clock=clock) as experiment:
        with pytest.raises(InputError, match="is not on the page"):
            later_report(experiment, page.token, page.shown[0])
        assert experiment.decide("q", RANKINGS, user="bob").page == seen.page
        assert experiment.decide("q", RANKINGS, user="ann").page == 3


def test_after_its_deadline_no_token_shows_a_page_again(tmp_path):
    """Otherwise, documents removed from the index would be shown, and their clicks rejected."""
    with opened(tmp_path) as experiment:
        first = experiment.decide("q", RANKINGS)
        closed = experiment.decide("q", RANKINGS)
        experiment.record(closed.token, [])
        experiment._clock.now += 59.9
        assert experiment.decide("q", RANKINGS, token=first.token).page == first.page
        assert experiment.decide("q", RANKINGS, token=closed.token).page == closed.page
        experiment._clock.now += 0.2
        for page in (first, closed):
            later = experiment.decide("q", RANKINGS, token=page.token, offset=5)
            assert (later.page, later.served) == (0, "later")
            new = experiment.decide("q", RANKINGS, token=page.token)
            assert new.page > closed.page and new.expires > page.expires
            experiment.record(new.token, new.shown[:1])
            for complaint, token in ((ExpiredError, page.token), (UsedError, new.token)):
                with pytest.raises(complaint):
                    experiment.record(token, [])


def test_after_a_step_of_the_clock_a_token_shows_its_page_as_long_as_clicks_count(tmp_path):
    clock, seconds = Clock(), Clock()
    how = {"keys": KEYS, "clock": clock, "monotonic": seconds}
    with Experiment.open(tmp_path / "shop.db", settings(), **how) as experiment:
        page = experiment.decide("q", RANKINGS)
        clock.now += 7200  # a suspended machine
        seconds.now += 30
        assert experiment.decide("q", RANKINGS, token=page.token).page == page.page
        experiment.record(page.token, page.shown[:1])


@pytest.mark.parametrize("step", [7200, -7200])
def test_a_step_of_the_clock_neither_ends_nor_prolongs_the_window_of_a_user(tmp_path, step):
    clock, seconds = Clock(), Clock()
    how = {"keys": KEYS, "clock": clock, "monotonic": seconds}
    with Experiment.open(tmp_path / "shop.db", settings(sticky=30.0), **how) as experiment:
        experiment.decide("q", RANKINGS, user="ann")
        clock.now += step
        for passed, page in ((29, 1), (2, 2)):
            clock.now += passed
            seconds.now += passed
            assert experiment.decide("q", RANKINGS, user="ann").page == page


@pytest.mark.parametrize("away", [False, True])
def test_paused_or_away_a_foreign_token_is_refused_all_the_same(tmp_path, away):
    folders = [tmp_path / name for name in ("own", "other", "copy")]
    for folder in folders:
        folder.mkdir()
    opened(folders[0]).close()
    (folders[2] / "shop.db").write_bytes((folders[0] / "shop.db").read_bytes())
    with opened(folders[0]) as experiment, opened(folders[1]) as other, opened(folders[2]) as copy:
        page = experiment.decide("q", RANKINGS)
        if not away:
            experiment.switch("pause")
            other.switch("pause")
        foreign = [other.decide("q", RANKINGS).token, copy.decide("q", RANKINGS).token]
        forged = [page.token[:-2], "v1.one.x.y", "x"]
        call = experiment.decide if not away else lambda query, lists, token: _away(experiment, query, lists, token)
        for token in foreign + forged:
            with pytest.raises(TokenError):
                call("q", RANKINGS, token=token)
        assert call("q", RANKINGS, token=page.token).served == ("away" if away else "paused")


def _away(experiment, query, lists, token):
    from ltr_duel.live import Decide

    return experiment.outside(Decide(query, lists, token=token), away=True)


@pytest.mark.parametrize("switch", [None, "pause", "end"])
def test_an_empty_query_is_refused_as_it_stands_for_one_that_was_forgotten(tmp_path, switch):
    with opened(tmp_path) as experiment:
        if switch:
            experiment.switch(switch)
        with pytest.raises(InputError, match="the query must not be empty"):
            experiment.decide("", RANKINGS)
        assert experiment.pages == 0
