"""The experiment: every page and click counted once, deadlines, refusals that change nothing, and the state."""

import itertools
import threading

import numpy as np
import pytest

from ltr_duel.core import InputError
from ltr_duel.live import Decide, Experiment, ExpiredError, Keys, Record, TokenError, UsedError
from tests.live.shop import DOCUMENTS, KEYS, NAMES, RANKINGS, Clock, opened, settings


def use(experiment, pages, seed=0, batch=7, users=False):
    """Show pages, some of them together, and click on them in a different order; some get no clicks."""
    rng = np.random.default_rng(seed)
    for _ in range(0, pages, batch):
        calls = [Decide("q", RANKINGS, f"user {rng.integers(20)}" if users else "") for _ in range(batch)]
        shown = experiment.answer(calls)
        late = [Record(page.token, page.shown[: rng.integers(3)]) for page in shown if rng.random() < 0.8]
        experiment.answer([late[k] for k in rng.permutation(len(late))])


def test_a_page_and_its_clicks_are_counted_once(tmp_path):
    with opened(tmp_path) as experiment:
        page = experiment.decide("red shoes", RANKINGS)
        assert set(page.shown) <= set(DOCUMENTS) and len(page.shown) == 10 and len(page.rankers) == 2
        assert experiment.open_pages == 1 and page.expires == 1_000_060.0
        recorded = experiment.record(page.token, [page.shown[-1], page.shown[-1]])
        assert recorded.page == page.page == 1 and set(recorded.credit) == {page.rankers}
        with pytest.raises(UsedError, match="counted already"):
            experiment.record(page.token, [page.shown[-1]])
        state = experiment.state()
        assert (state.pages, state.open, state.clicked, state.compared, state.steps) == (1, 0, 1, 1, 1)
        a, b = map(NAMES.index, page.rankers)
        y = recorded.credit[page.rankers]
        assert state.wins[a, b] == (y > 0) and state.wins[b, a] == (y < 0) and state.ties[a, b] == (y == 0)
        assert state.exposure.sum() == 1 and state.pulls.sum() == 2


def test_it_goes_on_from_its_file_as_if_nothing_had_happened(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    for given in (settings(order="arrival"), settings(order="shown", policy="mdb", name="b")):
        clocks = Clock(), Clock()
        with opened(tmp_path / "one", given, clock=clocks[0]) as one:
            for part in range(4):
                use(one, 70, part, users=True)
            whole = one.state().to_json()
        for part in range(4):
            with opened(tmp_path / "two", given, clock=clocks[1]) as two:
                use(two, 70, part, users=True)
                before = two.state().to_json()
            with opened(tmp_path / "two", given, clock=clocks[1]) as two:
                assert two.state().to_json() == before
        assert before == whole
        for folder in ("one", "two"):
            (tmp_path / folder / "shop.db").unlink()


def test_snapshots_change_nothing(tmp_path, monkeypatch):
    found = []
    for every in (10**9, 13, 1):
        monkeypatch.setattr("ltr_duel.live.actions._SNAPSHOT_EVERY", every)
        folder = tmp_path / str(every)
        folder.mkdir()
        for part in range(3):
            with opened(folder, settings(policy="multi_self_sparring:size=3", method="probabilistic", seed=2)) as one:
                use(one, 50, part, users=True)
                found.append((part, one.state().to_json()))
    assert all(a == b for (i, a), (j, b) in itertools.combinations(found, 2) if i == j)


def test_a_page_without_clicks_is_closed_at_its_deadline(tmp_path):
    clock = Clock()
    with opened(tmp_path, clock=clock) as experiment:
        pages = [experiment.decide("q", RANKINGS) for _ in range(3)]
        clock.now += 59.9
        assert experiment.expire() == 0
        experiment.record(pages[0].token, [])
        clock.now += 0.1
        with pytest.raises(ExpiredError, match="deadline"):
            experiment.record(pages[1].token, [])
        assert experiment.expire() == 2
        with pytest.raises(ExpiredError):
            experiment.record(pages[1].token, [])
        state = experiment.state()
        assert (state.expired, state.unclicked, state.compared, state.open) == (2, 1, 3, 0)
        assert state.ties.sum() == 6 and state.wins.sum() == 0


def test_deciding_closes_what_is_past_its_deadline(tmp_path, monkeypatch):
    monkeypatch.setattr("ltr_duel.live.actions.MOST_OPEN", 3)
    clock = Clock()
    with opened(tmp_path, settings(), clock=clock) as experiment:
        for _ in range(3):
            experiment.decide("q", RANKINGS)
        clock.now += 60
        experiment.decide("q", RANKINGS)
        assert experiment.open_pages == 1 and experiment.pages == 4


def test_a_page_that_was_closed_to_make_room_is_not_said_to_be_counted(tmp_path, monkeypatch):
    """A client interprets "counted already" as the success of its first try, whose answer was lost."""
    monkeypatch.setattr("ltr_duel.live.actions.MOST_OPEN", 2)
    clock = Clock()
    with opened(tmp_path, settings(), clock=clock) as experiment:
        pages = [experiment.decide("q", RANKINGS) for _ in range(2)]
        experiment.record(pages[1].token, pages[1].shown[:1], final=False)
        pages += [experiment.decide("q", RANKINGS) for _ in range(2)]
    with opened(tmp_path, settings(), clock=clock) as experiment:
        for page in pages[:2]:
            with pytest.raises(
                ExpiredError, match=r"too many pages were open, so the page was closed with .* until then, if any$"
            ):
                experiment.record(page.token, page.shown[:1])
        assert (experiment.state().clicked, experiment.open_pages) == (1, 2)
        experiment.record(pages[2].token, [])
        with pytest.raises(UsedError, match=r"counted already$"):
            experiment.record(pages[2].token, [])


def test_after_its_deadline_no_page_is_said_to_be_without_clicks(tmp_path):
    clock = Clock()
    with opened(tmp_path, clock=clock) as experiment:
        page = experiment.decide("q", RANKINGS)
        experiment.record(page.token, page.shown[:1], final=False)
        clock.now += 61
        with pytest.raises(ExpiredError, match=r"so the page was closed with the clicks reported until then, if any$"):
            experiment.record(page.token, page.shown[:1])


def test_a_ranker_alone_is_shown_as_it_is_and_not_compared(tmp_path):
    with opened(tmp_path, settings(rankers=("a", "b"), policy="interleaved_filter", horizon=50, top=4)) as experiment:
        lists = {"a": DOCUMENTS, "b": DOCUMENTS[::-1]}
        for _ in range(400):
            page = experiment.decide("q", lists)
            if len(page.rankers) == 1:
                break
            a_shown = [one for one in page.shown if one in DOCUMENTS[:2]]
            experiment.record(page.token, a_shown)
        assert page.shown == tuple(lists[page.rankers[0]][:4])
        before = experiment.state()
        assert experiment.asked == page.rankers
        assert experiment.record(page.token, [page.shown[1]]).credit == {}
        after = experiment.state()
        assert after.clicked == before.clicked + 1 and after.compared == before.compared and after.steps == before.steps
        assert after.plain == 1 and after.winner == "a"
        with pytest.raises(UsedError):
            experiment.record(page.token, [])


def every(ids):
    return dict.fromkeys(NAMES, ids)


WRONG = [
    ("q", {"x": ["1"]}, "", "no ranker 'x'"),
    ("q", {}, "", "the policy requires ranker"),
    ("q", [], "", "rankings must be a mapping"),
    ("q", RANKINGS | every([]), "", "is empty"),
    ("q", every(["1", "1"]), "", "twice"),
    ("q", every("abc"), "", "is not a list"),
    ("q", every([None]), "", "a document id is a string or a finite number, not None"),
    ("q", every([True, 2]), "", "not True"),
    ("q", every(["a", float("nan")]), "", "not nan"),
    ("q", every([["a"]]), "", "not a list"),
    ("q", every(["\ud800"]), "", "an unpaired surrogate"),
    ("\ud800", RANKINGS, "", "the query is not valid Unicode"),
    ("q" * 10_001, RANKINGS, "", "at most 10,000 characters"),
    (7, RANKINGS, "", "the query must be a string, not 7"),
    ("q", RANKINGS, None, "the user must be a string, not None"),
]


def test_what_cannot_be_used_is_refused_and_changes_nothing(tmp_path):
    with opened(tmp_path) as experiment:
        page = experiment.decide("q", RANKINGS)
        before = experiment.state().to_json()
        for query, rankings, user, sentence in WRONG:
            with pytest.raises(InputError, match=sentence):
                experiment.decide(query, rankings, user=user)
        with opened_beside(tmp_path) as other:
            for token in ("", "v1", None, 7, page.token[:-1], other.decide("q", RANKINGS).token):
                with pytest.raises(TokenError):
                    experiment.record(token, [])
        for clicks in (["no"], "doc1", None, 7, [["doc1"]], {"doc1": 1}):
            with pytest.raises(InputError, match=r"not on the page|list of document ids"):
                experiment.record(page.token, clicks)
        assert experiment.state().to_json() == before
        mixed = experiment.answer(
            [Decide("q", {}), Record(page.token, []), Record(page.token, []), Decide("q", RANKINGS)]
        )
        assert [type(one).__name__ for one in mixed] == ["InputError", "Recorded", "UsedError", "Decision"]
    with Experiment.open(tmp_path / "shop.db") as twin:  # opened with the stored settings
        again = twin.state().to_json()
    assert again["pages"] == 2 and again["unclicked"] == 1


def opened_beside(folder):
    (folder / "beside").mkdir(exist_ok=True)
    return opened(folder / "beside")


def test_numbers_are_ids_too(tmp_path):
    with opened(tmp_path) as experiment:
        lists = {name: np.arange(5)[::-1] if k % 2 else [0, 2.5, "x"] for k, name in enumerate(NAMES)}
        page = experiment.decide("q", lists)
        assert all(type(one) in (int, float, str) for one in page.shown)
        assert experiment.record(page.token, page.shown).page == 1


def test_a_page_needs_no_more_lists_than_the_policy_asks_for(tmp_path):
    with opened(tmp_path) as experiment:
        assert experiment.decide("q", {name: RANKINGS[name] for name in experiment.asked}).rankers == experiment.asked


def test_a_user_counts_once_for_each_pair_where_it_is_decided(tmp_path):
    with opened(tmp_path, settings(rankers=("a", "b"), policy="random")) as experiment:
        for k in range(60):
            page = experiment.decide("q", {"a": ["1", "2"], "b": ["2", "1"]}, user=("ann", "bob", "")[k % 3])
            experiment.record(page.token, [page.shown[0]])
        state = experiment.state()
        [pair] = state.decisions
        assert state.compared == state.wins.sum() + state.ties[0, 1] == 60
        assert pair.observations == 22  # ann and bob once each, and each page without a user
        assert experiment.expire() == 0


def test_of_a_users_open_pages_the_one_shown_first_counts_whichever_is_clicked(tmp_path):
    clock = Clock()
    with opened(tmp_path, settings(rankers=("a", "b"), policy="random"), clock=clock) as experiment:
        pages = [experiment.decide("q", {"a": ["1", "2"], "b": ["2", "1"]}, user="ann") for _ in range(3)]
        experiment.record(pages[2].token, ["1"])
        [pair] = experiment.state().decisions
        assert pair.observations == 0
        clock.now += 61
        assert experiment.expire() == 2
    with opened(tmp_path, settings(rankers=("a", "b"), policy="random"), clock=clock) as experiment:
        state = experiment.state()
        [pair] = state.decisions
        assert (pair.observations, pair.mean) == (1, 0)  # the page shown first, which was not clicked
        assert state.wins.sum() == 1 and state.ties[0, 1] == 2
        assert state.probability.tolist() == [0.5, 0.5]


def test_threads_may_share_it(tmp_path):
    with opened(tmp_path) as experiment:
        errors = []

        def work(seed):
            try:
                use(experiment, 40, seed, batch=1)
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        state = experiment.state()
        assert not errors and state.pages == 160
        assert state.clicked + state.unclicked + state.open == 160


def test_after_the_end_nothing_is_done(tmp_path):
    experiment = opened(tmp_path)
    experiment.close()
    experiment.close()
    with pytest.raises(InputError, match="is closed"):
        experiment.decide("q", RANKINGS)


def test_keys_may_change_between_runs(tmp_path):
    with opened(tmp_path) as experiment:
        page = experiment.decide("q", RANKINGS)
    with opened(tmp_path, keys=Keys({"two": bytes(32), **KEYS})) as experiment:
        assert experiment.record(page.token, []).page == 1
        page = experiment.decide("q", RANKINGS)
    with opened(tmp_path) as experiment, pytest.raises(TokenError, match="not signed"):
        experiment.record(page.token, [])
