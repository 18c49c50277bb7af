"""The display of an object in a notebook agrees with its repr, is small, and is a table for any names."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from ltr_duel.core.notebook import notebook_html
from ltr_duel.data import make_corpus
from ltr_duel.interleaving import interleave
from ltr_duel.preferences import PreferenceMatrix
from ltr_duel.rankers import feature_rankers
from ltr_duel.simulation import Results, RunKey, RunResult
from tests.conftest import bradley_terry

HOSTILE = ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "&lt;b&gt;", "a" * 5000)
CORPUS = make_corpus(queries=8, documents=4, features=3, dead=0, constant=0)


class Shown(HTMLParser):
    """The texts and the tags of a piece of HTML."""

    def __init__(self, shown):
        super().__init__()
        self.sentences, self.rows, self.tags, self._open = [], [], set(), []
        self.feed(shown._repr_html_() if hasattr(shown, "_repr_html_") else shown)
        self.close()
        assert not self._open, "everything that is opened is closed"

    def handle_starttag(self, tag, attrs):
        assert not attrs, "no styles, no links, no scripts"
        self.tags.add(tag)
        self._open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
        elif tag == "p":
            self.sentences.append("")

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if self._open[-1] == "p":
            self.sentences[-1] += data
        else:
            self.rows[-1][-1] += data


def a_run(policy, repetition, pulls):
    pulls = np.array(pulls)
    key = RunKey({"oracle": "toy"}, policy, {}, 100, repetition, seed=0)
    return RunResult(
        key, policy, np.array([10, 100]), pulls, pulls / 2, pulls.argmax(axis=1), 100, pulls, pulls, np.zeros(2, int)
    )


def results(names=("a", "b", "c"), policy="rucb"):
    runs = [a_run(policy, k, [[10, 5, 5], [150 + k, 40 - k, 10]]) for k in range(2)]
    return Results(runs, PreferenceMatrix(bradley_terry(3).p, names))


def test_a_matrix_shows_the_best_in_the_order_of_their_wins():
    matrix = PreferenceMatrix(bradley_terry(3).p, ("a", "b", "c"))[["c", "a", "b"]]
    shown = Shown(matrix)
    assert shown.sentences == ["Preferences of 3 rankers, Condorcet winner: a"]
    assert shown.rows[0] == ["", "a", "b", "c"] and shown.rows[1][0] == "a" and shown.rows[1][1] == "0.500"
    assert shown.rows[1][3] == f"{matrix.p[1, 0]:.3f}"


def test_results_show_the_means_of_each_policy():
    made = results()
    shown, final = Shown(made), made.final().iloc[0]
    assert shown.sentences[0] == repr(made).strip("<>") == "Results: 2 runs of 1 policy, 3 rankers, up to 100 steps"
    assert shown.rows[1] == ["rucb", f"{final['regret_average']:.4g}", f"{final['regret_copeland']:.4g}", "1", "10"]
    assert Shown(Results([], bradley_terry(3))).rows == []


def test_advice_shows_its_sentences_and_candidates(advice):
    shown = Shown(advice)
    assert shown.sentences == advice.lines()
    assert shown.rows == [list(advice.table().columns), *advice.table().to_numpy().tolist()]


def all_with(names) -> dict[str, object]:
    """Return one object of each kind, with the given names of rankers, documents and policies."""
    rankings = feature_rankers(replace(make_corpus(queries=4, features=4, dead=0, constant=0), name=names[0]))
    return {
        "Dataset": replace(CORPUS, name=names[0]),
        "Rankings": replace(rankings, names=names),
        "PreferenceMatrix": PreferenceMatrix(bradley_terry(4).p, names),
        "Results": results(names[:3], names[0]),
        "Page": interleave({names[0]: list(names[:2]), names[1]: list(names[2:])}, seed=1),
    }


@pytest.mark.parametrize("kind", ["Dataset", "Rankings", "PreferenceMatrix", "Results", "Page"])
def test_hostile_names_are_text_and_long_ones_are_cut(kind):
    made = all_with(HOSTILE)[kind]
    shown = Shown(made)
    assert shown.tags <= {"div", "p", "table", "thead", "tbody", "tr", "th", "td"}
    everything = " ".join([*shown.sentences, *(cell for row in shown.rows for cell in row)])
    assert "<script>" in everything, "it is shown as what it is"
    assert max(len(cell) for row in shown.rows for cell in row) <= 80 and len(made._repr_html_()) < 5000


def test_numbers_are_short_and_missing_ones_a_dash():
    cells = ("x", 1234567, 1234567.8, 0.000012345, float("nan"), None, float("inf"), np.int64(2000))
    assert Shown(notebook_html([], "abcdefgh", [cells])).rows[1] == [
        "x", "1,234,567", "1,234,568", "1.234e-05", "–", "–", "∞", "2,000",
    ]  # fmt: skip
