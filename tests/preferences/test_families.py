"""Families of matrices by name: each size with each parameter, distinguished by words and facts."""

from __future__ import annotations

import numpy as np
import pytest

from ltr_duel.core.errors import InputError
from ltr_duel.preferences.synthetic import FAMILIES, UTILITY_FAMILIES, logistic_normal, members, strong_neighbours


def test_each_size_with_each_gamma():
    found = list(members("strong_neighbours", size=[4, 6], gamma=[1.0, 1.5]))
    assert [" ".join(words) for words, _, _ in found] == [
        "K=4 gamma=1",
        "K=4 gamma=1.5",
        "K=6 gamma=1",
        "K=6 gamma=1.5",
    ]
    assert found[3][1] == {"size": 6, "gamma": 1.5}
    assert (found[3][2].p == strong_neighbours(6, 1.5).p).all()


def test_more_draws_begin_with_the_same_ones():
    (first, facts, one), (second, _, other) = members("logistic_normal", size=[5], draws=2)
    assert (first, second, facts["draw"]) == (["K=5", "#1"], ["K=5", "#2"], 1)
    assert (one.p == logistic_normal(5, 0).p).all() and (other.p == logistic_normal(5, 1).p).all()
    assert not np.allclose(one.p, other.p)


@pytest.mark.parametrize("given, key", [({"gamma": [1.2]}, "gamma"), ({"draws": 2}, "draws")])
def test_what_a_family_does_not_vary_in_is_refused(given, key):
    with pytest.raises(InputError, match=f"{key}: the family 'equal_gaps' does not have this parameter"):
        list(members("equal_gaps", size=[5], **given))


def test_every_family_has_the_size_asked_for():
    for family in FAMILIES:
        ((_, facts, matrix),) = members(family, size=[6])
        assert len(matrix) == facts["size"] == 6 and matrix.condorcet_winner is not None


def test_families_of_utilities_lie_between_0_and_1():
    for make in UTILITY_FAMILIES.values():
        assert make(9).shape == (9,) and make(9).min() >= 0 and make(9).max() <= 1
