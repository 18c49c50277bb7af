"""Pairs and sets in one figure are distinguishable."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.colors import to_hex

from ltr_duel.papers.figures.times import regret

POLICIES = ["mdb", "multi_self_sparring", "multi_self_sparring:size=10", "rmed1", "rucb", "merge_rucb", "self_sparring"]


def table() -> pd.DataFrame:
    steps = np.array([100, 1000, 10_000])
    parts = [
        pd.DataFrame(
            {"problem": "p", "policy": policy, "horizon": 10_000, "repetition": run, "t": steps}
            | {"regret_average": steps * (place + 1.0 + run)}
        )
        for place, policy in enumerate(POLICIES)
        for run in range(3)
    ]
    return pd.concat(parts, ignore_index=True).assign(source="made by a rule")


def drawn(**options):
    figure = regret(table(), {}, **options)
    return {
        str(line.get_label()): line for line in figure.axes[0].get_lines() if str(line.get_label())[0] != "_"
    }, figure


def test_sets_have_dashes_and_a_word_and_each_variant_a_colour():
    lines, figure = drawn(kinds=True)
    sets = [f"{policy} (sets)" for policy in POLICIES[:3]]
    assert {label: line.get_linestyle() for label, line in lines.items()} == (
        dict.fromkeys(POLICIES[3:], "-") | dict.fromkeys(sets, "--")
    )
    assert len({to_hex(line.get_color()) for line in lines.values()}) == 7
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [*POLICIES[3:], *sets]


def test_other_figures_keep_the_usual_looks():
    lines, _ = drawn()
    assert list(lines) == POLICIES
    assert lines["multi_self_sparring"].get_color() == lines["multi_self_sparring:size=10"].get_color()
