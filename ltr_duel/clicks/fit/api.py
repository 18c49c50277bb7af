"""`fit_clicks`, `fit_click_models`: fit click models to sessions; a fitted model can become a table for simulations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ltr_duel.clicks.fit.em import Fit, fit_by_em
from ltr_duel.clicks.fit.errors import Errors, standard_errors
from ltr_duel.clicks.fit.form import TINY, Form
from ltr_duel.clicks.fit.forms import FORMS
from ltr_duel.clicks.fit.likelihood import Score, score
from ltr_duel.clicks.fit.sessions import Sessions, check_sessions
from ltr_duel.clicks.model import ClickModel
from ltr_duel.core import FloatVector, InputError
from ltr_duel.core import errors as core_errors

TABLES = tuple(name for name, form in FORMS.items() if form.has_table)
CLUSTERS = ("user", "query")
_LISTED = 20  # maximum number of values that are listed
_FEW_USERS = 20  # standard errors that are based on fewer users, or fewer queries, are too small
_UNDETERMINED = 12**-0.5  # error of a probability that the sessions do not determine: that of a uniform distribution


class Estimates(NamedTuple):
    """Some parameters with their standard errors (nan for an error that the sessions do not determine)."""

    values: FloatVector
    errors: FloatVector


@dataclass(frozen=True)
class FittedClicks:
    """A click model that was fitted to sessions.

    errors: standard errors of all parameters, clustered by ``cluster`` (see `fit_clicks`); nan if they are unknown.
    users: number of independent users; 0 if sessions are treated as independent.
    graded: whether items are relevance grades.
    train, test: scores on the sessions used for fitting, and on held-out sessions (None if no session is held out).
    """

    form: Form
    fit: Fit
    errors: FloatVector
    users: int
    graded: bool
    train: Score
    test: Score | None
    cluster: str
    smoothing: float

    @property
    def blocks(self) -> dict[str, Estimates]:
        """The parameters, keyed by meaning: parameters of items, of positions, and shared parameters."""
        theta, items, ranks = self.fit.model
        slices = self.form.slices(items, ranks)
        return {name: Estimates(theta[block], self.errors[block]) for name, block in slices}

    @property
    def has_table(self) -> bool:
        """Whether clicks and stops depend only on the grade, and attention only on the position."""
        return self.graded and self.form.has_table

    def lines(self) -> Iterator[str]:
        """Yield lines with the parameters: value and standard error by grade, by position, or shared."""
        for name, (values, errors) in self.blocks.items():
            by_item = name in ("attraction", "satisfaction")
            if len(values) > _LISTED or (by_item and not self.graded):
                yield f"{name}: {len(values):,} values, mean {values.mean():.3f}"
                continue
            pairs = zip(values, errors, strict=True)
            cells = [f"{value:.3f}" + ("" if np.isnan(error) else f" ± {error:.3f}") for value, error in pairs]
            kind = " by grade" if by_item else " by position" if len(values) > 1 else ""
            yield f"{name}{kind}: {', '.join(cells)}"

    def model(self, name: str = "fitted") -> ClickModel:
        """Return the model as a table for simulations.

        Raises `InputError` if items are documents, or the form cannot be written as a table.
        """
        if not self.graded:
            raise InputError(f"{self.form.name} was fitted by document; a table for simulations requires grades")
        if not self.has_table:
            raise InputError(
                f"{self.form.name} cannot be written as a table of grades and positions:"
                f" its attention depends on more than the position; use {', '.join(TABLES)}"
            )
        blocks = {name: np.clip(block.values, 0.0, None) for name, block in self.blocks.items()}
        click, notice = blocks["attraction"], blocks.get("attention", np.ones(1))
        click, notice = click * max(1.0, notice.max()), notice / max(1.0, notice.max())
        stop, leave = np.zeros_like(click), np.zeros_like(click)
        if self.form.name == "cascade":
            stop[:] = 1.0
        elif "satisfaction" in blocks:
            going_on = blocks.get("going on", np.ones(1))[0]
            stop, leave = 1 - going_on * (1 - blocks["satisfaction"]), leave + 1 - going_on
        rows = (click, stop, leave if leave.any() else (), notice if "attention" in blocks else ())
        p_click, p_stop, p_leave, p_notice = (tuple(np.clip(row, 0.0, 1.0).tolist()) for row in rows)
        return ClickModel(name, p_click, p_stop, p_leave=p_leave, p_notice=p_notice)

    def table_errors(self) -> dict[str, list[float]]:
        """Return the standard errors of the table's probabilities that have any, keyed as in `ClickModel`.

        The error of p_stop = 1 - (going on) (1 - satisfaction) is computed as if the two factors were independent. A
        probability inside 0..1 that the sessions do not determine has the error of a uniform distribution, unless it is
        the attention that defines the scale.
        """
        blocks, none = self.blocks, Estimates(np.ones(1), np.zeros(1))

        def filled(name: str, missing: float = _UNDETERMINED) -> FloatVector:
            values, errors = blocks.get(name, none)
            inside = (values > 2 * TINY) & (values < 1 - 2 * TINY)
            return np.where(np.isnan(errors), missing * inside * ~np.isnan(errors).all(), errors)

        satisfied, going_on = blocks.get("satisfaction", none), blocks.get("going on", none)
        leave = filled("going on")
        rows = {
            "p_click": filled("attraction") * max(1.0, blocks.get("attention", none).values.max()),
            "p_stop": np.hypot(going_on.values * filled("satisfaction"), (1 - satisfied.values) * leave),
            "p_leave": np.repeat(leave, len(blocks["attraction"].values)),
            "p_notice": filled("attention", 0.0) / max(1.0, blocks.get("attention", none).values.max()),
        }
        return {name: errors.tolist() for name, errors in rows.items() if errors.any()}


def fit_clicks(
    sessions: Sessions,
    model: str,
    *,
    held_out: Sessions | None = None,
    iterations: int = 1000,
    tolerance: float = 1e-9,
    smoothing: float = 1.0,
    cluster: str = "user",
    errors: bool = True,
) -> FittedClicks:
    """Fit one click model by expectation maximisation.

    Parameters
    ----------
    sessions : Sessions
        The shown lists and the clicks.
    model : {"pbm", "cascade", "dbn", "sdbn", "ubm", "table"}
        In this order: position-based model, cascade model, dynamic Bayesian network (DBN), simplified DBN, and user
        browsing model. ``"table"`` is the model of `ClickModel`, a simplified DBN with attention by position.
    held_out : Sessions, optional
        Sessions for evaluating the model.
    iterations : int
        Maximum number of steps; all probabilities begin at 0.5.
    tolerance : float
        The fit ends when a step increases the log-likelihood per session by less than this value.
    smoothing : float
        Each parameter gets this number of additional successes, and the same number of additional failures. The
        estimate is the posterior mode for a Beta(1 + smoothing, 1 + smoothing) prior; 0 gives plain maximum likelihood.
    cluster : {"user", "query"}
        The population to which the standard errors apply: other users with these queries, or other queries with these
        users. Models fitted by document allow only "user", because each document belongs to one query.
    errors : bool
        Whether to compute standard errors, which takes about half of the time; otherwise they are nan.

    Returns
    -------
    FittedClicks

    Raises
    ------
    InputError
        If the model does not exist, a setting is out of range, or the sessions do not determine any parameter.

    Examples
    --------
    >>> ptr, item = np.arange(0, 202, 2), np.tile([1, 0], 100)
    >>> click = np.tile([True, False], 100)
    >>> sessions = Sessions(ptr, item, click, np.zeros(100, np.int64), 2, True)
    >>> fit_clicks(sessions, "cascade").model().p_click[1] > 0.98
    True
    """
    core_errors.require_one_of("click model to fit", model, FORMS)
    core_errors.require_one_of("kind of cluster", cluster, CLUSTERS)
    if cluster != "user" and not sessions.graded:
        raise InputError(
            f"standard errors by '{cluster}' are for other queries, so they need relevance grades: the parameters of a"
            " document belong to one query only"
        )
    core_errors.require_between("iterations", iterations, 1, 1_000_000)
    core_errors.require_between("tolerance", tolerance, 0, 1)
    core_errors.require_between("smoothing", smoothing, 0, 1_000_000)
    check_sessions(sessions)
    if held_out is not None and held_out.longest > sessions.longest:
        longest = f"but the longest list to fit has only {sessions.longest}"
        raise InputError(f"a held-out list has {held_out.longest} positions, {longest}")
    form = FORMS[model]
    fit = fit_by_em(form, sessions, iterations, tolerance, smoothing)
    stated = standard_errors(fit, sessions, cluster) if errors else Errors(np.full(len(fit.asked), np.nan), 0)
    test = score(fit.model, held_out) if held_out is not None and held_out.number else None
    return FittedClicks(form, fit, *stated, sessions.graded, score(fit.model, sessions), test, cluster, smoothing)


def fit_click_models(
    sessions: Sessions, models: Sequence[str] = (), *, train: float = 0.75, **settings: Any
) -> list[FittedClicks]:
    """Fit click models, by default all, to a share of the sessions (``train``), and evaluate them on the others.

    The evaluation omits sessions whose query does not occur in the sessions used for fitting. Raises `InputError` as
    `fit_clicks` does, or if no session is left for the evaluation.
    """
    for name in models:
        core_errors.require_one_of("click model to fit", name, FORMS)
    core_errors.require_between("the share to fit to", train, 0.001, 1)
    check_sessions(sessions)
    first, rest = sessions.split(train)
    if train < 1 and not rest.number:
        raise InputError(
            f"no session is left for the evaluation: of {sessions.number:,} sessions, {first.number:,} are used to fit,"
            " and no other session has one of their queries; use --train 1 to skip the evaluation"
        )
    return [fit_clicks(first, name, held_out=rest, **settings) for name in dict.fromkeys(models or FORMS)]


def best_fit(fits: Sequence[FittedClicks], *, table: bool = False) -> FittedClicks:
    """Return the model with the best log-likelihood on held-out sessions or, without them, on the fitted sessions.

    With ``table`` only models that can be converted to a table for simulations are considered; raises `InputError` if
    no model is left.
    """
    fitting = [fit for fit in fits if fit.has_table or not table]
    if not fitting:
        if fits and not fits[0].graded:
            raise InputError("models fitted by document have no table for simulations; fit a log with grades")
        raise InputError(f"no fitted model has a table of grades and positions; fit {', '.join(TABLES)}")
    return max(fitting, key=lambda fit: (fit.test or fit.train).log_likelihood)


def fit_lines(sessions: Sessions, fits: Sequence[FittedClicks]) -> Iterator[str]:
    """Yield lines that describe the sessions used for fitting and for evaluation."""
    fit = fits[0]
    items = f"{sessions.items:,} relevance grades" if sessions.graded else f"{sessions.items:,} documents of queries"
    yield f"{sessions.number:,} sessions, {sessions.click.sum():,} clicks, up to {sessions.longest} positions, {items}"
    stopped = ", ".join(fit.form.name for fit in fits if not fit.fit.converged)
    if stopped:
        yield f"not converged: {stopped}; raise --iterations, or --tolerance if the log-likelihood is precise enough"
    yield f"fitted to {fit.train.sessions:,}; {f'{fit.test.sessions:,}' if fit.test else 'none'} held out"
    if fit.cluster == "user" and not fit.users:
        yield "standard errors assume that sessions are independent, because no user is known"
    else:
        queries = len(np.unique(sessions.query[: fit.train.sessions]))
        number, kind = (fit.users, "users") if fit.cluster == "user" else (queries, "queries")
        few = ", too few to be reliable" * (0 < number < _FEW_USERS)
        yield f"standard errors are clustered by {number:,} {kind}{few}"
    if fit.cluster == "user" and fit.graded:
        yield (
            "the errors apply only to these queries, because documents of one grade differ between queries;"
            " use --cluster query for errors that apply to other queries"
        )


def fits_table(fits: Sequence[FittedClicks]) -> pd.DataFrame:
    """Return a table of strings: each model's size, log-likelihood and perplexity."""
    rows = []
    for fit in fits:
        test = fit.test
        rows.append(
            {
                "model": fit.form.name,
                "parameters": f"{len(fit.fit.asked):,}",
                "iterations": f"{fit.fit.iterations:,}" + " (limit)" * (not fit.fit.converged),
                "log-likelihood": f"{fit.train.log_likelihood:.4f}",
                "held out": f"{test.log_likelihood:.4f}" if test else "",
                "perplexity": f"{fit.train.perplexity:.4f}",
                "held-out perplexity": f"{test.perplexity:.4f}" if test else "",
                "source": fit.form.cite,
            }
        )
    return pd.DataFrame(rows)
