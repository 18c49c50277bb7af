"""Every default of every policy, comparison method and click model, with its source.

The table is written from the sources, not from the code. A row states that a source names no value, or that the module
departs from the source. A star marks papers whose value is known from programs and papers that quote it. After a
changed default or a new component, the test fails until the row is correct.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from ltr_duel.bandits import POLICIES
from ltr_duel.clicks import CLICK_MODELS
from ltr_duel.interleaving import METHODS


class Row(NamedTuple):
    """A default and its source."""

    component: str
    parameter: str
    value: float | str | bool
    source: str


POLICY_DEFAULTS = [
    Row("balanced_doubler", "gap", 0.1, "none: Delta is what an oracle knows of the problem, any number is an example"),
    Row("balanced_doubler", "alpha", 0.25, "Wolfenfeld's program, balanced_doubler.py; the text leaves alpha open"),
    Row("beat_the_mean", "gamma", 1.0, "Yue and Joachims 2011, Section 5, equation (9): the interval for gamma = 1"),
    Row("beat_the_mean_pac", "gamma", 1.0, "as beat_the_mean"),
    Row("beat_the_mean_pac", "epsilon", 0.1, "none: what the user asks for, Definition 1"),
    Row("beat_the_mean_pac", "delta", 0.1, "none: what the user asks for, Definition 1"),
    Row("ccb", "alpha", 0.51, "Zoghi et al. 2015*: alpha > 1/2; Wu and Liu's program, Alg_CCB.cpp: 0.51"),
    Row("double_thompson", "alpha", 0.51, "Wu and Liu 2016*; their program (ucb_scale_factor = 0.51)"),
    Row("doubler", "alpha", 0.5, "Wolfenfeld's program, ucb1.py: sqrt(0.5 ln N / n)"),
    Row("ecw_rmed", "alpha", 3.0, "Komiyama et al. 2016*; Wu and Liu's program (ecwrmed_alpha = 3.0)"),
    Row("ecw_rmed", "beta", 0.01, "Komiyama et al. 2016*; Wu and Liu's program (ecwrmed_beta = 0.01)"),
    Row("exp3_sparring", "settle", 10_000, "Li et al.'s program of MergeDTS, sparring_exp3.py: max(t, 1e4)"),
    Row("improved_doubler", "alpha", 0.5, "Wolfenfeld's program, ucb1.py: sqrt(0.5 ln N / n)"),
    Row("interleaved_filter", "prune", True, "Yue et al. 2012*: Interleaved Filter 2, the algorithm of the theorem"),
    Row("interleaved_filter", "radius_scale", 1.0, "Yue and Joachims 2011, footnote 7: IF's interval equals (9)"),
    Row("mdb", "alpha", 0.5, "Brost et al. 2016, Section 4.1.1: grid search"),
    Row("mdb", "beta", 1.5, "Brost et al. 2016, Section 4.1.1: grid search"),
    Row("merge_dts", "alpha", 0.8**6, "Li et al. 2020*, tuned; their program, demo.py, MergeDTSBest"),
    Row("merge_dts", "batch", 16, "Li et al. 2020*, tuned; their program, demo.py, MergeDTSBest"),
    Row("merge_dts", "head_start", 400_000.0, "Li et al. 2020*, tuned; their program, demo.py, MergeDTSBest"),
    Row("merge_rucb", "alpha", 1.01, "Brost et al. 2016, Section 4.1.1"),
    Row("merge_rucb", "batch", 4, "Zoghi et al. 2015 (MergeRUCB)*: p = 4; Li et al.'s program, merge_rucb.py"),
    Row("merge_rucb", "delta", 0.01, "Lerot, mergeRUCBSampler.py; the paper leaves delta open"),
    Row("multi_self_sparring", "size", 5, "none: Sui et al. 2017* leave the size of the slate to the application"),
    Row(
        "multisbm",
        "alpha",
        3.0,
        "Ailon et al. 2014*: max(3, 2 + ln K / ln ln T); here it stands before ln N / n, see the page",
    ),
    Row("rcs", "alpha", 0.51, "Wu and Liu's program (ucb_scale_factor); Lerot and Wolfenfeld's program take 0.5"),
    Row("rmed1", "scale", 0.3, "Komiyama et al. 2015*: f(K) = 0.3 K^1.01, quoted by Brost et al. 2016, Section 4.1.1"),
    Row("rmed1", "power", 1.01, "Komiyama et al. 2015*: f(K) = 0.3 K^1.01, quoted by Brost et al. 2016, Section 4.1.1"),
    Row("rmed2", "alpha", 3.0, "Komiyama et al. 2015*; their program, policy_rmed.hpp: alpha1 = 3.0"),
    Row("rmed2", "scale", 0.3, "as rmed1"),
    Row("rmed2", "power", 1.01, "as rmed1"),
    Row("rmed2fh", "alpha", 3.0, "Komiyama et al. 2015*; their program, policy_rmed.hpp: alpha1 = 3.0"),
    Row("rmed2fh", "scale", 0.3, "as rmed1"),
    Row("rmed2fh", "power", 1.01, "as rmed1"),
    Row("rucb", "alpha", 0.51, "Zoghi et al. 2014, Section 6 and Figure 4"),
    Row("rucb", "prior_wins", 0, "Zoghi et al. 2014, Algorithm 1, line 1: W = 0"),
    Row(
        "rucb",
        "hypothesis",
        False,
        "Zoghi et al., arXiv version, Algorithm 1; the proceedings have the hypothesised best arm",
    ),
    Row("sparring", "alpha", 0.5, "Wolfenfeld's program, ucb1.py: sqrt(0.5 ln N / n)"),
    Row("versatile_db", "rate", 4.0, "Zimmert and Seldin 2021*, Theorem 1: eta_t = 4 / sqrt(t) with reduced variance"),
    Row("savage", "delta", 0.0, "0 for 1 / T: Urvoy et al. 2013"),
    Row("dkwt", "delta", 0.05, "Haddenhorst et al. 2021, their program: gamma = 0.05 in the experiments"),
    *(
        Row(policy, parameter, value, source)
        for policy, alpha in (("monitored_rucb", "as rucb"), ("monitored_double_thompson", "as double_thompson"))
        for parameter, value, source in (
            ("segments", 10, "this package: the number of changes must be given"),
            ("gap", 0.3, "this package: the smallest change to detect must be given"),
            ("alpha", 0.51, alpha),
        )
    ),
    Row("winner_stays_strong", "beta", 1.1, "Chen and Frazier 2017*, experiments"),
]
METHOD_DEFAULTS = [
    Row("document_constraints", "constraints", 3, "He et al. 2009*: statements of both kinds"),
    Row(
        "optimized",
        "credit",
        "inverse",
        "Radlinski and Craswell 2013*: inverse rank; mpkato/interleaving, optimized.py",
    ),
    Row(
        "optimized_multileave",
        "lists",
        10,
        "Oosterhuis and de Rijke's program, OptimizedMultileave.py; Lerot's SIGIR 2014 files: 100",
    ),
    Row("probabilistic", "outcome", "marginal_bernoulli", "ours: unbiased; Lerot: the sign of expectation"),
    Row("probabilistic", "tau", 3.0, "Hofmann et al. 2011*: tau = 3; mpkato/interleaving, probabilistic.py: tau=3.0"),
    Row(
        "sosm",
        "tau",
        3.0,
        "Oosterhuis and de Rijke's program, SampleOnlyScoredMultileave.py: tau of the probabilistic one",
    ),
    Row("team_draft", "prefix_credit", 0, "Lerot, TeamDraft.py: the common prefix belongs to nobody"),
]
NO_STOP = (0.0, 0.0, 0.0, 0.0, 0.0)
HALF = (0.5, 0.5, 0.5, 0.5, 0.5)
CLICK_TABLES = {  # (model, grades): click and stop probabilities by grade
    # Hofmann et al. 2011*, Table 2; Oosterhuis and de Rijke's program, clicks.py, bin_models
    ("perfect", 2): ((0.0, 1.0), NO_STOP[:2]),
    ("navigational", 2): ((0.05, 0.95), (0.2, 0.9)),
    ("informational", 2): ((0.4, 0.9), (0.1, 0.5)),
    ("almost_random", 2): ((0.4, 0.6), HALF[:2]),
    ("random", 2): (HALF[:2], NO_STOP[:2]),
    # Hofmann et al. 2013*; Oosterhuis and de Rijke's program, clicks.py, short_models
    ("perfect", 3): ((0.0, 0.5, 1.0), NO_STOP[:3]),
    ("navigational", 3): ((0.05, 0.5, 0.95), (0.2, 0.5, 0.9)),
    ("informational", 3): ((0.4, 0.7, 0.9), (0.1, 0.3, 0.5)),
    ("almost_random", 3): ((0.4, 0.5, 0.6), HALF[:3]),
    ("random", 3): (HALF[:3], NO_STOP[:3]),
    # Oosterhuis and de Rijke's program, clicks.py, long_models
    ("perfect", 5): ((0.0, 0.2, 0.4, 0.8, 1.0), NO_STOP),
    ("navigational", 5): ((0.05, 0.3, 0.5, 0.7, 0.95), (0.2, 0.3, 0.5, 0.7, 0.9)),
    ("informational", 5): ((0.4, 0.6, 0.7, 0.8, 0.9), (0.1, 0.2, 0.3, 0.4, 0.5)),
    ("almost_random", 5): ((0.4, 0.45, 0.5, 0.55, 0.6), HALF),
    ("random", 5): (HALF, NO_STOP),
    # Lerot's configurations of the sampler and of the synthetic evaluation
    ("perfect_binary", 3): ((0.0, 1.0, 1.0), NO_STOP[:3]),
    ("navigational_synthetic", 2): ((0.05, 0.8), (0.0, 0.8)),
    # Craswell et al. 2008: a click ends the session
    ("cascade", 2): ((0.05, 0.95), (1.0, 1.0)),
    ("cascade", 3): ((0.05, 0.5, 0.95), (1.0, 1.0, 1.0)),
    ("cascade", 5): ((0.05, 0.3, 0.5, 0.7, 0.95), (1.0, 1.0, 1.0, 1.0, 1.0)),
    ("first_click", 2): ((0.0, 1.0), (1.0, 1.0)),
    ("first_click", 3): ((0.0, 0.5, 1.0), (1.0, 1.0, 1.0)),
    ("first_click", 5): ((0.0, 0.2, 0.4, 0.8, 1.0), (1.0, 1.0, 1.0, 1.0, 1.0)),
}


def shipped(registry):
    """Return the components registered by the package itself, without plug-ins and tests."""
    return [item for item in registry if (item.params.__module__ or "").startswith("ltr_duel.")]


def same_table(rows, expected):
    """Compare {(component, parameter): value} of the code with the rows of the sources, and return the differences."""
    written = {(row.component, row.parameter): row.value for row in rows}
    assert len(written) == len(rows)
    assert {key: (expected.get(key), written.get(key)) for key in expected.keys() ^ written.keys()} == {}
    assert {key: (expected[key], value) for key, value in written.items() if expected[key] != value} == {}
    assert all(type(expected[key]) is type(value) for key, value in written.items())


def test_the_defaults_of_all_policies_are_those_of_their_sources():
    found = {(p.name, key): value for p in shipped(POLICIES) for key, value in p.params()._asdict().items()}
    rows = [row._replace(value=round(row.value, 6)) if row.parameter == "alpha" else row for row in POLICY_DEFAULTS]
    same_table(rows, found)


def test_the_defaults_of_all_comparison_methods_are_those_of_their_sources():
    found = {(m.name, key): value for m in shipped(METHODS) for key, value in m.params()._asdict().items()}
    found |= {(m.name, "outcome"): m.outcomes[0] for m in shipped(METHODS) if len(m.outcomes) > 1}
    same_table(METHOD_DEFAULTS, found)


@pytest.mark.parametrize("model", shipped(CLICK_MODELS), ids=lambda model: model.name)
def test_click_models_are_the_tables_of_their_sources(model):
    assert set(model.tables) == {grades for name, grades in CLICK_TABLES if name == model.name}
    for grades, found in model.tables.items():
        np.testing.assert_array_equal(found, CLICK_TABLES[model.name, grades])
    # Lerot's CascadeUserModel.py: a session ends only after a click, and all positions are examined alike
    assert model.params()._asdict() == {"stop_on": "click", "position_bias": 0.0}
