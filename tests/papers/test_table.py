"""The table of a paper: agrees, open, differs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ltr_duel.papers import cell, paper_table, ratio, row
from ltr_duel.preferences import synthetic_preferences
from ltr_duel.preferences.properties.transitivity import cyclic_triples
from tests.papers.tables import reproduced, runs

NEAR = np.linspace(0.98, 1.02, 20)


def fivefold(**facts):
    """Return a table in which SAVAGE has five times as much regret as RUCB."""
    return pd.concat([runs("savage", 500 * NEAR, **facts), runs("rucb", 100 * NEAR, **facts)])


def line(frame, *checks, facts=None, **options):
    """Return the only line of a table."""
    table = paper_table(
        *reproduced(frame, row("R1", "much less regret", "Section 6", *checks, **options), **facts or {})
    )
    return table.iloc[0]


@pytest.mark.parametrize("low, high, verdict", [(4, 6, "agrees"), (5.5, 10, "differs"), (0, 4.5, "differs")])
def test_a_number_agrees_inside_the_range_and_differs_outside(low, high, verdict):
    found = line(fivefold(), ratio("savage", "rucb", low=low, high=high), why="as printed")
    assert (found["verdict"], found["why"], found["data"]) == (verdict, "as printed", "as in the paper")
    assert found["ours (95 %)"].startswith(f"savage / rucb [{low} to {high}]: 5")


def test_a_number_whose_interval_holds_an_end_of_the_range_is_open():
    noisy = pd.concat([runs("savage", 500 * np.linspace(0.5, 1.5, 20)), runs("rucb", 100 * NEAR[::-1])])
    assert line(noisy, ratio("savage", "rucb", low=5))["verdict"] == "open"


@pytest.mark.parametrize("name, verdict", [("arithmetic", "differs"), ("cyclic", "agrees")])
def test_another_matrix_turns_the_verdict_of_a_row(name, verdict):
    """The paper says that preferences are cyclic: three of four rankers in a circle are, equal steps of .02 are not."""
    triples = cyclic_triples(synthetic_preferences(name))
    frame = pd.DataFrame({"item": ["cycles"], "value": triples, "low": triples, "high": triples})
    assert line(frame.assign(source="published matrix"), cell(low=1))["verdict"] == verdict


def test_the_worst_of_several_numbers_is_the_verdict_with_its_count():
    frame = pd.concat([fivefold(problem=name, rankers=size) for name, size in (("a", 16), ("b", 32))])
    found = line(frame, ratio("savage", "rucb", each=["rankers"], low=4), ratio("rucb", "savage", low=1))
    assert found["verdict"] == "differs in 1 of 3"
    assert "16: 5 (5 to 5); 32: 5 (5 to 5); rucb / savage [at least 1]: 0.2" in found["ours (95 %)"]


def test_of_many_panels_those_that_agree_are_summed_up():
    frame = pd.concat([fivefold(problem=f"p{k}") for k in range(9)])
    found = line(frame, ratio("savage", "rucb", each=["problem"], low=4))
    assert found["verdict"] == "agrees" and found["ours (95 %)"].endswith("all 9: 5")


def test_a_number_without_a_range_is_shown_and_decides_nothing():
    found = line(fivefold(), ratio("savage", "rucb", low=4), ratio("rucb", "savage"))
    assert found["verdict"] == "agrees" and "rucb / savage: 0.2" in found["ours (95 %)"]


@pytest.mark.parametrize(
    "frame, facts, options, reason",
    [
        (
            fivefold(source="excerpt"),
            {"note": "36 queries"},
            {},
            "excerpt: does not decide a statement about the paper's",
        ),
        (fivefold(), {"shortened": True}, {}, "shorter or fewer runs than printed"),
        (fivefold().query("repetition < 19"), {}, {}, "only 19 runs"),
        (fivefold(), {}, {"undecided": "gamma is not printed"}, "gamma is not printed"),
        (fivefold().query("policy == 'rucb'"), {}, {}, "no rows with policy savage"),
    ],
)
def test_a_row_is_open_for_a_reason_that_it_names(frame, facts, options, reason):
    found = line(frame, ratio("savage", "rucb", low=4), facts=facts, **options)
    assert found["verdict"] == "open" and reason in found["why"]


def test_any_corpus_decides_a_statement_about_policies():
    frame = fivefold(source="another corpus")
    found = line(frame, ratio("savage", "rucb", low=4), anywhere=True, facts={"note": "MQ2008 stands in"})
    assert (found["verdict"], found["data"]) == ("agrees", "another corpus; MQ2008 stands in")


def test_a_row_without_its_figure_has_no_number():
    figures, _ = reproduced(fivefold(), row("R1", "less", "6", ratio("savage", "rucb"), also=["theirs"]))
    (found,) = paper_table(figures, {}).to_dict("records")
    assert (found["ours (95 %)"], found["verdict"]) == ("—", "open")
    assert found["why"] == "not reproduced: mine, theirs"
