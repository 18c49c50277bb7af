"""Lines of a figure are distinguishable for colour-blind readers, and in black-and-white print."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from ltr_duel.analysis.style import COLOURS, LineStyle, line_styles

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


def alike(styles: dict[str, LineStyle], eye: str) -> list[tuple[str, str]]:
    """Return the pairs of lines that this kind of eye cannot distinguish by colour, dashes, or markers."""
    return [
        (one, other)
        for one, other in combinations(styles, 2)
        if (styles[one].linestyle, styles[one].marker) == (styles[other].linestyle, styles[other].marker)
        and np.linalg.norm(as_seen(styles[one].color, eye) - as_seen(styles[other].color, eye)) < TOLD_APART
    ]


def test_the_distance_is_the_usual_one_and_red_is_green_to_some():
    black, white = as_seen("#000000", "a grey print"), as_seen("#ffffff", "a grey print")
    assert np.linalg.norm(white - black) == pytest.approx(100, abs=0.1)
    assert alike({"red": LineStyle("#a05000", "-"), "green": LineStyle("#647000", "-")}, "deuteranopia") == [
        ("red", "green")
    ]


@pytest.mark.parametrize("eye", SEEN_BY)
def test_lines_differ_for_every_eye(eye):
    eight = line_styles([f"policy {k}" for k in range(8)])
    assert {style.color for style in eight.values()} == set(COLOURS) and alike(eight, eye) == []
    assert alike(line_styles([f"policy {k}" for k in range(40)]), eye) == []


def test_a_policy_keeps_its_colour_where_all_policies_of_the_study_are_given():
    study = ["mdb", "rucb", "rmed1"]
    assert line_styles([*study, "rucb"]) == line_styles(study)
    assert line_styles(study)["rucb"] != line_styles(["rucb"])["rucb"]


def test_variants_of_a_policy_share_its_colour_and_dashes_and_differ_in_markers():
    styles = line_styles(["rucb", "winner_stays_strong", "rucb:alpha=0.6", "rucb:alpha=0.7"])
    variants = [style for label, style in styles.items() if label.startswith("rucb")]
    assert len({(style.color, style.linestyle) for style in variants}) == 1 < len({one.marker for one in variants}) == 3
    assert styles["winner_stays_strong"].color != variants[0].color
