"""Plain lists: page and credit equal the simulation's, pages survive as JSON, and bad input is rejected."""

from __future__ import annotations

import itertools
import json
import math
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ltr_duel.core import InputError
from ltr_duel.interleaving import (
    METHODS,
    Method,
    MethodError,
    Page,
    interleave,
    method_from_functions,
    page_json,
    workspace,
)
from ltr_duel.interleaving.hooks import credit_pair, credit_slate, draw_pair, draw_slate
from tests.interleaving.test_enumeration import opened, patterns

NAMES = METHODS.names()
RULES = [(method.name, rule) for method in METHODS for rule in method.outcomes]
VARIANTS = [*RULES, ("team_draft:prefix_credit=1", ""), ("probabilistic:tau=1", "expectation")]
SLATES = [method.name for method in METHODS if method.slates]
CASES = {
    "same documents": [["a", "b", "c", "d", "e"], ["b", "e", "d", "a", "c"]],
    "common prefix": [["a", "b", "c", "d"], ["a", "b", "d", "c"]],
    "different lengths": [["a", "b", "c", "d", "e"], ["f", "b"]],
    "disjoint": [["a", "b"], ["c", "d", "e"]],
    "one document": [["a"], ["a"]],
    "three rankers": [["a", "b", "c"], ["d", "b"], ["c", "e", "a"]],
    "four rankers": [["a", "b", "c", "d"], ["d", "c", "b", "a"], ["a", "b", "c", "d"], ["b", "a", "d", "c"]],
}


def named(lists):
    return {f"ranker {k}": ids for k, ids in enumerate(lists)}


def able(method, lists):
    kind = METHODS.configure(method).component
    return kind.slates or (kind.pairs and len(lists) == 2)


def completed(lists):
    """The lists, each followed by the documents that it lacks: by their best rank, then by the first list with it."""
    best = {d: min((one.index(d), k) for k, one in enumerate(lists) if d in one) for d in itertools.chain(*lists)}
    return [[*one, *sorted(best.keys() - set(one), key=best.get)] for one in lists]


def numbered(lists):
    """The completed lists as numbers in the order of first occurrence."""
    ids = list(dict.fromkeys(itertools.chain(*lists)))
    return ids, np.array([[ids.index(d) for d in one] for one in completed(lists)], np.int16)


class Simulation:
    """The kernels in the form of the simulation, for the same lists and generator."""

    def __init__(self, lists, method, outcome, top, rng):
        self.ids, orders = numbered(lists)
        self.size = len(lists)
        self.pair = self.size == 2 and METHODS.configure(method).component.pairs
        self.c = c = opened(orders.tolist(), method, top, outcome)
        if self.pair:
            self.length = draw_pair(c.method, c.lists, 0, 0, 1, c.page, rng)
        else:
            self.length = draw_slate(c.method, c.lists, 0, np.arange(self.size), self.size, c.page, rng)

    def shown(self):
        return [self.ids[k] for k in self.c.page.shown[: self.length]]

    def owners(self):
        return [None if k < 0 else f"ranker {k}" for k in self.c.page.owner[: self.length]]

    def credit(self, clicks):
        c, size = self.c, self.size
        c.page.clicks[: len(clicks)] = clicks
        if self.pair:
            outcome = credit_pair(c.method, c.lists, 0, 0, 1, c.page, self.length, len(clicks))
            return {("ranker 0", "ranker 1"): outcome}
        won = np.zeros((size, size), np.int8)
        credit_slate(c.method, c.lists, 0, np.arange(size), size, c.page, self.length, len(clicks), won)
        return {(f"ranker {a}", f"ranker {b}"): won[a, b] for a, b in itertools.combinations(range(size), 2)}


@pytest.mark.parametrize(("method", "rule"), VARIANTS)
def test_list_and_credit_are_those_of_the_simulation(method, rule):
    for lists in CASES.values():
        equals_the_simulation(method, rule, lists)


def equals_the_simulation(method, rule, lists):
    able_rules = METHODS.configure(method).component.outcomes_of(sets=True)
    if not able(method, lists) or (len(lists) > 2 and rule not in ("", *able_rules)):
        with pytest.raises(InputError, match=r"compares two rankers|requires two rankers"):
            interleave(named(lists), method, outcome=rule)
        return
    mine, theirs = np.random.default_rng(5), np.random.default_rng(5)
    pages = [interleave(named(lists), method, outcome=rule, top=4, rng=mine) for _ in range(6)]
    for page in pages:  # all are drawn before the first is credited
        simulated = Simulation(lists, method, rule, 4, theirs)
        assert list(page.shown) == simulated.shown()
        assert list(page.owners) == simulated.owners()
        for clicks in patterns(len(page.shown)):
            won = page.credit([page.shown[k] for k in clicks])
            assert won == pytest.approx(simulated.credit(clicks), abs=1e-12)  # a page may have more documents
    assert mine.random() == theirs.random(), "both drew as many numbers"


@pytest.mark.parametrize("method", [method.name for method in METHODS if method.compiled])
def test_long_pages_credit_as_the_simulation_does_whatever_the_order_of_the_clicks(method):
    order = np.random.default_rng(1).permutation(30).tolist()
    lists = [list(range(30)), order]
    mine, theirs = np.random.default_rng(2), np.random.default_rng(2)
    top = 16 if method == "optimized" else 24
    page, simulated = interleave(named(lists), method, top=top, rng=mine), Simulation(lists, method, "", top, theirs)
    assert list(page.shown) == simulated.shown()
    for _ in range(60):
        places = mine.permutation(top)[: mine.integers(1, top)]
        won = page.credit([page.shown[k] for k in places])
        assert won == pytest.approx(simulated.credit(sorted(places)), abs=1e-12)


@pytest.mark.parametrize(
    ("lists", "orders"),
    [
        (["abcde", "x"], ["abcdex", "xabcde"]),
        (["abc", "cxyb"], ["abcxy", "cxyba"]),
        (["a", "pq", "rbq"], ["aprqb", "pqarb", "rbqap"]),  # ranks 1: a, p, r; ranks 2: q, b
    ],
)
def test_documents_that_a_ranker_lacks_follow_in_the_order_of_the_others(lists, orders):
    page = interleave({one: list(one) for one in lists}, seed=1, top=9)
    ids = list(dict.fromkeys("".join(lists)))
    assert ["".join(ids[k] for k in order) for order in page.orders] == orders


def test_a_page_after_the_end_of_a_short_list_keeps_the_order_of_the_long_one():
    long = [f"a{k}" for k in range(10)]
    for seed in range(50):
        page = interleave({"long": long, "short": ["b0"]}, seed=seed)
        assert [d for d in page.shown if d != "b0"] == long[:9] and "b0" in page.shown[:2]


def test_a_page_credits_the_same_in_another_process():
    pages = []
    for (method, rule), lists in itertools.product(RULES, CASES.values()):
        if able(method, lists) and (len(lists) == 2 or rule in METHODS[method].outcomes_of(sets=True)):
            pages.append(interleave(named(lists), method, outcome=rule, top=4, seed=len(pages)))
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
        assert json.loads(line) == json.loads(json.dumps([sorted(page.credit(one).items()) for one in subsets]))
        again = Page.from_json(page.to_json())
        assert (again.shown, again.owners, again.rankers) == (page.shown, page.owners, page.rankers)
        assert again.to_json() == page.to_json() and page.to_json().isascii()


@pytest.mark.parametrize("method", NAMES)
def test_the_same_seed_gives_the_same_page_in_any_thread_and_other_seeds_others(method):
    lists = named(CASES["same documents"])

    def shown(seed):
        return interleave(lists, method, seed=seed, top=3).shown

    alone = [shown(seed) for seed in range(40)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(shown, range(40))) == alone
    assert len(set(alone)) > 1


def test_without_a_seed_pages_differ_and_a_forked_process_has_its_own_randomness(monkeypatch):
    lists = {"one": list(range(30)), "other": list(range(30))[::-1]}
    assert len({interleave(lists).shown for _ in range(20)}) > 10
    before = workspace.fresh_rng()
    assert workspace.fresh_rng() is before
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert workspace.fresh_rng() is not before


# ------------------------------------------------------------------- ids, clicks, methods


def test_ids_of_any_kind_in_memory():
    ids = [("a", 1), None, frozenset({2}), b"x", Fraction(1, 3), "ü", 7, 2.5]
    page = interleave({"one": ids, "other": ids[::-1]}, top=8, seed=0)
    assert set(page.shown) == set(ids)
    assert page.credit([None, ("a", 1)]).keys() == {("one", "other")}
    with pytest.raises(InputError, match="neither a string nor a finite number"):
        page.to_json()


def test_equal_keys_are_one_document():
    page = interleave({"one": [1, "1"], "other": [True, 1.5]}, seed=0, top=10)
    assert sorted(map(str, page.shown)) == ["1", "1", "1.5"], "1 and True are one document, '1' another"
    assert page.credit([1.0]) == page.credit([True]) == page.credit([1])
    with pytest.raises(InputError, match=r"document True appears twice on the list of ranker 'one'"):
        interleave({"one": [1, True], "other": [2]})


@pytest.mark.parametrize("ids", [["ü", "\ud800", "</script>"], [1, -(10**20), 2.5], np.arange(3), np.array(["x", "y"])])
def test_texts_and_numbers_survive_as_json(ids):
    page = interleave({"one": ids, "other": ids[::-1]}, seed=0)
    again = Page.from_json(page.to_json())
    assert again.shown == page.shown
    assert again.credit(page.shown[:1]) == page.credit(page.shown[:1])


def test_clicks_in_any_order_and_twice_count_once():
    page = interleave(named(CASES["three rankers"]), "sosm", seed=4)
    one, two = page.shown[0], page.shown[2]
    assert page.credit([one, two]) == page.credit([two, one, two]) == page.credit(iter({two, one}))
    assert set(page.credit([]).values()) == {0.0} and len(page.credit([])) == 3


@pytest.mark.parametrize("clicks", [["z"], ["a", "e"], [["a"]], [float("nan")], "ab", [None]])
def test_clicks_on_what_is_not_shown_are_refused(clicks):
    page = interleave({"one": ["a", "b"], "other": ["b", "a"]}, seed=0)
    with pytest.raises(InputError, match=r"not on the page|a list of document ids"):
        page.credit(clicks)


def test_a_method_of_ones_own_works_in_memory_and_cannot_be_text():
    mine = method_from_functions(
        "first", lambda orders, top, rng: orders[0][:top], lambda orders, shown, clicks: [len(clicks), 0]
    )
    page = interleave({"one": ["a", "b"], "other": ["c"]}, mine, seed=0, top=2)
    assert page.shown == ("a", "b") and page.credit(["b"]) == {("one", "other"): 1.0}
    with pytest.raises(InputError, match="'first' is not registered"):
        page.to_json()
    page = interleave({"one": ["a", "b"], "other": ["c"]}, METHODS["team_draft"], seed=0)
    assert page.method == "team_draft" and Page.from_json(page.to_json()).method == "team_draft"


def test_a_method_that_is_registered_anew_under_its_name_replaces_the_old_one():
    def credit(orders, shown, clicks):
        return [1, 0]

    shown = []
    for k in range(2):
        METHODS.add(method_from_functions("again", lambda orders, top, rng, k=k: orders[k][:top], credit))
        shown.append(interleave(TWO, "again", top=1).shown)
        METHODS.remove("again")
    assert shown == [("a",), ("b",)]
    with pytest.raises(InputError, match="no comparison method 'again'"):
        interleave(TWO, "again", top=1)


class _State(NamedTuple):
    """State of a method that cannot be compiled."""

    top: int


def test_a_plugin_that_cannot_be_compiled_is_named():
    def draw_pair(state, lists, query, first, second, page, rng):
        return undefined_name  # noqa: F821  # that is the mistake

    def credit_pair(state, lists, query, first, second, page, length, n_clicks):
        return 0.0

    broken = Method(
        name="broken",
        state=_State,
        init=lambda size, params, outcome: _State(size.top),
        draw_pair=draw_pair,
        credit_pair=credit_pair,
    )
    with pytest.raises(MethodError, match=r"method 'broken': .*undefined_name"):
        interleave(TWO, broken)


def test_what_the_docs_say_about_plain_lists_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    documents = [f"d{k}" for k in range(8)]
    for name, order in (("old", documents), ("new", documents[3:])):  # d4 and d5 are relevant: new ranks them higher
        lines = [f"{q} Q0 {d} {k} {9 - k} {name}\n" for q in ("q1", "q2") for k, d in enumerate(order)]
        (tmp_path / f"{name}.run").write_text("".join(lines))
    (tmp_path / "qrels.txt").write_text("q1 0 d4 2\nq2 0 d5 1\nq2 0 d1 0\n")
    text = (Path(__file__).resolve().parents[2] / "docs" / "methods.md").read_text(encoding="utf-8")
    section = text.partition("\n## Plain lists\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"```python\n(.*?)```", section, re.S)
    assert len(blocks) == 3
    names: dict = {}
    for block in blocks:
        exec(compile(block, "docs/methods.md", "exec"), names)
    assert names["outcome"]["bm25", "dense"] in (-1.0, 0.0, 1.0)
    wins = names["wins"]
    assert sum(wins.values()) == 200 and wins[-1] > wins[1]
    assert "old won" in capsys.readouterr().out


TWO = {"one": ["a"], "other": ["b"]}


@pytest.mark.parametrize(
    ("rankings", "options", "sentence"),
    [
        ({"one": ["a"], "other": []}, {}, "the list of ranker 'other' is empty"),
        ({"one": ["a", "b", "a"], "other": ["a"]}, {}, "document 'a' appears twice on the list of ranker 'one'"),
        ({"one": ["a"]}, {}, "requires from 2 to 200 rankers, not 1"),
        ({str(k): ["a"] for k in range(201)}, {}, "requires from 2 to 200 rankers, not 201"),
        ({"one": ["a"], "other": [["b"]]}, {}, "ranker 'other' has an id that cannot be a key"),
        ({"one": ["a"], "other": [math.nan]}, {}, "nan cannot be a document id, because it does not equal itself"),
        ({"one": "abc", "other": ["a"]}, {}, "ranker 'one' must be a list, not str"),
        ({1: ["a"], 2: ["b"]}, {}, "the name of a ranker must be a string, not 1"),
        ([["a"], ["b"]], {}, "a mapping of names to lists, not list"),
        ({"one": range(6000), "other": range(6000, 12_000)}, {}, "12,000 documents are too many"),
        (TWO, {"method": "team_drat"}, "no comparison method 'team_drat'; did you mean 'team_draft'?"),
        (TWO, {"method": ["team_draft"]}, "a method must be a name or a Method, not list"),
        (TWO, {"outcome": "sampled"}, "no outcome rule of team_draft called 'sampled'"),
        (TWO | {"third": ["c"]}, {"method": "balanced"}, "'balanced' compares two rankers, not 3; use one of: "),
        (
            TWO | {"third": ["c"]},
            {"method": "probabilistic", "outcome": "expectation"},
            "'expectation' requires two rankers",
        ),
        (TWO, {"top": 0}, "between 1 and 1,000, not 0"),
        (TWO, {"top": 2.5}, "between 1 and 1,000, not 2.5"),
        (TWO, {"seed": 1, "rng": np.random.default_rng()}, "pass either a seed or a numpy.random.Generator"),
        ({"one": range(99), "other": range(99, 198)}, {"method": "optimized", "top": 50}, "show at most 16 documents"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(rankings, options, sentence):
    with pytest.raises(InputError) as error:
        interleave(rankings, **options)
    assert sentence in str(error.value) and "\n" not in str(error.value)


# ------------------------------------------------------------------- hostile JSON

GOOD = interleave(
    {"one": ["a", "b", 3], "other": ["c", "a"]}, "probabilistic", outcome="marginal_sign", seed=0
).to_json()


def changed(**values):
    return json.dumps({**json.loads(GOOD), **values})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "not valid JSON"),
        (GOOD[:-1], "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ("{}", "was not written by Page.to_json"),
        ("x" * 4_000_001, "at most 4,000,000 are allowed"),
        (b"{}", "a page must be a string, not bytes"),
        (changed(version=2), "only version 1 can be read"),
        (changed(extra=1), "the keys differ from"),
        (changed(method="os.system"), "no comparison method 'os.system'"),
        (changed(method="team_draft"), "no outcome rule of team_draft"),
        (changed(method="optimized:" + "x" * 300), "at most 200 characters"),
        (changed(outcome="marginal_bernoulli"), "stores 1 numbers in 'kept'"),
        (changed(rankers=["one", "one"]), "with different names"),
        (changed(shown=["a", "a", 3, "c"]), "no document may be shown twice"),
        (changed(shown=[math.nan, "b", 3, "c"]), "strings or finite numbers"),
        (changed(shown=[]), "a list of 1 to 1,000 documents"),
        (changed(numbers=[0, 1, 2, 4]), "must be from 0 to 3"),
        (changed(owners=[0, 1, 2, 0]), "'owners' from -1 to 1"),
        (changed(orders=[[0, 1, 2, 3]]), "one order for each ranker"),
        (changed(orders=[[0, 1, 2, 3], [0, 1, 2, 2]]), "each number from 0 to 3 once"),
        (changed(orders=[list(range(20_000))] * 2), "1 to 10,000 documents"),
    ],
)
def test_a_forged_page_is_refused_in_one_sentence(text, sentence):
    with pytest.raises(InputError) as error:
        Page.from_json(text)
    assert sentence in str(error.value) and "\n" not in str(error.value) and len(str(error.value)) < 400


def test_a_page_too_large_to_be_read_is_not_written():
    page = interleave({"one": ["a" * page_json.LONGEST_TEXT], "other": ["b"]}, seed=0)
    with pytest.raises(InputError, match="too large for JSON"):
        page.to_json()


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(NAMES),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
small_pages = st.builds(
    lambda method, case, seed: interleave(named(CASES[case]), method, seed=seed, top=4).to_json(),
    st.sampled_from(SLATES),
    st.sampled_from(sorted(CASES)),
    st.integers(0, 20),
)
keys = st.sampled_from(page_json.Stored._fields)
whole_lists = st.lists(st.integers(-2, 6), min_size=1, max_size=6)


@settings(max_examples=300, deadline=None)
@given(
    text=st.text()
    | values.map(json.dumps)
    | st.builds(lambda page, share: page[: int(share * len(page))], small_pages, st.floats(0, 0.999))
    | st.builds(
        lambda page, key, value: json.dumps({**json.loads(page), key: value}),
        small_pages,
        keys,
        values | whole_lists | st.lists(st.permutations(range(5)), min_size=2, max_size=4),
    )
    | st.builds(  # valid but impossible: owners and lists that the method never produces
        lambda page, method, data: json.dumps({**json.loads(page), "method": method, "outcome": "credit", **data}),
        small_pages,
        st.sampled_from(NAMES),
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
