"""Lines of a figure are distinguishable for colour-blind readers, and in black-and-white print."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from ltr_duel.analysis.style import _POLICIES, COLOURS, DASHES, PATTERNS, Look, look_of, looks_of, method_look
from ltr_duel.bandits import POLICIES
from ltr_duel.interleaving import METHODS

# Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color Vision Deficiency", IEEE TVCG
# 2009: severity 1, of linear RGB. Grey: luminance.
SEEN_BY = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
    "a grey print": [[0.2126, 0.7152, 0.0722]] * 3,
}
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]]
)
TOLD_APART = 12.0  # distance in CIELAB; 2.3 is just noticeable side by side, thin lines need far more


def as_seen(colour: str, eye: str) -> np.ndarray:
    """Return a colour in CIELAB as perceived by this kind of eye."""
    share = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    xyz = TO_XYZ @ np.clip(np.array(SEEN_BY[eye]) @ linear, 0, 1) / [0.95047, 1, 1.08883]
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def alike(looks: dict[str, Look], eye: str) -> list[tuple[str, str]]:
    """Return the pairs of lines that this kind of eye cannot distinguish by colour, dashes, or markers."""
    return [
        (one, other)
        for one, other in combinations(looks, 2)
        if (looks[one].linestyle, looks[one].marker) == (looks[other].linestyle, looks[other].marker)
        and np.linalg.norm(as_seen(looks[one].color, eye) - as_seen(looks[other].color, eye)) < TOLD_APART
    ]


def test_the_distance_is_the_usual_one_and_red_is_green_to_some():
    black, white = as_seen("#000000", "a grey print"), as_seen("#ffffff", "a grey print")
    assert np.linalg.norm(white - black) == pytest.approx(100, abs=0.1)
    assert alike({"red": Look("#a05000", "-"), "green": Look("#647000", "-")}, "deuteranopia") == [("red", "green")]


@pytest.mark.parametrize("eye", SEEN_BY)
def test_policies_that_meet_in_a_figure_can_be_told_apart(eye):
    row = len(COLOURS)
    for first in range(0, len(_POLICIES), row):
        assert alike({name: look_of(name) for name in _POLICIES[first : first + row] if name}, eye) == []


@pytest.mark.parametrize("eye", [eye for eye in SEEN_BY if eye != "a grey print"])
def test_all_policies_and_all_methods_can_be_told_apart_where_there_is_colour(eye):
    assert alike({name: look_of(name) for name in POLICIES.names()}, eye) == []
    assert alike({name: method_look(name) for name in METHODS.names()}, eye) == []


def test_methods_and_the_first_lines_of_other_figures_can_be_told_apart_in_a_grey_print():
    assert alike({name: method_look(name) for name in METHODS.names()}, "a grey print") == []
    first = {str(place): Look(COLOURS[place], DASHES[place % len(DASHES)]) for place in range(len(COLOURS))}
    assert alike(first, "a grey print") == []


@pytest.mark.parametrize("count", [6, len(PATTERNS), 34])
def test_policies_of_one_figure_differ_without_any_colour(count):
    """Any policies differ by dashes alone while there are enough dashes, then by dashes and markers."""
    names = sorted(POLICIES.names())
    for first in range(0, len(names), 3):
        looks = looks_of((names + names)[first : first + count])
        assert len(looks) == min(count, len(names))
        assert len({(look.linestyle, look.marker) for look in looks.values()}) == len(looks)
        assert count > len(PATTERNS) or len({look.linestyle for look in looks.values()}) == len(looks)


@pytest.mark.parametrize("mine", [f"mine{number}" for number in range(12)])
def test_a_policy_of_a_plug_in_differs_from_all_others_without_any_colour(mine):
    looks = looks_of([mine, *filter(None, _POLICIES)])
    assert len({(look.linestyle, look.marker) for look in looks.values()}) == len(looks)


def test_variants_of_a_policy_share_its_dashes_and_differ_in_markers():
    looks = looks_of(["rucb", "winner_stays_strong", "rucb:alpha=0.6"])
    assert looks["rucb"].linestyle == looks["rucb:alpha=0.6"].linestyle != looks["winner_stays_strong"].linestyle
    assert looks["rucb"].marker != looks["rucb:alpha=0.6"].marker
