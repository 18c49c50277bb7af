"""Plain lists: page and credit equal the simulation's, pages survive as JSON, and bad input is rejected."""

from __future__ import annotations

import itertools
import json
import math
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ltr_duel.core import InputError
from ltr_duel.interleaving import METHODS, Page, interleave, method_from_functions
from ltr_duel.interleaving.hooks import credit_pair, credit_slate, draw_pair, draw_slate
from tests.interleaving.test_enumeration import opened, patterns
from tests.site.snippets import DOCS, python_code

CASES = {
    "common prefix": [["a", "b", "c", "d"], ["a", "b", "d", "c"]],
    "different lengths": [["a", "b", "c", "d", "e"], ["f", "b"]],
    "one document": [["a"], ["a"]],
    "four rankers": [["a", "b", "c"], ["d", "c", "b", "a"], ["a", "b", "c", "d"], ["c", "e"]],
}
TWO = {"one": ["a"], "other": ["b"]}
THREE = TWO | {"third": ["c"]}


def named(lists):
    return {f"ranker {k}": ids for k, ids in enumerate(lists)}


def able(method, rule, lists):
    component = METHODS.configure(method).component
    sets = len(lists) > 2 or not component.pairs
    return (component.slates or not sets) and rule in ("", *component.outcomes_of(sets=sets))


def completed(lists):
    """The lists, each followed by the documents that it lacks: by their best rank, then by the first list with it."""
    best = {d: min((ids.index(d), k) for k, ids in enumerate(lists) if d in ids) for d in itertools.chain(*lists)}
    return [[*ids, *sorted(best.keys() - set(ids), key=best.get)] for ids in lists]


class Simulation:
    """The kernels in the form of the simulation, for the same lists and generator."""

    def __init__(self, lists, method, outcome, top, rng):
        self.ids, self.size = list(dict.fromkeys(itertools.chain(*lists))), len(lists)
        self.c = c = opened([[self.ids.index(d) for d in ids] for ids in completed(lists)], method, top, outcome)
        self.pair = self.size == 2 and METHODS.configure(method).component.pairs
        self.rankers = (0, 1) if self.pair else (np.arange(self.size), self.size)
        self.length = (draw_pair if self.pair else draw_slate)(c.method, c.lists, 0, *self.rankers, c.page, rng)
        self.shown = tuple(self.ids[k] for k in c.page.shown[: self.length])
        self.owners = tuple(None if k < 0 else f"ranker {k}" for k in c.page.owner[: self.length])

    def credit(self, clicks):
        c, won = self.c, np.zeros((self.size, self.size))
        c.page.clicks[: len(clicks)] = clicks
        clicked = c.page, self.length, len(clicks)
        if self.pair:
            won[0, 1] = credit_pair(c.method, c.lists, 0, *self.rankers, *clicked)
        else:
            credit_slate(c.method, c.lists, 0, *self.rankers, *clicked, won)
        return {(f"ranker {a}", f"ranker {b}"): won[a, b] for a, b in itertools.combinations(range(self.size), 2)}


@pytest.mark.parametrize("method", METHODS.names())
def test_list_and_credit_are_those_of_the_simulation(method):
    for lists, rule in itertools.product(CASES.values(), METHODS[method].outcomes):
        if not able(method, rule, lists):
            continue
        mine, theirs = np.random.default_rng(5), np.random.default_rng(5)
        pages = [interleave(named(lists), method, outcome=rule, top=4, rng=mine) for _ in range(4)]
        for page in pages:  # all are drawn before the first is credited
            simulated = Simulation(lists, method, rule, 4, theirs)
            assert (page.shown, page.owners) == (simulated.shown, simulated.owners)
            for clicks in patterns(len(page.shown)):
                won = page.credit([page.shown[k] for k in clicks])
                assert won == pytest.approx(simulated.credit(clicks), abs=1e-12)  # a page may have more documents
        assert mine.random() == theirs.random(), "both drew as many numbers"


def test_documents_that_a_ranker_lacks_follow_in_the_order_of_the_others():
    page = interleave({"one": ["a", "b", "c"], "two": ["c", "x", "y", "b"], "three": ["p", "q"]}, seed=1)
    ids = "abcxypq"
    orders = ["".join(ids[k] for k in order) for order in page.orders]
    assert orders == ["abcpxqy", "cxybapq", "pqacbxy"]  # first ranks 1: a, c, p; then b, x, q; then y


def test_a_page_credits_the_same_in_another_process():
    cases = itertools.product([(m.name, rule) for m in METHODS for rule in m.outcomes], CASES.values())
    pages = [
        interleave(named(lists), method, outcome=rule, top=4, seed=0)
        for (method, rule), lists in cases
        if able(method, rule, lists)
    ]
    script = (
        "import sys, json, itertools; from ltr_duel import Page\n"
        "for line in sys.stdin:\n"
        "    page = Page.from_json(line)\n"
        "    subsets = itertools.chain(*(itertools.combinations(page.shown, k) for k in range(len(page.shown) + 1)))\n"
        "    print(json.dumps([sorted(page.credit(clicks).items()) for clicks in subsets]))\n"
    )
    text = "\n".join(page.to_json() for page in pages)
    plain = {**os.environ, "NUMBA_DISABLE_JIT": "1"}  # run as plain Python
    run = subprocess.run([sys.executable, "-c", script], input=text, env=plain, text=True, capture_output=True)
    assert run.returncode == 0, run.stderr
    for page, line in zip(pages, run.stdout.splitlines(), strict=True):
        subsets = itertools.chain(*(itertools.combinations(page.shown, k) for k in range(len(page.shown) + 1)))
        assert json.loads(line) == json.loads(json.dumps([sorted(page.credit(ids).items()) for ids in subsets]))
        again = Page.from_json(page.to_json())
        assert (again.shown, again.owners, again.to_json()) == (page.shown, page.owners, page.to_json())


def test_the_same_seed_gives_the_same_page_in_any_thread_and_other_seeds_others():
    lists = {"one": list(range(9)), "other": list(range(9))[::-1]}

    def shown(call):
        method, seed = call
        return interleave(lists, method, seed=seed, top=3).shown

    calls = list(itertools.product(METHODS.names(), range(20)))
    alone = [shown(call) for call in calls]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(shown, calls)) == alone
    assert len(set(alone)) > 15


def test_without_a_seed_pages_differ_and_a_forked_process_has_its_own_randomness(monkeypatch):
    lists = {"one": list(range(30)), "other": list(range(30))[::-1]}
    mine = {interleave(lists).shown for _ in range(20)}
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert len(mine | {interleave(lists).shown for _ in range(20)}) > 15


def test_ids_may_be_any_keys_and_equal_keys_are_one_document():
    ids = [("a", 1), None, 1, "1"]
    page = interleave({"one": ids, "other": [True, 1.5]}, seed=0)
    assert set(page.shown) == {*ids, 1.5}
    assert page.credit([1.0]) == page.credit([True]) and page.credit([None, ("a", 1)])
    with pytest.raises(InputError, match="neither a string nor a finite number"):
        page.to_json()


def test_texts_and_numbers_of_arrays_survive_as_json():
    ids = ["ü", "\ud800", "</script>", -(10**20), 2.5, np.int64(7), np.str_("x")]
    page = interleave({"one": ids, "other": np.array([7, 8])}, seed=0)
    again = Page.from_json(page.to_json())
    assert again.shown == page.shown and again.credit(page.shown[:1]) == page.credit(page.shown[:1])


def test_clicks_in_any_order_and_twice_count_once():
    page = interleave(named(CASES["four rankers"]), "sosm", seed=4)
    top, third = page.shown[0], page.shown[2]
    assert page.credit([top, third]) == page.credit([third, top, third]) == page.credit(iter({third, top}))
    assert list(page.credit([]).values()) == [0.0] * 6
    for clicks in (["z"], [["a"]], "ab"):
        with pytest.raises(InputError, match=r"not on the page|a list of document ids"):
            page.credit(clicks)


def test_a_custom_method_works_in_memory_and_not_as_json():
    def draw(orders, top, rng):
        return orders[0][:top], [0] * top

    mine = method_from_functions("first", draw, lambda orders, shown, clicks, owners: [len(clicks), 0])
    page = interleave({"one": ["a", "b"], "other": ["c"]}, mine, seed=0, top=2)
    assert page.shown == ("a", "b") and page.credit(["b"]) == {("one", "other"): 1.0}
    with pytest.raises(InputError, match="'first' is not registered"):
        page.to_json()
    page = interleave({"one": ["a", "b"], "other": ["c"]}, METHODS["team_draft"], seed=0)
    assert Page.from_json(page.to_json()).method == page.method == "team_draft"


def test_the_examples_of_the_docs_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    documents = [f"d{k}" for k in range(8)]
    for name, order in (("old", documents), ("new", documents[3:])):  # d4 and d5 are relevant: new ranks them higher
        lines = [f"{q} Q0 {d} {k} {9 - k} {name}\n" for q in ("q1", "q2") for k, d in enumerate(order)]
        (tmp_path / f"{name}.run").write_text("".join(lines))
    (tmp_path / "qrels.txt").write_text("q1 0 d4 2\nq2 0 d5 1\nq2 0 d1 0\n")
    names: dict = {}
    for block in python_code(DOCS / "methods.md", "Plain lists"):
        exec(compile(block, "docs/methods.md", "exec"), names)
    assert names["outcome"]["bm25", "dense"] in (-1.0, 0.0, 1.0)
    wins = names["wins"]
    assert sum(wins.values()) == 200 and wins[-1] > wins[1]
    assert "old won" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("rankings", "options", "sentence"),
    [
        ({"one": ["a"], "other": []}, {}, "the list of ranker 'other' is empty"),
        ({"one": ["a", "b", "a"], "other": ["a"]}, {}, "document 'a' appears twice on the list of ranker 'one'"),
        ({"one": ["a"]}, {}, "requires from 2 to 200 rankers, not 1"),
        ({"one": ["a"], "other": [["b"]]}, {}, "ranker 'other' has an id that cannot be a key"),
        ({"one": ["a"], "other": [math.nan]}, {}, "nan cannot be a document id, because it does not equal itself"),
        ({"one": "abc", "other": ["a"]}, {}, "ranker 'one' must be a list, not str"),
        ({1: ["a"], 2: ["b"]}, {}, "the name of a ranker must be a string, not 1"),
        ({"one": range(6000), "other": range(6000, 12_000)}, {}, "12,000 documents are too many"),
        (THREE, {"method": "probabilistic", "outcome": "expectation"}, "'expectation' requires two rankers"),
        (THREE, {"method": "balanced"}, "compares two rankers, not 3; use one of: "),
        (TWO, {"seed": 1, "rng": np.random.default_rng()}, "pass either a seed or a numpy.random.Generator"),
        ({"one": range(99), "other": range(99, 198)}, {"method": "optimized", "top": 50}, "show at most 16 documents"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(rankings, options, sentence):
    with pytest.raises(InputError) as error:
        interleave(rankings, **options)
    assert sentence in str(error.value) and "\n" not in str(error.value)


GOOD = json.loads(
    interleave({"one": ["a", "b", 3], "other": ["c", "a"]}, "probabilistic", outcome="marginal_sign", seed=0).to_json()
)


@pytest.mark.parametrize(
    ("key", "values", "sentence"),
    [
        ("version", [2, "1"], "only version 1 can be read"),
        ("method", ["optimized:" + "x" * 300, 1], "the value of 'method'"),
        ("rankers", [["one", "one"], ["one"], 2, [1, 2]], "the value of 'rankers'"),
        ("shown", [["a", "a", 3, "c"], [math.nan, "b", 3, "c"], [], {}], "the value of 'shown'"),
        ("numbers", [[0, 1, 2, 4], [0, 1, 2, 2], [0], [0, 1, 2, 3.0]], "the value of 'numbers'"),
        ("owners", [[0, 1, 2, 0], [0, 1], [0, 1, -2, 0]], "the value of 'owners'"),
        (
            "orders",
            [[[0, 1, 2, 3]], [[0, 1, 2, 3], [0, 1, 2, 2]], [[*range(20_000)]] * 2, [[], []]],
            "value of 'orders'",
        ),
        ("kept", [["x"], [math.inf]], "the value of 'kept'"),
        ("kept", [[0.5]], "stores 0 numbers in 'kept'"),
    ],
)
def test_a_forged_page_is_refused_in_one_sentence(key, values, sentence):
    for value in values:
        with pytest.raises(InputError, match=sentence) as error:
            Page.from_json(json.dumps(GOOD | {key: value}))
        assert "\n" not in str(error.value) and len(str(error.value)) < 400


@pytest.mark.parametrize("text", ["", "[" * 100_000, "{}", "x" * 4_000_001, b"{}"])
def test_text_that_is_no_page_json_is_refused(text):
    with pytest.raises(InputError, match="page"):
        Page.from_json(text)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(METHODS.names()),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
small_pages = st.builds(
    lambda method, case, seed: json.loads(interleave(named(CASES[case]), method, seed=seed, top=4).to_json()),
    st.sampled_from([method.name for method in METHODS if method.slates]),
    st.sampled_from(sorted(CASES)),
    st.integers(0, 20),
)
whole_lists = st.lists(st.integers(-2, 6), min_size=1, max_size=6)
orders = st.lists(st.permutations(range(5)), min_size=2, max_size=4)


@settings(max_examples=100, deadline=None)
@given(
    text=st.text()
    | json_values.map(json.dumps)
    | st.builds(lambda page, share: json.dumps(page)[: int(share * 200)], small_pages, st.floats(0, 1))
    | st.builds(
        lambda page, key, value: json.dumps({**page, key: value}),
        small_pages,
        st.sampled_from(sorted(GOOD)),
        json_values | whole_lists | orders,
    )
    | st.builds(  # valid but impossible: owners and lists that the method never produces
        lambda page, method, data: json.dumps({**page, "method": method, "outcome": "credit", **data}),
        small_pages,
        st.sampled_from(METHODS.names()),
        st.fixed_dictionaries({}, optional={"owners": whole_lists, "numbers": whole_lists.map(lambda x: [*set(x)])}),
    )
)
def test_hostile_text_raises_nothing_but_input_errors(text):
    try:
        page = Page.from_json(text)
    except InputError:
        return
    again = Page.from_json(page.to_json())
    for clicks in patterns(min(len(page.shown), 4)):
        won = page.credit([page.shown[k] for k in clicks])
        assert all(-1 <= outcome <= 1 for outcome in won.values())
        assert again.credit([page.shown[k] for k in clicks]) == won
