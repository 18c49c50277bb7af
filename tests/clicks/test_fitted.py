"""Fitted click models: EM against enumeration, known parameters, PyClick's figures, files for --clicks, judgements."""

from __future__ import annotations

import json
from math import log, log2, sqrt

import numpy as np
import pytest

from benchmarks.studies.errors_clicks import errors_over_corpora
from ltr_duel.clicks import (
    CLICK_MODELS,
    FORMS,
    TABLES,
    Sessions,
    best_fit,
    check_click_model,
    click_model,
    fit_click_models,
    fit_clicks,
    judge_documents,
    save_clicks,
)
from ltr_duel.core import InputError, stream
from tests.reference import pyclick
from tests.reference.fitted_clicks import Truth, drawn, em, made_log, worlds

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
    "sdbn": (-0.37585913, 1.45438103),
    "ubm": (-0.36206180, 1.45464279),
}
KINDS = {"attraction": "attract", "satisfaction": "satisfy", "going on": "shared"}


def lists_of(length, n, seed=0):
    return stream(seed, "lists").integers(0, 3, (n, length))


def as_sessions(pairs):
    ptr = np.concatenate([[0], np.cumsum([len(items) for items, _ in pairs])])
    item = np.array([i for items, _ in pairs for i in items])
    click = np.array([bool(c) for _, clicks in pairs for c in clicks])
    return Sessions(ptr, item, click, np.zeros(len(pairs), np.int64), 3, True)


def few_sessions(form, longest=4):
    sessions = drawn(form, TRUTHS[form], lists_of(6, 12), 40, stream(1, form))
    pairs = []
    for s, start in enumerate(sessions.ptr[:-1]):
        n = longest - s % 3  # lists of several lengths
        pairs.append((sessions.item[start : start + n].tolist(), sessions.click[start : start + n].tolist()))
    return pairs


def value_in(blocks):
    """Return a function with the value of each parameter of the reference."""
    values = {KINDS.get(name, "place"): block.values for name, block in blocks.items()}
    return lambda kind, n: values[kind][n]


@pytest.mark.parametrize("form", FORMS)
def test_em_equals_enumeration_of_all_that_could_have_happened(form):
    pairs = few_sessions(form)
    fitted = fit_clicks(as_sessions(pairs), form, iterations=4, tolerance=0.0, errors=False)
    wanted, scale = em(form, pairs, 4, 4), 1.0
    if "attention" in "".join(fitted.blocks):
        clicks = [k for items, clicks in pairs for k in clicks_by_attention(form, clicks)]
        scale = wanted["place", np.bincount(clicks).argmax()]
    for name, block in fitted.blocks.items():
        kind = KINDS.get(name, "place")
        expected = np.array([wanted[kind, n] for n in range(len(block.values))])
        expected *= {"attract": scale, "place": 1 / scale}.get(kind, 1.0)
        assert block.values == pytest.approx(expected, abs=1e-12)


def clicks_by_attention(form, clicks, longest=4):
    """Yield the attention parameter of each click: that of its rank and, for UBM, of the click above."""
    last = longest - 1
    for k in np.flatnonzero(clicks).tolist():
        yield k * longest + last if form == "ubm" else k
        last = k


@pytest.mark.parametrize("form", FORMS)
def test_log_likelihood_and_perplexity_equal_enumeration(form):
    pairs = few_sessions(form)
    fitted = fit_clicks(as_sessions(pairs), form, iterations=3)
    likelihood, bits, shown = 0.0, np.zeros(4), np.zeros(4)
    for items, clicks in pairs:
        every = list(worlds(form, value_in(fitted.blocks), items, 4))
        likelihood += log(sum(p for p, world, _ in every if world == tuple(clicks))) / len(items)
        for k, click in enumerate(clicks):
            chance = sum(p for p, world, _ in every if world[k])
            bits[k] -= log2(chance if click else 1 - chance)
            shown[k] += 1
    assert fitted.train.log_likelihood == pytest.approx(likelihood / len(pairs), abs=1e-12)
    assert fitted.train.by_rank == pytest.approx(2 ** (bits / shown), abs=1e-12)
    assert fitted.train.perplexity == pytest.approx((2 ** (bits / shown)).mean(), abs=1e-12)


def test_an_impossible_click_has_a_millionth_and_long_lists_do_not_underflow():
    sessions = as_sessions([([0, 1, 2] * 300, [True] + [False, True, False] * 299 + [False, False])])
    fitted = fit_clicks(sessions, "cascade")
    # one click plus one success and one failure; the other ranks were not examined
    assert fitted.blocks["attraction"].values[0] == 2 / 3
    assert fitted.train.log_likelihood == pytest.approx((log(2 / 3) + 299 * log(1e-6)) / 900, rel=1e-12)


def named(sessions):
    names = np.array(["q"] * sessions.items, object), np.array([f"d{n}" for n in range(sessions.items)], object)
    return sessions._replace(graded=False, names=names)


@pytest.mark.parametrize("form", FORMS)
def test_errors_of_judgements_are_the_curvature_of_the_enumerated_posterior(form):
    pairs, h = few_sessions(form), 1e-3
    fitted = fit_clicks(named(as_sessions(pairs)), form, errors=False)
    table = judge_documents(fitted, named(as_sessions(pairs))).table
    theta = fitted.blocks["attraction"].values

    def posterior(n, moved):
        value = value_in(fitted.blocks)

        def changed(kind, m):
            return moved if (kind, m) == ("attract", n) else value(kind, m)

        whole = log(moved) + log(1 - moved)
        for items, clicks in pairs:
            whole += log(sum(p for p, world, _ in worlds(form, changed, items, 4) if world == tuple(clicks)))
        return whole

    for n, t in enumerate(theta):
        curvature = (2 * posterior(n, t) - posterior(n, t + h) - posterior(n, t - h)) / h**2
        assert table["error"][n] == pytest.approx(1 / sqrt(curvature), rel=1e-3)


def test_errors_of_counts_are_binomial_and_users_who_repeat_themselves_count_once():
    n = 400
    sessions = drawn("cascade", TRUTHS["cascade"], lists_of(6, 12), n, stream(10, "counts"))
    fitted = fit_clicks(sessions, "cascade", smoothing=0.0)
    theta = fitted.blocks["attraction"].values
    binomial = np.sqrt(theta * (1 - theta) / fitted.fit.asked)
    assert fitted.users == 0 and fitted.errors == pytest.approx(binomial, rel=0.2)
    parts = [np.tile(part, 3) for part in sessions[1:4]]
    again = Sessions(np.arange(0, 18 * n + 1, 6), *parts, 3, True, np.tile(np.arange(n), 3))
    clustered, alone = (fit_clicks(part, "cascade", smoothing=0.0) for part in (again, again._replace(user=None)))
    assert clustered.users == n and clustered.errors == pytest.approx(fitted.errors, rel=1e-9)
    assert alone.errors == pytest.approx(fitted.errors / 3**0.5, rel=0.01)
    unknown = fit_clicks(again._replace(user=np.full(3 * n, -1)), "cascade", smoothing=0.0)
    assert unknown.users == 3 * n and unknown.errors == pytest.approx(alone.errors, rel=1e-9)
    single = fit_clicks(again._replace(user=np.zeros(3 * n, np.int64)), "cascade")
    assert single.users == 1 and np.isnan(single.errors).all()


def test_errors_by_query_count_queries_that_repeat_once():
    """With one session per user and query, both kinds agree; of three equal sessions of a query, one counts."""
    n = 300
    sessions = drawn("cascade", TRUTHS["cascade"], lists_of(6, 12), n, stream(12, "queries"))
    alone = sessions._replace(query=np.arange(n), user=np.arange(n))
    parts = [np.tile(part, 3) for part in sessions[1:3]]
    again = Sessions(np.arange(0, 18 * n + 1, 6), *parts, np.tile(np.arange(n), 3), 3, True, np.arange(3 * n))
    for part, factor in ((alone, 1.0), (again, 3**0.5)):
        user, query = (fit_clicks(part, "cascade", smoothing=0.0, cluster=name).errors for name in ("user", "query"))
        assert query == pytest.approx(user * factor, rel=0.01)
    with pytest.raises(InputError, match="errors by 'query' are for other queries, so they need relevance grades"):
        fit_clicks(again._replace(graded=False), "cascade", cluster="query")


def test_errors_by_query_are_those_of_other_corpora():
    by_user, by_query, spread = errors_over_corpora(corpora=25)
    assert np.all(by_user < 0.75 * spread)
    assert np.all((0.6 * spread < by_query) & (by_query < 1.6 * spread))


def coverage_of_returning_users(form, logs, users=300, visits=10):
    """Return the share of intervals that contain the truth, by user and by session.

    Users see the same list each time, and half of the time repeat their first behaviour.
    """
    hits = [[], []]
    for seed in range(logs):
        rng = stream(seed, "returning", form)
        sessions = drawn(form, TRUTHS[form], np.repeat(lists_of(6, users, seed), visits, axis=0), None, rng)
        click = sessions.click.reshape(users, visits, 6).copy()
        same = rng.random((users, visits)) < 0.5
        click[same] = np.repeat(click[:, :1], visits, axis=1)[same]
        sessions = sessions._replace(click=click.ravel(), user=np.repeat(np.arange(users), visits))
        for hit, part in zip(hits, (sessions, sessions._replace(user=None)), strict=True):
            fitted = fit_clicks(part, form, tolerance=1e-8)
            known = ~np.isnan(fitted.errors)
            off = np.abs(fitted.fit.model.theta - np.concatenate(TRUTHS[form]))[known]
            hit.extend(off < 1.96 * fitted.errors[known])
    return np.mean(hits[0]), np.mean(hits[1])


def test_errors_by_user_cover_where_those_by_session_do_not():
    by_user, by_session = coverage_of_returning_users("sdbn", 40)  # 240 intervals
    assert by_user > 0.9 and by_session < 0.8


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS)
def test_errors_by_user_cover_for_every_model(form):
    by_user, by_session = coverage_of_returning_users(form, 200)
    assert 0.92 < by_user < 0.98 and by_session < 0.85


def errors_in_standard(form, n, seed):
    """Return (estimate - truth) / error of all parameters that have an error, and the errors."""
    sessions = drawn(form, TRUTHS[form], lists_of(6, 20), n, stream(seed, form))
    fitted = fit_clicks(sessions, form, smoothing=1.0, tolerance=1e-10, iterations=3000)
    known = ~np.isnan(fitted.errors)
    assert known[:3].all() and known.sum() >= len(known) - 22  # 22 cells of ubm cannot occur
    return (fitted.fit.model.theta - np.concatenate(TRUTHS[form]))[known] / fitted.errors[known], fitted.errors[known]


@pytest.mark.parametrize("form", FORMS)
def test_parameters_of_a_hundred_thousand_sessions_are_recovered(form):
    z, errors = errors_in_standard(form, 100_000, 2)
    assert np.abs(z).max() < 4 and (np.abs(z) < 1.96).mean() >= 0.75
    assert np.median(errors) < 0.02


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS)
def test_intervals_cover(form):
    z = np.concatenate([errors_in_standard(form, 20_000, seed)[0] for seed in range(60)])
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
    first, rest = pyclick_sessions().split(0.75)
    score = pyclick.judged(form, pyclick.fit(form, first), rest)
    assert (score.log_likelihood, score.perplexity) == pytest.approx(PYCLICK[form], abs=1e-6)


def test_exact_updates_are_more_likely_than_those_of_pyclick():
    sessions = pyclick_sessions()
    theirs = pyclick.judged("sdbn", pyclick.fit("sdbn", sessions, 1000, smoothing=0.1), sessions)
    assert fit_clicks(sessions, "sdbn", smoothing=0.1).train.log_likelihood > theirs.log_likelihood + 1e-3


def test_the_best_model_is_that_of_the_users():
    lists = lists_of(6, 20)
    for form in ("pbm", "sdbn", "ubm"):
        fits = fit_click_models(drawn(form, TRUTHS[form], lists, 20_000, stream(8, form)), ["pbm", "sdbn", "ubm"])
        assert best_fit(fits).form.name in ((form, "ubm") if form == "pbm" else (form,))


@pytest.mark.parametrize("form", TABLES)
def test_a_file_stands_for_the_users_it_was_fitted_to(form, tmp_path):
    sessions = drawn(form, TRUTHS[form], lists_of(6, 20), 20_000, stream(6, form))
    fitted, path = fit_clicks(sessions, form), tmp_path / "users.json"
    save_clicks(fitted, path, source="a log")
    model = click_model(f"{path}:position_bias=0.5", 3)
    assert model.position_bias == 0.5 and model.name.startswith(f"{path}#")
    model = click_model(str(path), 3)
    check_click_model(str(path))
    shown = [2, 0, 1, 1, 0, 2]
    expected = model.examination(shown) * model.attention(6) * [model.p_click[g] for g in shown]
    truth = drawn(form, TRUTHS[form], [shown], 20_000, stream(7, form)).click.reshape(-1, 6).mean(axis=0)
    assert expected == pytest.approx(truth, abs=0.02)
    family = CLICK_MODELS.configure(str(path)).component
    assert family.errors["p_click"] == pytest.approx(fitted.errors[:3], nan_ok=True)
    label = CLICK_MODELS.configure(str(path)).label
    assert CLICK_MODELS.configure(label).label == label
    path.write_text(path.read_text().replace("a log", "another"))
    with pytest.raises(InputError, match="is not the expected file"):
        CLICK_MODELS.configure(label)


def test_a_probability_that_the_sessions_do_not_determine_has_the_error_of_a_uniform_distribution(tmp_path):
    sessions = drawn("dbn", TRUTHS["dbn"], lists_of(6, 20) % 2, 2_000, stream(11, "grade 2 is never shown"))
    fitted = fit_clicks(sessions, "dbn", smoothing=0.0)
    save_clicks(fitted, tmp_path / "users.json")
    errors = CLICK_MODELS.configure(str(tmp_path / "users.json")).component.errors
    assert errors["p_click"] == pytest.approx([*fitted.blocks["attraction"].errors[:2], 12**-0.5])
    satisfied, going_on = fitted.blocks["satisfaction"], fitted.blocks["going on"]
    # an error of a product of two independent factors: p_stop = 1 - (going on) (1 - satisfaction)
    wanted = np.hypot(going_on.values * [*satisfied.errors[:2], 12**-0.5], (1 - satisfied.values) * going_on.errors)
    assert errors["p_stop"] == pytest.approx(wanted) and errors["p_leave"] == pytest.approx([going_on.errors[0]] * 3)
    assert "p_notice" not in errors


GOOD = {"format": "ltr-duel click model 2", "model": "sdbn", "source": "x", "p_click": [0.1, 0.9], "p_stop": [0.2, 0.5]}
GOOD |= {"p_leave": [], "p_notice": [], "errors": {}}


@pytest.mark.parametrize(
    "text, message",
    [
        ('{"format":', "not the JSON file of a click model, or truncated"),
        (json.dumps(GOOD | {"p_click": {"x": 0.1}}), "not the JSON file of a click model"),
        (json.dumps(GOOD | {"format": "other"}), "not a click model of this version: 'format' must be"),
        (json.dumps(GOOD | {"p_click": [0.1, 1.9]}), r"click probability of grade 1 must be between 0 and 1, not 1\.9"),
        (json.dumps(GOOD | {"p_leave": [0.1]}), "needs one probability to leave for each grade, not 1"),
        (json.dumps(GOOD | {"p_notice": [1, 0]}), "'p_notice' must be above 0"),
    ],
)
def test_another_file_is_refused_in_one_sentence(text, message, tmp_path):
    path = tmp_path / "users.json"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        click_model(str(path), 2)
    assert "\n" not in str(caught.value) and "users.json" in str(caught.value)


def test_a_table_keeps_the_click_rates_where_a_rank_of_few_clicks_is_noticed_most():
    lists = [[2, 0]] * 8 + [[1, 1], [0, 2]]
    fitted = fit_clicks(drawn("pbm", Truth([0.1, 0.5, 0.9], place=[0.7, 1.0]), lists, 5_000, stream(9, "pbm")), "pbm")
    attraction, attention = (fitted.blocks[name].values for name in ("attraction", "attention"))
    assert attention[0] == 1.0 and attention[1] > 1.2, "the rank of most clicks is the measure of the others"
    model = fitted.model()
    assert max(model.p_notice) == 1.0
    assert np.outer(model.p_click, model.p_notice) == pytest.approx(np.outer(attraction, attention), rel=1e-9)


def test_sessions_that_determine_nothing_are_refused():
    def refused(sessions, message, **settings):
        with pytest.raises(InputError, match=message):
            fit_click_models(sessions, **settings)

    sessions = as_sessions([([0, 1], [False, True])] * 8)
    refused(as_sessions([([0, 1], [False, False])] * 8), "no session has a click")
    refused(as_sessions([([0], [True])] * 8), "every list has one document")
    refused(sessions.select(np.zeros(8, np.bool_)), "there is no session")
    refused(sessions, "no click model to fit 'pmb'; did you mean 'pbm'", models=["pmb"])
    refused(sessions, "smoothing must be between 0", smoothing=-1.0)
    refused(sessions, "iterations must be between 1", iterations=0)
    refused(sessions, "share to fit to must be between", train=0.0)
    refused(sessions._replace(query=np.arange(8)), "no session is left for the evaluation")
    refused(sessions._replace(items=1), r"an item is not in 0\.\.0")
    assert fit_click_models(sessions, ["sdbn"], train=1.0)[0].test is None
    with pytest.raises(InputError, match="have no table for simulations; fit a log with grades"):
        best_fit(fit_click_models(sessions._replace(graded=False), ["sdbn"]), table=True)
    with pytest.raises(InputError, match="cannot be written as a table"):
        fit_click_models(sessions, ["ubm"])[0].model()


def test_parameters_without_data_stay_at_a_half_and_have_no_error():
    sessions = as_sessions([([0, 1], [True, False]), ([1, 0], [False, True])] * 20)
    values, errors = fit_clicks(sessions, "sdbn", smoothing=0.0).blocks["attraction"]
    assert values[2] == 0.5 and values[:2] == pytest.approx([1.0, 0.0], abs=1e-5)
    assert np.isnan(errors).all(), "at the border no error is stated"


def joined(first, second):
    """Return the sessions of both, with the items of the second."""
    ptr = np.concatenate([first.ptr, first.ptr[-1] + second.ptr[1:]])
    parts = [np.concatenate([getattr(part, name) for part in (first, second)]) for name in ("item", "click", "query")]
    return Sessions(ptr, *parts, second.items, False)


def test_judgements_are_quantiles_of_attractiveness(tmp_path):
    truth = Truth([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], place=[1.0, 0.7, 0.5])
    lists = np.array([[k, (k + 1 + s) % 6, (k + 3 + s) % 6] for k in range(6) for s in range(3)])
    sessions = named(drawn("pbm", truth, lists, 30_000, stream(3, "judged")))
    few = Sessions(np.array([0, 1, 2]), np.array([6, 6]), np.array([True, True]), np.zeros(2, np.int64), 8, False)
    unseen = joined(sessions, few)._replace(names=tuple(np.append(names, ["x", "y"]) for names in sessions.names))
    judgements = judge_documents(fit_clicks(unseen, "pbm", errors=False), unseen, grades=3)
    assert judgements.table["impressions"].tolist()[6:] == [2], "a document never shown is not in the table"
    assert judgements.table["grade"].tolist()[:6] == [0, 0, 1, 1, 2, 2], "thirds of documents with ten impressions"
    assert judgements.table["grade"].isna().tolist() == [False] * 6 + [True]
    with pytest.raises(InputError, match="no document has 1000000 impressions, the least for a grade; the most are"):
        judge_documents(fit_clicks(unseen, "pbm", errors=False), unseen, min_impressions=1_000_000)
    beside = judgements.save(tmp_path / "labels.qrels")
    assert (tmp_path / "labels.qrels").read_text().splitlines()[:3] == ["q 0 d0 0", "q 0 d1 0", "q 0 d2 1"]
    assert len((tmp_path / "labels.qrels").read_text().splitlines()) == 6
    assert beside.name == "labels.attractiveness.csv"
    assert beside.read_text().splitlines()[0] == "query,document,attractiveness,error,impressions"
    with pytest.raises(InputError, match="'d 0' cannot stand in a qrels file"):
        names = unseen.names[0], np.array(["d 0"] * 8, object)
        judge_documents(fit_clicks(unseen, "pbm", errors=False), unseen._replace(names=names))
    with pytest.raises(InputError, match="judgements need a click model that was fitted by document"):
        judge_documents(fit_clicks(sessions._replace(graded=True), "pbm"), sessions)
