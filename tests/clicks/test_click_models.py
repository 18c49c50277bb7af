"""Click models: simulated rates against the closed form, and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from ltr_duel.clicks import CLICK_MODELS, ClickModel, click_model, simulate_clicks, users_of
from ltr_duel.core import InputError, stream
from tests.reference.interleaving import click_patterns


def sessions(model, grades, n):
    relevance = np.array(grades, np.int16)
    shown, clicks, rng = np.arange(len(grades)), np.zeros(len(grades), np.int64), stream(1, model.name)
    users = users_of(model, len(grades))
    for _ in range(n):
        count = simulate_clicks(users, relevance, 0, shown, len(grades), clicks, rng)
        yield tuple(clicks[:count].tolist())


VARIANTS = ("stop_on=examine", "position_bias=1", "stop_on=examine,position_bias=0.5")


def test_click_rates_equal_the_closed_form():
    models = [click_model(name, grades) for name in CLICK_MODELS.names() for grades in CLICK_MODELS[name].tables]
    models += [click_model(f"navigational:{variant}", 3) for variant in VARIANTS]
    models += [ClickModel("fitted", (0.2, 0.9), (0.1, 0.5), p_leave=(0.3, 0.1), p_notice=(1.0, 0.7))]
    for model in models:
        shown = [k % model.grades for k in range(6)][::-1]
        expected = model.examination(shown) * model.attention(6) * [model.p_click[g] for g in shown]
        n, counts = 3_000, np.zeros(6)
        for clicks in sessions(model, shown, n):
            counts[list(clicks)] += 1
        assert (np.abs(counts / n - expected) <= 5 * np.sqrt(expected * (1 - expected) / n)).all(), model.name


def test_the_closed_form_equals_enumeration_of_sessions():
    shown, rates = [1, 2, 0, 1], np.zeros((2, 4))
    for model, row in zip(
        (click_model("navigational", 3), click_model("perfect:stop_on=examine", 3)), rates, strict=True
    ):
        leave = model.p_stop if model.stop_on == "examine" else None
        for clicks, p in click_patterns(shown, model.p_click, model.p_stop, leave):
            row[list(clicks)] += p
        assert row == pytest.approx(model.examination(shown) * [model.p_click[g] for g in shown], abs=1e-15)


def test_a_session_ends_after_a_click_and_not_at_an_unclicked_document():
    picky = ClickModel("picky", (0.0, 1.0), (1.0, 0.0))  # stops at once if unclicked documents can stop
    assert set(sessions(picky, [0, 0, 0, 1], 200)) == {(3,)}
    assert set(sessions(ClickModel("greedy", (1.0,), (1.0,)), [0, 0, 0], 50)) == {(0,)}


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: click_model("navigationl", 5), r"no click model 'navigationl'; did you mean 'navigational'\?"),
        (lambda: click_model("perfect", 8), r"defined for 2, 3, 5 grades; this corpus has 8 \(0\.\.7\): pass"),
        (lambda: click_model("perfect:stop_on=clicks", 2), "no stop_on for .* called 'clicks'; did you mean 'click'"),
        (lambda: ClickModel("mine", (0.0, 1.0), (0.0, 0.0), position_bias=-1), "bias must be at least 0, not -1"),
        (lambda: ClickModel("mine", (0.0, 1.5), (0.0, 0.0)), r"p_click\[1\] must be between 0 and 1, not 1\.5"),
        (lambda: ClickModel("mine", (0.0, 1.0), (0.0,)), r"probability for each grade, not 2, 1 and 0"),
        (lambda: ClickModel("mine", (0, 1), (0, 0), "examine", p_leave=(0, 0)), "stop_on must be 'click'"),
    ],
)
def test_unknown_models_and_numbers_that_are_no_probabilities_are_refused(make, sentence):
    with pytest.raises(InputError, match=sentence):
        make()
