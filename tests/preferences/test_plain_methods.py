"""A comparison method in plain Python is estimated with the reductions that suit it."""

from __future__ import annotations

import pytest

from ltr_duel.core import plugins
from ltr_duel.data import make_corpus
from ltr_duel.interleaving import METHODS
from ltr_duel.preferences import estimate_preferences
from ltr_duel.rankers import feature_rankers

METHOD = """
from ltr_duel.interleaving import register

def draw(orders, top, rng):
    shown = orders[rng.integers(len(orders))][:top]
    return shown, [-1] * len(shown)

def credit(orders, shown, clicks, owners):
    return [sum(1 / (order.index(shown[k]) + 1) for k in clicks) for order in orders]

register(__name__, shows="the list of one ranker", wins="the sum of inverse ranks")
"""


@pytest.fixture
def method(tmp_path):
    path = tmp_path / "one_list.py"
    path.write_text(METHOD)
    plugins.load_plugin(path)
    yield "one_list"
    METHODS.remove("one_list")


def test_users_of_a_plain_method_are_drawn(method):
    rankings = feature_rankers(make_corpus(queries=4, documents=6, features=2))
    matrix = estimate_preferences(rankings, method=method, comparisons=20)
    assert matrix.provenance["variance_reduction"] == ["control", "stratified"]
