"""A plan: how it decides a search, and how its file is signed and read."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ltr_duel.core import InputError
from ltr_duel.interleaving import interleave
from ltr_duel.live import Keys, LivePlan, Settings, TokenError, next_plan, read_keys

KEYS = Keys({"new": bytes(range(32)), "old": bytes(32)})
LISTS = {name: [f"{name}{k}" for k in range(12)] for name in "abcd"}


def plan_of(sets, method="team_draft", **more):
    given = {"policy": "rucb", "outcome": "credit", "top": 10, "salt": "s", "experiment": "shoes", "version": 3}
    given |= {"recommended": "a", "incumbent": "a", "method": method, "sets": sets}
    return LivePlan(**given | more)


PAIR = ((("a", "b"), 1),)


def test_the_example_on_the_page_about_plans_is_what_the_plan_decides():
    plan = next_plan(Settings(name="shop", rankers=("1", "5", "8"), policy="double_thompson", batch=1000, seed=5), at=0)
    page = plan.decide("user 7", "red shoes", {"1": ["a", "b", "c"], "5": ["c", "a", "d"], "8": ["d", "c", "a"]})
    assert (page.page, page.record["owners"]) == (("d", "c", "a"), [0, 1, 0])
    printed = page.impression, f"= {page.record['propensity']:.3f}", f"{plan.bucket('user 7'):.4f}"
    text = (Path(__file__).parents[2] / "docs" / "plans.md").read_text("utf-8")
    assert [value for value in printed if f"{value.replace('0.', '.')} |" not in text] == []


def test_sets_have_the_probabilities_of_the_plan():
    plan = plan_of(((("a", "b"), 60), (("c", "a", "d"), 30), (("b",), 10)))
    pages = [plan.decide(f"u{k % 500}", f"q{k}", LISTS, now=5.0) for k in range(20_000)]
    shown = np.array([sum(page.rankers == rankers for page in pages) for rankers, _ in plan.sets])
    expected = np.array([0.6, 0.3, 0.1]) * len(pages)
    assert ((shown - expected) ** 2 / expected).sum() < 28  # chi-squared with 2 degrees of freedom at 1e-6
    assert all((page.record is None) == (page.rankers == ("b",)) for page in pages)
    assert {page.record["propensity"] for page in pages if page.rankers == ("a", "b")} == {0.6}


def test_pages_of_team_draft_have_their_enumerated_probabilities():
    """Two rounds of two rankers with different documents: each of the 2 x 2 orders of the turns has probability 1/4."""
    plan, lists = plan_of(PAIR, top=4), {"a": ["a1", "a2"], "b": ["b1", "b2"]}
    pages = [plan.decide(f"u{k}", "q", lists, now=1).page for k in range(20_000)]
    wanted = [one + two for one in (("a1", "b1"), ("b1", "a1")) for two in (("a2", "b2"), ("b2", "a2"))]
    shown = np.array([pages.count(page) for page in wanted])
    assert shown.sum() == len(pages)
    assert ((shown - 5000) ** 2 / 5000).sum() < 30.7  # 3 degrees of freedom at 1e-6


def test_pages_of_probabilistic_interleave_have_their_enumerated_probabilities():
    """With tau 1 and two documents, rank 1 has the probability (1/1) / (1/1 + 1/2) = 2/3, by either ranker."""
    plan = plan_of(PAIR, "probabilistic:tau=1", outcome="marginal_sign", top=2)
    lists = {"a": ["x", "y"], "b": ["x", "y"]}
    first = np.mean([plan.decide(f"u{k}", "q", lists, now=1).page[0] == "x" for k in range(20_000)])
    assert abs(first - 2 / 3) < 5 * np.sqrt(2 / 9 / 20_000)


def test_a_page_is_the_same_whenever_and_wherever_it_is_decided():
    plan = plan_of(((("a", "b"), 1), (("c", "d"), 1)), "probabilistic", outcome="marginal_bernoulli")
    page = plan.decide("u", "q", LISTS, now=5.0)
    plan.decide("another", "q", LISTS)
    again = LivePlan.from_json(plan.to_json(KEYS), KEYS).decide("u", "q", LISTS, now=6.0)
    assert again.record == page.record | {"time": 6.0}
    assert plan.rankers("u", "q") == page.rankers


def test_another_salt_version_user_or_query_gives_another_page():
    plan = plan_of(PAIR)
    others = [plan_of(PAIR, salt="t"), plan_of(PAIR, version=4)]
    made = [one.decide("u", "q", LISTS).record for one in (plan, *others)]
    made += [plan.decide(user, query, LISTS).record for user, query in (("v", "q"), ("u", "r"))]
    assert len({one["impression"].partition("-")[2] for one in made}) == 5


def test_an_impression_names_one_page():
    """A search that is repeated with other lists is another impression, so that clicks never count for another page."""
    plan = plan_of(PAIR)
    first = plan.decide("u", "q", LISTS).record
    assert plan.decide("u", "q", LISTS).record["impression"] == first["impression"]
    assert plan.decide("u", "q", LISTS | {"b": ["x", "y"]}).record["impression"] != first["impression"]
    assert plan.impression("u", "q", first["shown"], first["owners"]) == first["impression"]


def test_the_record_has_the_page_and_what_its_clicks_are_credited_by():
    plan = plan_of(PAIR, top=2)
    page = plan.decide("u", "q", {"a": [1, 2], "b": [3, 4]}, now=7.0)
    owners = [0 if document < 3 else 1 for document in page.page]
    assert page.record == {
        "impression": page.record["impression"], "time": 7.0, "query": "q", "user": "u",
        "shown": [str(document) for document in page.page], "rankers": ["a", "b"], "method": "team_draft",
        "outcome": "credit", "policy": "rucb", "propensity": 1.0, "owners": owners,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("change", "low", "middle", "high"),  # of users with buckets below 0.2, between, and from 0.9 on
    [
        ({}, "experiment", "experiment", "experiment"),
        ({"share": 0.2}, "experiment", "share", "share"),
        ({"share": 0.2, "holdback": 0.1}, "experiment", "share", "holdback"),
        ({"mode": "paused", "holdback": 0.1}, "paused", "paused", "paused"),
        ({"mode": "winner", "winner": "b", "holdback": 0.1}, "winner", "winner", "holdback"),
        ({"mode": "ended"}, "ended", "ended", "ended"),
    ],
)
def test_mode_share_and_holdback_choose_who_takes_part(change, low, middle, high):
    plan = plan_of(PAIR, **change)
    users = [f"u{k}" for k in range(300)]
    bounds = [(0, 0.2, low), (0.2, 0.9, middle), (0.9, 1, high)]
    for start, end, served in bounds:
        some = [user for user in users if start <= plan.bucket(user) < end]
        assert len(some) > 10
        for user in some:
            page = plan.decide(user, "q", LISTS)
            alone = "b" if served == "winner" else "a"
            assert page.served == served
            assert (page.record is None) == (served != "experiment")
            assert served == "experiment" or page[:2] == (tuple(LISTS[alone][:10]), (alone,))
            assert plan.rankers(user, "q") == page.rankers


def test_a_users_bucket_is_the_same_in_all_plans_and_uniform():
    users = [f"u{k}" for k in range(10_000)]
    buckets = [plan_of(PAIR).bucket(user) for user in users]
    assert buckets == [plan_of(PAIR, version=9, share=0.5).bucket(user) for user in users]
    counts = np.histogram(buckets, 10, (0, 1))[0]
    assert ((counts - 1000) ** 2 / 1000).sum() < 45  # 9 degrees of freedom at 1e-6


@pytest.mark.parametrize(
    ("user", "lists", "said"),
    [
        ("", LISTS, "the user must not be empty"),
        ("a\0b", LISTS, "null character"),
        ("\ud800", LISTS, "not valid Unicode"),
        ("u" * 10_001, LISTS, "the user must have at most 10,000 characters"),
        (5, LISTS, "must be a string, not 5"),
        ("u", {"a": ["x"]}, "the list of ranker 'b' is missing"),
        ("u", {"a": [], "b": ["x"]}, "the list of ranker 'a' is empty"),
        ("u", {"a": ["x", "x"], "b": ["y"]}, "'x' appears twice"),
        ("u", {"a": "xyz", "b": ["y"]}, "must be a list, not str"),
        ("u", {"a": [1.0], "b": ["y"]}, "1.0 is neither a string nor a whole number"),
        ("u", {"a": [1], "b": ["1"]}, "as a string and as a number"),
        ("u", {"a": ["\ud800"], "b": ["y"]}, "not valid Unicode"),
        ("u", {"a": ["x\ny"], "b": ["y"]}, "a document id on the list of ranker 'a' contains a line feed"),
    ],
)
def test_a_search_that_no_log_could_keep_is_refused(user, lists, said):
    with pytest.raises(InputError, match=said):
        plan_of(PAIR).decide(user, "q", lists)


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        (["x", "y", "x"], "'x' appears twice on the list of ranker 'a'"),
        (["\ud800"], "not valid Unicode"),
        (["x\ny"], "contains a line feed"),
        ([1, "1"], "'1' appears twice"),
    ],
)
def test_a_page_of_one_ranker_is_held_to_the_same_lists(ids, said):
    with pytest.raises(InputError, match=said):
        plan_of(PAIR, mode="paused").decide("u", "q", {"a": ids})


def test_a_propensity_is_of_the_rankers_in_any_order():
    plan = plan_of(((("a", "b"), 5), (("b", "a"), 2), (("c", "d"), 5)))
    assert plan.propensity(["a", "b"]) == plan.propensity(["b", "a"]) == 7 / 12
    assert plan.propensity(["nobody"]) == 0


def test_public_settings_do_not_predict_pages():
    settings = Settings(name="shoes", rankers=("a", "b"), policy="random")
    plans = [next_plan(settings, at=0) for _ in range(2)]
    assert plans[0].salt != plans[1].salt
    assert next_plan(settings, at=60, last=plans[0]).salt == plans[0].salt


def test_a_plan_is_read_as_it_was_written():
    plan = next_plan(Settings(name="shoes", rankers=("a", "b"), policy="rucb", share=0.3, holdback=0.1), at=1e9)
    text = plan.to_json(KEYS)
    assert vars(LivePlan.from_json(text, KEYS)) == {
        name: getattr(plan, name) for name in vars(LivePlan.from_json(text, KEYS))
    }
    assert LivePlan.from_json(json.dumps(json.loads(text)), KEYS).sets == plan.sets  # for any layout of the JSON


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"plan": 1, "key": "new", "signature": "x"}', "[" * 100_000])
def test_text_that_is_no_plan_is_refused(text):
    with pytest.raises(InputError, match="not a plan of 'ltr-duel live plan'"):
        LivePlan.from_json(text, KEYS)


def test_a_changed_plan_or_another_key_is_refused():
    text = plan_of(PAIR).to_json(KEYS)
    with pytest.raises(InputError, match="changed since it was signed by key 'new'"):
        LivePlan.from_json(text.replace('"top": 1', '"top": 2'), KEYS)
    with pytest.raises(InputError, match="signed by key 'new', which is not among old"):
        LivePlan.from_json(text, Keys({"old": bytes(32)}))


@pytest.mark.parametrize(
    "change",
    [{"salt": None}, {"sets": []}, {"top": 0}, {"top": "10"}, {"version": "1-1"}, {"method": "none"}, {"mode": "x"},
     {"share": 2.0}, {"at": -1}, {"sets": [[["a", "a"], 1]]}, {"sets": [[["a", "b"], 0]]}],
)  # fmt: skip
def test_a_signed_plan_with_an_invalid_value_is_refused(change):
    text = LivePlan(**vars(plan_of(PAIR)) | change).to_json(KEYS)
    with pytest.raises(InputError, match="signed, but not a valid plan"):
        LivePlan.from_json(text, KEYS)


def test_a_token_is_of_one_impression_and_one_key():
    token = KEYS.token("3-0123456789abcdef")
    assert KEYS.verified(token) == "3-0123456789abcdef"
    assert Keys({"newest": b"x" * 16, "new": bytes(range(32))}).verified(token) == "3-0123456789abcdef"
    for forged in (token.replace("3-", "4-"), token[:-1], token + "0", "old" + token[3:], "", "a.b", "é" * 9, None):
        with pytest.raises(TokenError):
            KEYS.verified(forged)


def test_a_key_file_is_created_once_and_only_for_its_owner(tmp_path):
    path = tmp_path / "live.keys"
    keys = read_keys(path, create=True)
    assert path.stat().st_mode & 0o777 == 0o600
    assert dict(read_keys(path, create=True)) == dict(keys)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "there must be 1 to 100 keys"),
        ("a abab\n", "secret of key 'a' must be at least 16 bytes"),
        (f"a {'0' * 32}\na {'1' * 32}", ":2: key 'a' is defined twice"),
        ("a b c", ":1: a key is an id and a secret in hexadecimal digits"),
        (f"a.b {'0' * 32}", "the id of a key is 1 to 32 letters"),
    ],
)
def test_a_wrong_line_of_a_key_file_is_named_without_its_secret(tmp_path, text, said):
    path = tmp_path / "live.keys"
    path.write_text(text)
    with pytest.raises(InputError, match=said) as caught:
        read_keys(path)
    assert "abab" not in str(caught.value)


def test_pages_equal_those_of_interleaving_with_the_same_stream():
    plan = plan_of(PAIR)
    bits = np.random.SFC64(0)
    bits.state = {**bits.state, "state": {"state": np.frombuffer(plan._hash("u", "q"), "<u8")}}
    rng = np.random.Generator(bits)
    rng.random()  # chooses the set
    assert interleave({name: LISTS[name] for name in "ab"}, rng=rng).shown == plan.decide("u", "q", LISTS).page
