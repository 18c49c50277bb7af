"""Fitted click models: EM against enumeration, known parameters, files for --clicks, judgements."""

from __future__ import annotations

import json
from math import log, sqrt

import numpy as np
import pytest

from benchmarks.studies.errors_clicks import errors_over_corpora
from ltr_duel.clicks import (
    CLICK_MODELS,
    FORMS,
    TABLES,
    Sessions,
    best_fit,
    click_model,
    fit_click_models,
    fit_clicks,
    judge_documents,
    save_clicks,
)
from ltr_duel.core import InputError, stream
from tests.reference.fitted_clicks import Truth, drawn, em, worlds

ATTRACT, SATISFY, ATTENTION = [0.15, 0.4, 0.8], [0.2, 0.5, 0.7], [1.0, 0.85, 0.7, 0.5, 0.4, 0.3]
TRUTHS = {
    "pbm": Truth(ATTRACT, place=ATTENTION),
    "cascade": Truth(ATTRACT),
    "dbn": Truth(ATTRACT, SATISFY, shared=[0.85]),
    "sdbn": Truth(ATTRACT, SATISFY),
    "ubm": Truth(ATTRACT, place=[1.0 if n == 5 else 0.9 - 0.1 * (n // 6) + 0.02 * (n % 6) for n in range(36)]),
    "table": Truth(ATTRACT, SATISFY, ATTENTION),
}
KINDS = {"attraction": "attract", "satisfaction": "satisfy", "going on": "shared"}


def lists_of(length, n, seed=0):
    return stream(seed, "lists").integers(0, 3, (n, length))


def as_sessions(pairs, items=3):
    ptr = np.concatenate([[0], np.cumsum([len(shown) for shown, _ in pairs])])
    item = np.array([i for shown, _ in pairs for i in shown])
    click = np.array([bool(c) for _, clicks in pairs for c in clicks])
    return Sessions(ptr, item, click, np.zeros(len(pairs), np.int64), items, True)


def few_sessions(form, lists=None):
    sessions = drawn(form, TRUTHS[form], lists_of(6, 12) if lists is None else lists, 40, stream(1, form))
    pairs = []
    for s, start in enumerate(sessions.ptr[:-1]):
        n = min(4, sessions.longest) - s % 3  # lists of several lengths
        pairs.append((sessions.item[start : start + n].tolist(), sessions.click[start : start + n].tolist()))
    return pairs


def likelihood_of(form, blocks, items, clicks, ranks=4, **moved):
    """Pr(clicks) by enumeration; ``moved``: another attraction, by item."""
    values = {KINDS.get(name, "place"): block.values for name, block in blocks.items()}

    def value(kind, n):
        return moved.get(f"_{n}", values[kind][n]) if kind == "attract" else values[kind][n]

    return sum(p for p, world, _ in worlds(form, value, items, ranks) if world == tuple(clicks))


@pytest.mark.parametrize("form", FORMS)
def test_em_and_log_likelihood_equal_enumeration_of_all_that_could_have_happened(form):
    pairs = few_sessions(form)
    fitted = fit_clicks(as_sessions(pairs), form, iterations=4, tolerance=0.0)
    wanted, scale = em(form, pairs, 4, 4), 1.0
    if "attention" in "".join(fitted.blocks):
        counts = np.zeros(16)
        for _, clicks in pairs:
            last = 3  # stands for no click above
            for k in np.flatnonzero(clicks):
                counts[k * 4 + last if form == "ubm" else k] += 1
                last = k
        scale = wanted["place", counts.argmax()]
    for name, block in fitted.blocks.items():
        kind = KINDS.get(name, "place")
        expected = np.array([wanted[kind, n] for n in range(len(block.values))])
        expected *= {"attract": scale, "place": 1 / scale}.get(kind, 1.0)
        assert block.values == pytest.approx(expected, abs=1e-12)
    logs = [log(likelihood_of(form, fitted.blocks, items, clicks)) / len(items) for items, clicks in pairs]
    assert fitted.train.log_likelihood == pytest.approx(np.mean(logs), abs=1e-12)


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
    pairs, h = few_sessions(form, [[0, 1, 2], [2, 0, 1], [1, 2, 0], [2, 1, 0]]), 1e-3
    sessions = named(as_sessions(pairs))
    fitted = fit_clicks(sessions, form)
    table = judge_documents(fitted, sessions).table

    def posterior(n, moved):
        logs = [log(likelihood_of(form, fitted.blocks, *pair, 3, **{f"_{n}": moved})) for pair in pairs]
        return log(moved) + log(1 - moved) + sum(logs)

    for n, t in enumerate(fitted.blocks["attraction"].values):
        curvature = (2 * posterior(n, t) - posterior(n, t + h) - posterior(n, t - h)) / h**2
        assert table["error"][n] == pytest.approx(1 / sqrt(curvature), rel=1e-3)


def test_errors_of_counts_are_binomial_and_clusters_that_repeat_themselves_count_once():
    n = 400
    sessions = drawn("cascade", TRUTHS["cascade"], lists_of(6, 12), n, stream(10, "counts"))._replace(graded=False)
    fitted = fit_clicks(sessions, "cascade", smoothing=0.0)
    theta, errors = fitted.blocks["attraction"].values, fitted.errors.values
    assert fitted.errors[1:] == ("session", n)
    assert errors == pytest.approx(np.sqrt(theta * (1 - theta) / fitted.fit.trials), rel=0.2)
    item, click, number = np.tile(sessions.item, 3), np.tile(sessions.click, 3), np.tile(np.arange(n), 3)
    thrice = Sessions(np.arange(0, 18 * n + 1, 6), item, click, number, 3, False)
    for graded, user, cluster, clusters, factor in (
        (False, number, "user", n, 1),
        (True, None, "query", n, 1),
        (False, None, "session", 3 * n, 1 / sqrt(3)),
        (False, np.full(3 * n, -1), "user", 3 * n, 1 / sqrt(3)),  # unknown users
    ):
        again = fit_clicks(thrice._replace(graded=graded, user=user), "cascade", smoothing=0.0).errors
        assert again[1:] == (cluster, clusters) and again.values == pytest.approx(errors * factor, rel=0.01)
    single = fit_clicks(thrice._replace(user=np.zeros(3 * n, np.int64)), "cascade").errors
    assert single.clusters == 1 and np.isnan(single.values).all()


def test_errors_of_grades_are_those_of_other_corpora():
    by_user, by_query, spread = errors_over_corpora(corpora=20)
    assert np.all(by_user < 0.75 * spread)
    assert np.all((0.6 * spread < by_query) & (by_query < 1.6 * spread))


@pytest.mark.parametrize("form", FORMS)
def test_parameters_of_many_sessions_are_recovered_within_their_errors(form):
    sessions = drawn(form, TRUTHS[form], lists_of(6, 20), 100_000, stream(2, form))._replace(graded=False)
    fitted = fit_clicks(sessions, form, tolerance=1e-10, iterations=3000)
    known = ~np.isnan(fitted.errors.values)
    assert known[:3].all() and known.sum() >= len(known) - 22  # 22 cells of ubm cannot occur
    z = (fitted.fit.model.theta - np.concatenate(TRUTHS[form]))[known] / fitted.errors.values[known]
    assert np.abs(z).max() < 4 and (np.abs(z) < 1.96).mean() >= 0.75
    assert np.median(fitted.errors.values[known]) < 0.03


def test_the_click_model_of_the_users_fits_best():
    for form in ("pbm", "sdbn", "ubm"):
        sessions = drawn(form, TRUTHS[form], lists_of(6, 20), 20_000, stream(8, form))
        fits = fit_click_models(sessions, ["pbm", "sdbn", "ubm"])
        assert best_fit(fits).form.name in ((form, "ubm") if form == "pbm" else (form,))
        assert best_fit(fits, table=True).form.name != "ubm"


@pytest.mark.parametrize("form", TABLES)
def test_a_file_stands_for_the_users_it_was_fitted_to(form, tmp_path):
    sessions = drawn(form, TRUTHS[form], lists_of(6, 20), 20_000, stream(6, form))
    fitted, path = fit_clicks(sessions, form), tmp_path / "users.json"
    save_clicks(fitted, path, source="a log")
    assert click_model(f"{path}:position_bias=0.5", 3).position_bias == 0.5
    model, shown = click_model(str(path), 3), [2, 0, 1, 1, 0, 2]
    expected = model.examination(shown) * model.attention(6) * [model.p_click[g] for g in shown]
    rates = drawn(form, TRUTHS[form], [shown], 20_000, stream(7, form)).click.reshape(-1, 6).mean(axis=0)
    assert expected == pytest.approx(rates, abs=0.02)
    label, family, _ = CLICK_MODELS.configure(str(path))
    assert family.errors["p_click"] == pytest.approx(fitted.errors.values[:3], nan_ok=True)
    path.write_text(path.read_text().replace("a log", "another"))
    with pytest.raises(InputError, match="is not the expected file"):
        CLICK_MODELS.configure(label)


def test_a_probability_that_the_sessions_do_not_determine_has_the_error_of_a_uniform_distribution():
    sessions = drawn("dbn", TRUTHS["dbn"], lists_of(6, 20) % 2, 2_000, stream(11, "grade 2 is never shown"))
    fitted = fit_clicks(sessions, "dbn", smoothing=0.0)
    errors, satisfied, going_on = fitted.table()[1], fitted.blocks["satisfaction"], fitted.blocks["going on"]
    assert errors["p_click"] == pytest.approx([*fitted.blocks["attraction"].errors[:2], 12**-0.5])
    # an error of a product of two independent factors: p_stop = 1 - (going on) (1 - satisfaction)
    wanted = np.hypot(going_on.values * [*satisfied.errors[:2], 12**-0.5], (1 - satisfied.values) * going_on.errors)
    assert errors["p_stop"] == pytest.approx(wanted) and errors["p_leave"] == pytest.approx([going_on.errors[0]] * 3)
    assert "p_notice" not in errors


def test_a_file_that_is_no_fitted_click_model_is_refused(tmp_path):
    save_clicks(fit_clicks(as_sessions([([0, 1], [False, True])] * 8), "sdbn"), path := tmp_path / "users.json")
    good = json.loads(path.read_text())
    for text, sentence in {
        '{"format":': "not the JSON file of a click model, or truncated",
        json.dumps(good | {"p_click": {"x": 0.1}}): "not the JSON file of a click model",
        json.dumps(good | {"format": "other"}): "not a click model of this version: 'format' must be",
        json.dumps(good | {"p_click": [0.1, 1.9, 0.2]}): r"p_click\[1\] must be between 0 and 1, not 1\.9",
    }.items():
        path.write_text(text)
        with pytest.raises(InputError, match=rf"users\.json.*{sentence}"):
            click_model(str(path), 3)


def test_a_table_keeps_the_click_rates_where_a_rank_of_few_clicks_is_noticed_most():
    lists = [[2, 0]] * 8 + [[1, 1], [0, 2]]
    fitted = fit_clicks(drawn("pbm", Truth([0.1, 0.5, 0.9], place=[0.7, 1.0]), lists, 5_000, stream(9, "pbm")), "pbm")
    attraction, attention = (fitted.blocks[name].values for name in ("attraction", "attention"))
    assert attention[0] == 1.0 and attention[1] > 1.2, "the rank of most clicks is the measure of the others"
    model = fitted.table()[0]
    assert max(model.p_notice) == 1.0
    assert np.outer(model.p_click, model.p_notice) == pytest.approx(np.outer(attraction, attention), rel=1e-9)


def test_sessions_that_determine_nothing_are_refused():
    good = as_sessions([([0, 1], [False, True])] * 8)
    for sessions, sentence, settings in (
        (as_sessions([([0, 1], [False, False])] * 8), "these sessions have none", {}),
        (as_sessions([([0], [True])] * 8), "these sessions have none", {}),
        (good.select(np.zeros(8, np.bool_)), "these sessions have none", {}),
        (good._replace(query=np.zeros(7, np.int64)), "the arrays are inconsistent", {}),
        (good._replace(items=1), r"an item is not in 0\.\.0", {}),
        (good, "no click model to fit 'pmb'; did you mean 'pbm'", {"models": ["pmb"]}),
        (good, "smoothing must be between 0", {"smoothing": -1.0}),
        (good, "share to fit to must be between", {"train": 0.0}),
        (good._replace(query=np.arange(8)), "no session is left for the evaluation", {}),
    ):
        with pytest.raises(InputError, match=sentence):
            fit_click_models(sessions, **settings)
    assert fit_click_models(good, ["sdbn"], train=1.0)[0].test is None
    for fitted in (fit_clicks(good, "ubm"), fit_clicks(good._replace(graded=False), "sdbn")):
        with pytest.raises(InputError, match="cannot be written as a table"):
            fitted.table()


def test_judgements_are_quantiles_of_attractiveness(tmp_path):
    truth = Truth([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], place=[1.0, 0.7, 0.5])
    lists = [[k, (k + 1 + s) % 6, (k + 3 + s) % 6] for k in range(6) for s in range(3)]
    drawn_sessions = drawn("pbm", truth, lists, 30_000, stream(3, "judged"))
    ptr = np.append(drawn_sessions.ptr, drawn_sessions.ptr[-1] + [1, 2])  # document 6 is shown twice, 7 never
    item, click, query = (
        np.append(part, [6, 6]) for part in (drawn_sessions.item, drawn_sessions.click, drawn_sessions.query)
    )
    sessions = named(Sessions(ptr, item, click > 0, query, 8, False))
    fitted = fit_clicks(sessions, "pbm")
    judgements = judge_documents(fitted, sessions, grades=3)
    assert judgements.table["impressions"].tolist()[6:] == [2], "a document never shown is not in the table"
    assert judgements.table["grade"].tolist()[:6] == [0, 0, 1, 1, 2, 2], "thirds of documents with ten impressions"
    assert judgements.table["grade"].isna().tolist() == [False] * 6 + [True]
    beside = judgements.save(tmp_path / "labels.qrels")
    assert (tmp_path / "labels.qrels").read_text() == "".join(f"q 0 d{k} {k // 2}\n" for k in range(6))
    assert beside.name == "labels.attractiveness.csv"
    assert beside.read_text().splitlines()[0] == "query,document,attractiveness,error,impressions"
    with pytest.raises(InputError, match="no document has 1000000 impressions, the least for a grade; the most are"):
        judge_documents(fitted, sessions, min_impressions=1_000_000)
    with pytest.raises(InputError, match="'d 0' cannot stand in a qrels file"):
        judge_documents(fitted, sessions._replace(names=(sessions.names[0], np.array(["d 0"] * 8, object))))
    with pytest.raises(InputError, match="judgements need a click model that was fitted by document"):
        judge_documents(fitted, sessions._replace(names=None))
