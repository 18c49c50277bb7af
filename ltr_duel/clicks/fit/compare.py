"""Comparison of fitted models by their predictions of held-out sessions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ltr_duel.clicks.fit.api import TABLES, FittedClicks, fit_clicks
from ltr_duel.clicks.fit.forms import FORMS
from ltr_duel.clicks.fit.sessions import Sessions, check_sessions
from ltr_duel.core import InputError, errors

_FEW_USERS = 20  # standard errors that are based on fewer users, or fewer queries, are too small
_PLACES = 10  # number of positions shown in a table


def fit_click_models(
    sessions: Sessions, models: Sequence[str] = (), *, train: float = 0.75, **settings: Any
) -> list[FittedClicks]:
    """Fit click models, by default all, to a share of the sessions (``train``), and evaluate them on the others.

    The evaluation omits sessions whose query does not occur in the sessions used for fitting. Raises `InputError` as
    `fit_clicks` does, or if no session is left for the evaluation.
    """
    for name in models:
        errors.require_one_of("click model to fit", name, FORMS)
    errors.require_between("the share to fit to", train, 0.001, 1)
    check_sessions(sessions)
    first, rest = sessions.split(train)
    if train < 1 and not rest.number:
        raise InputError(
            f"no session is left for the evaluation: of {sessions.number:,} sessions, {first.number:,} are used to fit,"
            " and no other session has one of their queries; use --train 1 to skip the evaluation"
        )
    names = dict.fromkeys(models or FORMS)
    return [fit_clicks(first, name, held_out=rest, **settings) for name in names]


def best_fit(fits: Sequence[FittedClicks], *, table: bool = False) -> FittedClicks:
    """Return the model with the best log-likelihood on held-out sessions or, if there are none, on the fitted sessions.

    table: whether to consider only models that can be converted to a table for simulations.

    Raises `InputError` if no model is left.
    """
    among = [one for one in fits if one.has_table or not table]
    if not among:
        if fits and not fits[0].graded:
            raise InputError("models fitted by document have no table for simulations; fit a log with grades")
        raise InputError(f"no fitted model has a table of grades and positions; fit {', '.join(TABLES)}")
    return max(among, key=lambda one: (one.test or one.train).log_likelihood)


def fit_lines(sessions: Sessions, fits: Sequence[FittedClicks]) -> Iterator[str]:
    """Yield lines that describe the sessions used for fitting and for evaluation."""
    one = fits[0]
    items = f"{sessions.items:,} relevance grades" if sessions.graded else f"{sessions.items:,} documents of queries"
    yield f"{sessions.number:,} sessions, {sessions.click.sum():,} clicks, up to {sessions.places} positions, {items}"
    held_out = f"; {one.test.sessions:,} held out" if one.test else "; none held out"
    yield f"fitted to {one.train.sessions:,}{held_out}"
    users = f"{one.users:,} users" if one.users else "session (no user is known)"
    queries = len(np.unique(sessions.query[: one.train.sessions]))
    by, number = (users, one.users) if one.cluster == "user" else (f"{queries:,} queries", queries)
    few = 0 < number < _FEW_USERS
    if one.cluster == "user" and not one.users:
        yield "standard errors assume that sessions are independent, because no user is known"
    else:
        yield f"standard errors are clustered by {by}" + ", too few to be reliable" * few
    if one.cluster == "user" and one.graded:
        yield (
            "the errors apply only to these queries, because documents of one grade differ between queries;"
            " use --cluster query for errors that apply to other queries"
        )


def fits_table(fits: Sequence[FittedClicks]) -> pd.DataFrame:
    """Return a table of strings: each model's size, log-likelihood and perplexity."""
    rows = []
    for one in fits:
        held = one.test
        rows.append(
            {
                "model": one.form.name,
                "parameters": f"{one.fit.layout.size:,}",
                "iterations": f"{one.fit.iterations:,}",
                "log-likelihood": f"{one.train.log_likelihood:.4f}",
                "held out": f"{held.log_likelihood:.4f}" if held else "",
                "perplexity": f"{one.train.perplexity:.4f}",
                "held-out perplexity": f"{held.perplexity:.4f}" if held else "",
                "source": one.form.cite,
            }
        )
    return pd.DataFrame(rows)


def places_table(fits: Sequence[FittedClicks]) -> pd.DataFrame:
    """Return a table of strings: the held-out perplexity of each position."""
    rows = []
    for one in fits:
        by_place = (one.test or one.train).by_place[:_PLACES]
        rows.append({"perplexity at": one.form.name, **{str(k): f"{value:.3f}" for k, value in enumerate(by_place, 1)}})
    return pd.DataFrame(rows)
