"""Fitted click models: EM against enumeration, known parameters, PyClick's figures, files for --clicks, refusals."""

from __future__ import annotations

import json
from math import log, log2

import numpy as np
import pytest

from benchmarks.studies.errors_clicks import errors_over_corpora
from ltr_duel.clicks.check import check_click_model
from ltr_duel.clicks.fit.api import CLUSTERS, TABLES, fit_clicks
from ltr_duel.clicks.fit.compare import best_fit, fit_click_models
from ltr_duel.clicks.fit.em import fit_by_em
from ltr_duel.clicks.fit.errors import Scores, add_curvature
from ltr_duel.clicks.fit.file import FORMAT, save_clicks
from ltr_duel.clicks.fit.forms import FORMS, layout_of
from ltr_duel.clicks.fit.sessions import Sessions
from ltr_duel.clicks.fit.walk import Model, session_entries, work_for
from ltr_duel.clicks.fit.walk import lists_of as kernel_lists
from ltr_duel.clicks.model import CLICK_MODELS, click_model
from ltr_duel.core import interpreted
from ltr_duel.core.errors import InputError
from ltr_duel.core.random import stream
from tests.reference import pyclick
from tests.reference.fitted_clicks import Truth, attention_key, drawn, em, made_log, worlds

ATTRACT = [0.15, 0.4, 0.8]
ATTENTION = [1.0, 0.85, 0.7, 0.5, 0.4, 0.3]
ATTENTION_AFTER = [1.0 if (k, last) == (0, 5) else 0.9 - 0.1 * k + 0.02 * last for k in range(6) for last in range(6)]
TRUTHS = {
    "pbm": Truth(ATTRACT, place=ATTENTION),
    "cascade": Truth(ATTRACT),
    "dbn": Truth(ATTRACT, [0.2, 0.5, 0.7], shared=[0.85]),
    "sdbn": Truth(ATTRACT, [0.2, 0.5, 0.7]),
    "ubm": Truth(ATTRACT, place=ATTENTION_AFTER),
    "table": Truth(ATTRACT, [0.2, 0.5, 0.7], ATTENTION),
}
# PyClick (commit 98e7e46, Python 3.11) on `made_log`: 300 sessions to train, 100 to test, 50 iterations.
PYCLICK = {
    "pbm": (-0.36999186, 1.45651506),
    "cascade": (-7.87704503, 1.48836013),
    "dbn": (-0.36770436, 1.45353803),
    "sdbn": (-0.37585913, 1.45438103),
    "ubm": (-0.36206180, 1.45464279),
}


def lists_of(places, n, seed=0):
    return stream(seed, "lists").integers(0, 3, (n, places))


def as_sessions(pairs):
    ptr = np.concatenate([[0], np.cumsum([len(items) for items, _ in pairs])])
    item = np.array([i for items, _ in pairs for i in items])
    click = np.array([bool(c) for _, clicks in pairs for c in clicks])
    return Sessions(ptr, item, click, np.zeros(len(pairs), np.int64), 3, True)


def few_sessions(form, places=4):
    sessions = drawn(form, TRUTHS[form], lists_of(6, 12), 40, stream(1, form))
    pairs = []
    for s, start in enumerate(sessions.ptr[:-1]):
        n = places - s % 3  # lists of several lengths
        pairs.append((sessions.item[start : start + n].tolist(), sessions.click[start : start + n].tolist()))
    return pairs


def in_layout(form, theta, layout, places):
    """Return the reference's parameters as a vector."""
    vector = np.full(layout.size, 0.5)
    begins = {"attract": 0, "satisfy": layout.satisfaction, "place": layout.place, "shared": layout.shared}
    for (kind, number), value in theta.items():
        vector[begins[kind] + number] = value
    return vector


@pytest.mark.parametrize("form", FORMS)
def test_em_equals_enumeration_of_all_that_could_have_happened(form):
    pairs = few_sessions(form)
    fit = fit_by_em(FORMS[form], as_sessions(pairs), 4, 0.0, 1.0)
    wanted = in_layout(form, em(form, pairs, 4, 4), fit.layout, 4)
    if fit.reference >= 0:
        attention = wanted[fit.reference]
        wanted[fit.layout.place : fit.layout.shared] /= attention
        wanted[: fit.layout.satisfaction] *= attention
    assert fit.theta == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_log_likelihood_and_perplexity_equal_enumeration(form):
    pairs = few_sessions(form)
    found = fit_clicks(as_sessions(pairs), form, iterations=3)
    theta, layout = found.fit.theta, found.fit.layout
    begins = {"attract": 0, "satisfy": layout.satisfaction, "place": layout.place, "shared": layout.shared}
    likelihood, bits, shown = 0.0, np.zeros(4), np.zeros(4)
    for items, clicks in pairs:
        all_of_them = list(worlds(form, lambda kind, n: theta[begins[kind] + n], items, 4))
        likelihood += log(sum(p for p, said, _ in all_of_them if said == tuple(clicks))) / len(items)
        for k, click in enumerate(clicks):
            chance = sum(p for p, said, _ in all_of_them if said[k])
            bits[k] -= log2(chance if click else 1 - chance)
            shown[k] += 1
    assert found.train.log_likelihood == pytest.approx(likelihood / len(pairs), abs=1e-12)
    assert found.train.by_place == pytest.approx(2 ** (bits / shown), abs=1e-12)
    assert found.train.perplexity == pytest.approx((2 ** (bits / shown)).mean(), abs=1e-12)


def test_a_click_that_cannot_be_has_a_millionth_and_long_lists_do_not_underflow():
    sessions = as_sessions([([0, 1, 2] * 300, [True] + [False, True, False] * 299 + [False, False])])
    found = fit_clicks(sessions, "cascade")
    assert found.fit.theta[0] == 2 / 3  # one click plus one success and one failure; other positions were not examined
    wanted = (log(2 / 3) + 299 * log(1e-6)) / 900
    assert found.train.log_likelihood == pytest.approx(wanted, rel=1e-12)


def test_published_counts_end_at_the_last_click():
    sessions = as_sessions([([0, 1, 2, 0], [True, False, True, False]), ([1, 1], [False, False])])
    fit = pyclick.fit("sdbn", sessions)
    assert fit.asked[:3].tolist() == [1, 3, 1]  # positions above the last click, or all positions
    assert fit.asked[3:].tolist() == [1, 0, 1]  # clicks on each item, of which the last click satisfied
    assert fit.theta[3:].tolist() == [(0 + 1) / (1 + 2), (0 + 1) / (0 + 2), (1 + 1) / (1 + 2)]


def log_of_likelihood(form, theta, layout, pairs, places):
    begins = {"attract": 0, "satisfy": layout.satisfaction, "place": layout.place, "shared": layout.shared}
    whole = 0.0
    for items, clicks in pairs:
        every = worlds(form, lambda kind, n: theta[begins[kind] + n], items, places)
        whole += log(sum(p for p, said, _ in every if said == tuple(clicks)))
    return whole


@pytest.mark.parametrize("form", FORMS)
def test_the_curvature_is_that_of_the_enumerated_likelihood(form):
    pairs = few_sessions(form)[:5] * 2
    layout = layout_of(FORMS[form], 3, 4)
    theta = stream(9, form).uniform(0.2, 0.8, layout.size)
    found = np.zeros((layout.size, layout.size))
    scores = Scores(np.zeros(layout.size), np.zeros(layout.size, np.int64), np.zeros(layout.size, np.bool_))
    different = kernel_lists(*as_sessions(pairs).grouped())
    inside, work = np.ones(layout.size, np.bool_), work_for(4)
    add_curvature(Model(FORMS[form].code, theta, layout), different, inside, work, scores, found)
    h = 1e-3
    everywhere = np.argwhere(np.tri(layout.size))
    for i, j in stream(9, "cells").permutation(everywhere)[:120]:
        corners = []
        for a, b in ((h, h), (h, -h), (-h, h), (-h, -h)):
            moved = theta.copy()
            moved[i] += a
            moved[j] += b
            corners.append(log_of_likelihood(form, moved, layout, pairs[:5], 4))
        wanted = -2 * (corners[0] - corners[1] - corners[2] + corners[3]) / (4 * h * h)
        assert found[i, j] == pytest.approx(wanted, abs=1e-3, rel=1e-3)
        assert found[j, i] == pytest.approx(found[i, j], abs=1e-6)


def test_errors_of_counts_are_binomial_and_users_who_repeat_themselves_count_once():
    n = 400
    sessions = drawn("cascade", TRUTHS["cascade"], lists_of(6, 12), n, stream(10, "counts"))
    found = fit_clicks(sessions, "cascade", smoothing=0.0)
    binomial = np.sqrt(found.fit.theta * (1 - found.fit.theta) / found.fit.asked)
    assert found.users == 0 and found.errors == pytest.approx(binomial, rel=0.2)
    parts = [np.tile(part, 3) for part in sessions[1:4]]
    ptr = np.arange(0, 3 * len(sessions.item) + 1, 6)
    again = Sessions(ptr, *parts, 3, True, np.tile(np.arange(n), 3))
    clustered, alone = (fit_clicks(one, "cascade", smoothing=0.0) for one in (again, again._replace(user=None)))
    assert clustered.users == n and clustered.errors == pytest.approx(found.errors, rel=1e-9)
    assert alone.errors == pytest.approx(found.errors / 3**0.5, rel=0.01)
    unknown = fit_clicks(again._replace(user=np.full(3 * n, -1)), "cascade", smoothing=0.0)
    assert unknown.users == 3 * n and unknown.errors == pytest.approx(alone.errors, rel=1e-9)
    one = fit_clicks(again._replace(user=np.zeros(3 * n, np.int64)), "cascade")
    assert one.users == 1 and np.isnan(one.errors).all()
    plain = fit_clicks(sessions, "cascade", smoothing=0.0, errors=False)
    assert np.isnan(plain.errors).all() and np.array_equal(plain.fit.theta, found.fit.theta)


def returning_users(form, users, visits, seed):
    """Sample sessions of users who see the same list each time, and half of the time repeat their first behaviour."""
    rng = stream(seed, "returning", form)
    lists = np.repeat(lists_of(6, users, seed), visits, axis=0)
    sessions = drawn(form, TRUTHS[form], lists, None, rng)
    click = sessions.click.reshape(users, visits, 6).copy()
    same = rng.random((users, visits)) < 0.5
    click[same] = np.repeat(click[:, :1], visits, axis=1)[same]
    return sessions._replace(click=click.ravel(), user=np.repeat(np.arange(users), visits))


def coverage_of_returning_users(form, logs, users=300, visits=10):
    """Return the share of intervals that contain the truth, by user and by session."""
    hits = [[], []]
    for seed in range(logs):
        sessions = returning_users(form, users, visits, seed)
        for by, part in enumerate((sessions, sessions._replace(user=None))):
            found = fit_clicks(part, form, tolerance=1e-8)
            known = ~np.isnan(found.errors)
            off = np.abs(found.fit.theta - truth_in(found, TRUTHS[form]))[known]
            hits[by].extend(off < 1.96 * found.errors[known])
    return np.mean(hits[0]), np.mean(hits[1])


def test_errors_by_user_cover_where_those_by_session_do_not():
    by_user, by_session = coverage_of_returning_users("sdbn", 40)  # 240 intervals
    assert by_user > 0.9 and by_session < 0.8


def test_errors_by_query_count_queries_that_repeat_once():
    """With one session per user and query, both kinds agree; of three equal sessions of a query, one counts."""
    n = 300
    sessions = drawn("cascade", TRUTHS["cascade"], lists_of(6, 12), n, stream(12, "queries"))
    alone = sessions._replace(query=np.arange(n), user=np.arange(n))
    user, query = (fit_clicks(alone, "cascade", smoothing=0.0, cluster=one).errors for one in CLUSTERS)
    assert query == pytest.approx(user, rel=1e-12)
    parts = [np.tile(part, 3) for part in sessions[1:3]]
    again = Sessions(np.arange(0, 18 * n + 1, 6), *parts, np.tile(np.arange(n), 3), 3, True, np.arange(3 * n))
    user, query = (fit_clicks(again, "cascade", smoothing=0.0, cluster=one).errors for one in CLUSTERS)
    assert query == pytest.approx(user * 3**0.5, rel=0.01)
    with pytest.raises(InputError, match="errors by 'query' are for other queries, so they need relevance grades"):
        fit_clicks(again._replace(graded=False), "cascade", cluster="query")


def test_errors_by_query_are_those_of_other_corpora():
    by_user, by_query, spread = errors_over_corpora(corpora=25)
    assert np.all(by_user < 0.75 * spread)
    assert np.all((0.6 * spread < by_query) & (by_query < 1.6 * spread))


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS)
def test_errors_by_user_cover_for_every_model(form):
    by_user, by_session = coverage_of_returning_users(form, 200)
    print(f"{form}: by user {by_user:.4f}, by session {by_session:.4f}")
    assert 0.92 < by_user < 0.98 and by_session < 0.85


def truth_in(found, truth):
    return np.concatenate([np.array(part, float) for part in truth])


def errors_in_standard(form, n, seed):
    """Return (estimate - truth) / error of all parameters that have an error, and the errors."""
    sessions = drawn(form, TRUTHS[form], lists_of(6, 20), n, stream(seed, form))
    found = fit_clicks(sessions, form, smoothing=1.0, tolerance=1e-10, iterations=3000)
    known = ~np.isnan(found.errors)
    assert known[:3].all() and known.sum() >= len(found.fit.theta) - 22  # 22 cells of ubm cannot occur
    return (found.fit.theta - truth_in(found, TRUTHS[form]))[known] / found.errors[known], found.errors[known]


@pytest.mark.parametrize("form", FORMS)
def test_parameters_of_a_hundred_thousand_sessions_are_recovered(form):
    z, errors = errors_in_standard(form, 100_000, 2)
    assert np.abs(z).max() < 4 and (np.abs(z) < 1.96).mean() >= 0.75
    assert np.median(errors) < 0.02


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS)
def test_intervals_cover(form):
    z = np.concatenate([errors_in_standard(form, 20_000, seed)[0] for seed in range(60)])
    print(f"{form}: {len(z)} intervals, {(np.abs(z) < 1.96).mean():.4f} cover")
    assert 0.91 < (np.abs(z) < 1.96).mean() < 0.985  # standard error .016 for the cascade's 180 estimates


def pyclick_sessions():
    rows = list(made_log())
    numbers = {}
    item = np.array([numbers.setdefault((q, d), len(numbers)) for q, documents, _ in rows for d in documents])
    click = np.array([c for _, _, clicks in rows for c in clicks], np.bool_)
    query = np.array([q for q, _, _ in rows])
    return Sessions(np.arange(0, 10 * len(rows) + 1, 10), item, click, query, len(numbers), False)


@pytest.mark.parametrize("form", PYCLICK)
def test_pyclicks_figures_are_met_with_its_updates(form):
    sessions = pyclick_sessions()
    first, rest = sessions.split(0.75)
    found = pyclick.judged(form, pyclick.fit(form, first), rest)
    assert (found.log_likelihood, found.perplexity) == pytest.approx(PYCLICK[form], abs=1e-6)


@pytest.mark.parametrize("form", [form for form in PYCLICK if form not in ("cascade", "pbm", "ubm")])
def test_exact_updates_are_more_likely_than_those_of_pyclick(form):
    sessions = pyclick_sessions()
    theirs = pyclick.judged(form, pyclick.fit(form, sessions, 1000, smoothing=0.1), sessions)
    assert fit_clicks(sessions, form, smoothing=0.1).train.log_likelihood > theirs.log_likelihood + 1e-3


def test_sessions_that_say_the_same_are_counted_once():
    sessions = drawn("sdbn", TRUTHS["sdbn"], lists_of(6, 3), 500, stream(3, "twins"))
    different, weight = sessions.grouped()
    assert different.number < 150 and weight.sum() == 500
    rows = np.concatenate([sessions.item.reshape(500, 6), sessions.click.reshape(500, 6)], axis=1)
    wanted, counts = np.unique(rows, axis=0, return_counts=True)
    found = np.concatenate([different.item.reshape(-1, 6), different.click.reshape(-1, 6)], axis=1)
    order = np.lexsort(found.T[::-1])
    assert (found[order] == wanted).all() and (weight[order] == counts).all()


def test_kernels_say_the_same_interpreted():
    sessions = drawn("dbn", TRUTHS["dbn"], lists_of(6, 3), 5, stream(4, "same"))
    for form in FORMS.values():
        layout = layout_of(form, 3, 6)
        theta = stream(5, form.name).random(layout.size)
        results = []
        for entries in (session_entries, interpreted(session_entries)):
            work = work_for(6)
            model, lists = Model(form.code, theta, layout), kernel_lists(sessions)
            said = [entries(model, lists, s, work) for s in range(sessions.number)]
            results.append((said, [part.copy()[: said[-1][0]] for part in work[2:]]))
        assert np.allclose(results[0][0], results[1][0], rtol=1e-12)
        assert all(np.allclose(a, b, rtol=1e-12) for a, b in zip(results[0][1], results[1][1], strict=True))


@pytest.mark.parametrize("form", TABLES)
def test_a_file_is_as_good_as_a_name(form, tmp_path):
    sessions = drawn(form, TRUTHS[form], lists_of(6, 20), 20_000, stream(6, form))
    found = fit_clicks(sessions, form)
    path = tmp_path / "users.json"
    save_clicks(found, path, source="a log")
    model = click_model(f"{path}:position_bias=0.5", 3)
    assert model.position_bias == 0.5 and model.name.startswith(f"{path}#")
    model = click_model(str(path), 3)
    check_click_model(str(path))
    shown = [2, 0, 1, 1, 0, 2]
    expected = model.examination(shown) * model.attention(6) * [model.p_click[g] for g in shown]
    truth = drawn(form, TRUTHS[form], [shown], 20_000, stream(7, form)).click.reshape(-1, 6).mean(axis=0)
    assert expected == pytest.approx(truth, abs=0.02)
    label = CLICK_MODELS.configure(str(path)).label
    assert CLICK_MODELS.configure(label).label == label
    path.write_text(path.read_text().replace("a log", "another"))
    with pytest.raises(InputError, match="is not the expected file"):
        CLICK_MODELS.configure(label)


def test_the_best_is_that_of_the_users():
    lists = lists_of(6, 20)
    for form in ("pbm", "sdbn", "ubm"):
        fits = fit_click_models(drawn(form, TRUTHS[form], lists, 20_000, stream(8, form)), ["pbm", "sdbn", "ubm"])
        assert best_fit(fits).form.name in ((form, "ubm") if form == "pbm" else (form,))


GOOD = {"format": FORMAT, "model": "sdbn", "source": "x", "click": [0.1, 0.9], "stop": [0.2, 0.5]}
FORGED = [
    ("", "not the JSON file"),
    ('{"format":', "not the JSON file"),
    ("[" * 100_000, "not the JSON file"),
    ("[]", "'format' must be"),
    (json.dumps(GOOD | {"format": "other"}), "'format' must be"),
    (json.dumps(GOOD | {"click": [0.1, 1.9]}), "number 2 of 'click' must be a probability between 0 and 1, not 1.9"),
    (json.dumps(GOOD | {"click": [0.1, True]}), "number 2 of 'click' must be"),
    (json.dumps(GOOD | {"click": [0.1, float("nan")]}), "number 2 of 'click' must be"),
    (json.dumps(GOOD | {"click": {"0": 1}}), "'click' must be a list"),
    (json.dumps(GOOD | {"click": [0.1]}), "'click' must contain a probability for each of 2 or more grades"),
    (json.dumps(GOOD | {"stop": [0.1]}), "needs one click and one stop probability for each grade, not 2 and 1"),
    (json.dumps(GOOD | {"leave": [0.1]}), "needs one probability to leave for each grade, not 1"),
    (json.dumps(GOOD | {"attention": [1, 0]}), "'attention' must be above 0"),
]


NONE = 12**-0.5  # sd of a uniform distribution on 0..1
FILLED = [  # fields of the file, errors in the file, errors of the component
    ({}, {"attraction": [0.1, None], "satisfaction": [None, 0.2]}, {"p_click": (0.1, NONE), "p_stop": (NONE, 0.2)}),
    ({"click": [0.1, 1.0]}, {"attraction": [0.1, None]}, {"p_click": (0.1, 0.0)}),
    ({"attention": [1.0, 0.5]}, {"attention": [None, 0.3]}, {"p_notice": (0.0, 0.3)}),
    ({"attention": [0.9, 1.0]}, {"attention": [None, 0.3]}, {"p_notice": (0.0, 0.3)}),
    (
        {"stop": [0.28, 0.46], "leave": [0.1, 0.1]},  # going on .9, satisfaction .2 and .4
        {"going on": [0.05], "satisfaction": [0.2, 0.1]},
        {"p_stop": (np.hypot(0.9 * 0.2, 0.8 * 0.05), np.hypot(0.9 * 0.1, 0.6 * 0.05)), "p_leave": (0.05, 0.05)},
    ),
    ({"stop": [1.0, 1.0], "leave": [1.0, 1.0]}, {"going on": [None], "satisfaction": [None, None]}, {}),
    ({}, {"attraction": [None, None], "satisfaction": [0.1]}, {}),
    ({"leave": [0.3, 0.3]}, {"going on": []}, {}),
]


@pytest.mark.parametrize("fields, stated, found", FILLED)
def test_an_undetermined_probability_is_not_exact(fields, stated, found, tmp_path):
    path = tmp_path / "users.json"
    path.write_text(json.dumps(GOOD | fields | {"errors": stated}))
    errors = CLICK_MODELS.configure(str(path)).component.errors
    assert {name: pytest.approx(values) for name, values in errors.items()} == found


@pytest.mark.parametrize("text, said", FORGED)
def test_forged_files_are_refused(text, said, tmp_path):
    path = tmp_path / "users.json"
    path.write_text(text)
    with pytest.raises(InputError, match=said) as caught:
        click_model(str(path), 2)
    assert "\n" not in str(caught.value) and "users.json" in str(caught.value)


def refused(sessions, said, **settings):
    with pytest.raises(InputError, match=said):
        fit_click_models(sessions, **settings)


def test_a_table_keeps_the_click_rates_where_a_place_of_few_clicks_is_noticed_most():
    lists = [[2, 0]] * 8 + [[1, 1], [0, 2]]
    found = fit_clicks(drawn("pbm", Truth([0.1, 0.5, 0.9], place=[0.7, 1.0]), lists, 5_000, stream(9, "pbm")), "pbm")
    attraction, attention = (found.blocks[name].values for name in ("attraction", "attention"))
    assert attention[0] == 1.0 and attention[1] > 1.2, "the place of most clicks is the measure of the others"
    model = found.model()
    assert max(model.p_notice) == 1.0
    assert np.outer(model.p_click, model.p_notice) == pytest.approx(np.outer(attraction, attention), rel=1e-9)


def test_what_nothing_can_be_learned_from_is_refused():
    sessions = as_sessions([([0, 1], [False, True])] * 8)
    refused(as_sessions([([0, 1], [False, False])] * 8), "no session has a click")
    refused(as_sessions([([0], [True])] * 8), "every list has one document")
    refused(sessions.kept(np.zeros(8, np.bool_)), "there is no session")
    refused(sessions, "no click model to fit 'pmb'; did you mean 'pbm'", models=["pmb"])
    refused(sessions, "smoothing must be between 0", smoothing=-1.0)
    refused(sessions, "iterations must be between 1", iterations=0)
    refused(sessions, "share to fit to must be between", train=0.0)
    refused(sessions._replace(query=np.arange(8)), "no session is left for the evaluation")
    refused(sessions._replace(items=1), r"an item is not in 0\.\.0")
    assert fit_click_models(sessions, ["sdbn"], train=1.0)[0].test is None
    documents = fit_click_models(sessions._replace(graded=False), ["sdbn"])
    with pytest.raises(InputError, match="have no table for simulations; fit a log with grades"):
        best_fit(documents, table=True)
    with pytest.raises(InputError, match="cannot be written as a table"):
        fit_click_models(sessions, ["ubm"])[0].model()


def test_nothing_observed_leaves_parameters_at_a_half_without_an_error():
    sessions = as_sessions([([0, 1], [True, False]), ([1, 0], [False, True])] * 20)
    found = fit_clicks(sessions, "sdbn", smoothing=0.0)
    assert found.fit.theta[2] == 0.5 and np.isnan(found.errors[2])
    assert found.fit.theta[:2] == pytest.approx([1.0, 0.0], abs=1e-5), "at the border no error is stated"
    assert np.isnan(found.errors[:2]).all()
    assert attention_key("ubm", 2, -1, 5) == 14
