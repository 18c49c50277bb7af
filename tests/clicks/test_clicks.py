"""Click models: simulated rates against the closed form, and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from ltr_duel.clicks.model import CLICK_MODELS, ClickModel, click_model, simulate_clicks, users_of
from ltr_duel.core.errors import InputError
from ltr_duel.core.random import stream
from tests.reference.interleaving import click_patterns

MODELS = [(name, grades) for name in CLICK_MODELS.names() for grades in CLICK_MODELS[name].tables]


def sessions(model, grades, n, seed):
    relevance = np.array(grades, np.int16)
    shown, clicks, rng = np.arange(len(grades)), np.zeros(len(grades), np.int64), stream(seed, model.name)
    users = users_of(model, len(grades))
    for _ in range(n):
        count = simulate_clicks(users, relevance, 0, shown, len(grades), clicks, rng)
        yield tuple(clicks[:count].tolist())


@pytest.mark.parametrize("name, grades", MODELS)
def test_click_rates_equal_the_closed_form(name, grades):
    model = click_model(name, grades)
    shown = [k % grades for k in range(6)][::-1]
    rates_agree(model, shown)


def rates_agree(model, shown):
    expected = model.examination(shown) * model.attention(6) * [model.p_click[g] for g in shown]
    n, counts = 10_000, np.zeros(6)
    for clicks in sessions(model, shown, n, 1):
        counts[list(clicks)] += 1
    assert (np.abs(counts / n - expected) <= 5 * np.sqrt(expected * (1 - expected) / n)).all()


@pytest.mark.parametrize("stop_on, bias", [("examine", 0.0), ("click", 1.0), ("examine", 0.5)])
def test_other_stop_rules_and_position_bias_have_their_closed_form(stop_on, bias):
    rates_agree(click_model(f"navigational:stop_on={stop_on},position_bias={bias}", 3), [1, 0, 2, 0, 1, 2])


def test_stopping_at_unclicked_documents_is_another_model():
    shown = [0] * 6
    click, examine = (
        click_model(f"navigational:stop_on={rule}", 2).examination(shown)[5] for rule in ("click", "examine")
    )
    assert click == pytest.approx((1 - 0.05 * 0.2) ** 5)
    assert examine == pytest.approx((1 - 0.2) ** 5)


def test_the_closed_form_equals_enumeration_of_sessions():
    model, shown = click_model("navigational", 3), [1, 2, 0, 1]
    rates = np.zeros(4)
    for clicks, p in click_patterns(shown, model.p_click, model.p_stop):
        rates[list(clicks)] += p
    assert rates == pytest.approx(model.examination(shown) * [model.p_click[g] for g in shown], abs=1e-15)


def test_a_session_never_stops_at_an_unclicked_document():
    model = ClickModel("picky", (0.0, 1.0), (1.0, 0.0))  # stops at once if unclicked documents can stop
    assert set(sessions(model, [0, 0, 0, 1], 200, 2)) == {(3,)}


def test_a_stop_ends_the_session():
    assert set(sessions(ClickModel("greedy", (1.0,), (1.0,)), [0, 0, 0], 50, 3)) == {(0,)}


def test_the_sum_of_a_table_is_what_the_literature_prints():
    assert sum(click_model("navigational", 5).p_click) == pytest.approx(0.05 + 0.3 + 0.5 + 0.7 + 0.95)
    assert sum(click_model("informational", 2).p_stop) == pytest.approx(0.1 + 0.5)
    assert click_model("perfect", 3).p_click == (0, 0.5, 1)


def test_unknown_models_and_grades_are_refused_with_the_legal_ones():
    with pytest.raises(
        InputError, match=r"no click model 'navigationl'; did you mean 'navigational'\? \(almost_random,"
    ):
        click_model("navigationl", 5)
    with pytest.raises(
        InputError, match=r"'perfect' is defined for 2, 3, 5 grades; this corpus has 8 \(0\.\.7\): pass"
    ):
        click_model("perfect", 8)
    with pytest.raises(
        InputError, match=r"this corpus has 2 \(0\.\.1\): models for 2 grades: almost_random, cascade, first"
    ):
        click_model("perfect_binary", 2)
    with pytest.raises(InputError, match="no stop_on for click model perfect called 'clicks'; did you mean 'click'"):
        click_model("perfect:stop_on=clicks", 2)
    with pytest.raises(InputError, match="no stop rule 'clicks'; did you mean 'click'"):
        ClickModel("mine", (0.0, 1.0), (0.0, 0.0), stop_on="clicks")
    with pytest.raises(InputError, match="position_bias must be at least 0, not -1"):
        click_model("perfect:position_bias=-1", 2)
    with pytest.raises(InputError, match="position bias must be at least 0, not -1"):
        ClickModel("mine", (0.0, 1.0), (0.0, 0.0), position_bias=-1)
    with pytest.raises(InputError, match=r"click probability of grade 1 must be between 0 and 1, not 1\.5"):
        ClickModel("mine", (0.0, 1.5), (0.0, 0.0))
    with pytest.raises(InputError, match="one click and one stop probability for each grade"):
        ClickModel("mine", (0.0, 1.0), (0.0,))
