"""The benchmarks measure public calls by name, and every printed number is a measurement."""

from __future__ import annotations

import re
import tomllib

import numpy as np
import pytest

from benchmarks.__main__ import every, wanted
from benchmarks.page import BLOCKS, PAGES, bandits, outdated, renewed
from benchmarks.peers import of_comparison, of_policy, sentences
from benchmarks.record import ROOT, read, write
from benchmarks.row import Cost, Row, measured
from benchmarks.surrogates import SHAPES, write_surrogate
from ltr_duel.bandits import POLICIES
from ltr_duel.data import load_dataset
from ltr_duel.rankers import constant_features

SOME = {
    f"bandits:rucb-64-{horizon}": {
        "subject": "bandits",
        "name": f"rucb-64-{horizon}",
        "call": "simulate(...)",
        "unit": "steps",
        "policy": "rucb",
        "K": 64,
        "T": int(float(horizon)),
        "matrix": "published",
        "rate": rate,
        "cpu": 0.016,
        "wall": 0.017,
        "peak": 239.4,
        "machine": "a machine",
        "date": "2026-11-22",
        "python": "3",
        "numpy": "2",
        "numba": "1",
        "version": "0",
        "git": "abc",
    }
    for horizon, rate in (("1e5", 6.27e6), ("1e6", 7.1e6))
}


@pytest.fixture(scope="module")
def rows():
    return every()


def test_every_page_says_what_was_measured():
    assert list(outdated(read())) == []
    for path in PAGES:
        assert re.findall(r"<!-- measured: ([\w -]+) -->", path.read_text())
    asked = {name for path in PAGES for name in re.findall(r"<!-- measured: ([\w -]+) -->", path.read_text())}
    assert asked == set(BLOCKS)


def test_rows_are_chosen_by_name(rows):
    def chosen(*names, quick=False):
        return [f"{subject}:{row.name}" for subject, row in rows if wanted(subject, row, list(names), quick=quick)]

    assert set(chosen("lists:sosm")) == {"lists:sosm-pages", "lists:sosm-credits"}
    assert chosen("store:run-10000") == ["store:run-10000"]
    assert "matrices:519-4000" in chosen("matrices:519-4000") and "matrices:519-4000" not in chosen("matrices")
    assert 0 < len(chosen(quick=True)) < 20 and set(chosen(quick=True)) < set(chosen())
    assert chosen("no:such") == [] == chosen("lists:no such")
    full, tenth = chosen("full:yahoo1"), chosen("full:yahoo1", quick=True)
    assert "full:yahoo1-matrix-second" in full and "full:yahoo1-tenth-matrix-second" in tenth
    assert set(full) < set(chosen("full")) and set(tenth) < set(chosen("full", quick=True))
    assert len(full) == len(tenth) and set(full).isdisjoint(tenth) and set(full + tenth).isdisjoint(chosen())
    assert set(chosen("usual", "growth:-10000")) - set(chosen()) == set(chosen("growth:-10000")) != set()


def test_what_was_done_elsewhere_is_of_rows_that_exist(rows):
    peers = tomllib.loads((ROOT / "benchmarks" / "peers.toml").read_text())
    assert peers["bandits"].keys() <= set(POLICIES.names())
    assert peers["comparisons"].keys() <= {row.name for subject, row in rows if subject == "comparisons"}
    assert all(setup["date"] and setup["text"] for setup in peers["setups"].values())
    peer = of_policy("rucb", 64)
    assert peer is not None and peer.rate == 30e3 and "2026-11-21" in sentences([peer])[0]
    assert of_policy("random", 64) is None and of_comparison("sosm-10-100").rate == 3900


def test_a_table_has_the_figures_of_its_rows(tmp_path):
    write(SOME, tmp_path / "results.json")
    found = read(tmp_path / "results.json")
    assert found == SOME
    (line,) = [line for line in bandits(found, 64).splitlines() if line.startswith("| `rucb`")]
    assert line == ("| `rucb` | 6.27 M | 16 ms | 239 | 7.1 M | 16 ms | 239 | 30 k (a) | duelingbanditlib, C++ |")
    page = "before\n<!-- measured: bandits 64 -->\nold\n<!-- end of measured -->\nafter\n"
    assert line in renewed(page, found) and "old" not in renewed(page, found)
    assert "Not measured" in bandits({}, 64)


@pytest.mark.parametrize("name", SHAPES)
def test_a_surrogate_has_the_shape_of_its_corpus_and_many_zeros(tmp_path, name):
    corpus = load_dataset(write_surrogate(name, tmp_path / "a.txt", 0.002))
    shape = SHAPES[name].part(0.002)
    assert (corpus.n_queries, corpus.n_docs, corpus.n_features) == shape[:3] and corpus.grades == 5
    assert 0.2 < np.mean(corpus.features == 0) < 0.8
    constant = constant_features(corpus)
    if name == "yahoo1":
        assert corpus.features.min() == 0 and 0.99 < corpus.features.max() <= 1
    else:
        assert 5 <= len(constant) <= 10
        assert np.mean(corpus.features == np.round(corpus.features)) > 0.4
    better = np.corrcoef(corpus.features[:, 0], corpus.relevance)[0, 1]
    assert better > 0.05


def test_the_best_of_several_tries_counts_and_a_call_may_say_itself_what_it_took():
    costs = [Cost(0.3, 0.3, 10.0), Cost(0.1, 0.2, 12.0), Cost(0.2, 0.1, 11.0, more={"files": 4})]
    row = Row("a", "a()", 100, "steps", lambda: iter(costs).__next__)
    found = measured(row)
    assert found["rate"] == 1000 and found["peak"] == 12.0 and found["files"] == 4
    assert measured(row._replace(clock="wall"))["rate"] == 1000
    once = [Cost(5.0, 5.0, 10.0, amount=7)]
    assert measured(Row("b", "b()", 1, "MB", lambda: iter(once).__next__))["rate"] == pytest.approx(7 / 5)
