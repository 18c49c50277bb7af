"""Fit click models to the sessions of real users, so that simulations can use these models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ltr_duel.clicks.fit.em import Fit, fit_by_em
from ltr_duel.clicks.fit.errors import Errors, standard_errors
from ltr_duel.clicks.fit.form import TINY, Form
from ltr_duel.clicks.fit.forms import FORMS
from ltr_duel.clicks.fit.likelihood import Score, score
from ltr_duel.clicks.fit.sessions import Sessions, check_sessions
from ltr_duel.clicks.model import ClickModel
from ltr_duel.core import FloatVector, InputError
from ltr_duel.core import errors as core_errors

TABLES = tuple(name for name, form in FORMS.items() if "attention, last click" not in form.blocks)
_LISTED = 20  # if a block has more parameters, only their mean is printed
_UNDETERMINED = 12**-0.5  # error of a probability that the sessions do not determine: as for a uniform distribution


class Estimates(NamedTuple):
    """Estimated parameters and their standard errors. A standard error is nan if the sessions do not determine it."""

    values: FloatVector
    errors: FloatVector


@dataclass(frozen=True)
class FittedClicks:
    """A click model that was fitted to sessions."""

    form: Form
    fit: Fit
    errors: Errors
    graded: bool  # whether items are relevance grades
    train: Score  # on the sessions used for fitting
    test: Score | None  # on held-out sessions, if there are any

    @property
    def blocks(self) -> dict[str, Estimates]:
        """A dict from the name of a group of parameters, such as "attraction", to the estimates of the group."""
        theta, items, ranks = self.fit.model
        slices = self.form.slices(items, ranks)
        return {name: Estimates(theta[block], self.errors.values[block]) for name, block in slices}

    @property
    def has_table(self) -> bool:
        """Whether simulations can use the model.

        Simulations need a model with parameters for grades, not for documents. In such a model, the probability that
        users notice a document must depend only on the position of the document.
        """
        return self.graded and self.form.name in TABLES

    def lines(self) -> Iterator[str]:
        """Yield lines of text that show the parameters and their standard errors."""
        for name, (values, deviations) in self.blocks.items():
            by_item = name in ("attraction", "satisfaction")
            relative = " (relative: 1 where most clicks are)" * name.startswith("attention")
            if len(values) > _LISTED or (by_item and not self.graded):
                yield f"{name}{relative}: {len(values):,} values, mean {values.mean():.3f}"
                continue
            pairs = zip(values, deviations, strict=True)
            cells = [f"{value:.3f}" + ("" if np.isnan(error) else f" ± {error:.3f}") for value, error in pairs]
            kind = " by grade" if by_item else " by position" if len(values) > 1 else ""
            yield f"{name}{kind}{relative}: {', '.join(cells)}"

    def table(self, name: str = "fitted") -> tuple[ClickModel, dict[str, list[float]]]:
        """Return the model as a `ClickModel` for simulations, and the standard errors of its probabilities.

        If the sessions do not determine the standard error of a probability, the standard deviation of a uniform
        distribution takes its place. Raises `InputError` if simulations cannot use the model (see `has_table`).
        """
        if not self.has_table:
            raise InputError(
                f"{self.form.name} cannot be written as a table for simulations: this needs sessions with grades, and"
                f" attention by position ({', '.join(TABLES)})"
            )
        blocks, none = self.blocks, Estimates(np.ones(1), np.zeros(1))

        def filled(name: str, missing: float = _UNDETERMINED) -> FloatVector:
            values, deviations = blocks.get(name, none)
            inside = (values > 2 * TINY) & (values < 1 - 2 * TINY)
            return np.where(np.isnan(deviations), missing * inside * ~np.isnan(deviations).all(), deviations)

        click, attention = blocks["attraction"].values, blocks.get("attention", none).values
        going_on, scale, grades = blocks.get("going on", none).values, max(1.0, attention.max()), np.ones(len(click))
        goes = 1 - blocks["satisfaction"].values if "satisfaction" in blocks else grades * (self.form.name != "cascade")
        leave = filled("going on")
        values = {"p_click": click * scale, "p_stop": 1 - going_on * goes, "p_leave": (), "p_notice": ()}
        if "going on" in blocks:
            values["p_leave"] = (1 - going_on) * grades
        if "attention" in blocks:
            values["p_notice"] = attention / scale
        errors = {
            "p_click": filled("attraction") * scale,
            # as if the two estimates were independent
            "p_stop": np.hypot(going_on * filled("satisfaction"), goes * leave),
            "p_leave": leave * grades,
            "p_notice": filled("attention", 0.0) / scale,
        }
        fields: dict[str, Any] = {key: tuple(np.clip(value, 0.0, 1.0).tolist()) for key, value in values.items()}
        return ClickModel(name, **fields), {key: error.tolist() for key, error in errors.items() if error.any()}


def fit_clicks(
    sessions: Sessions, model: str, *, iterations: int = 1000, tolerance: float = 1e-9, smoothing: float = 1.0
) -> FittedClicks:
    """Fit one click model to sessions, by expectation maximisation.

    The model has parameters either for relevance grades or for documents, depending on the sessions. For grades, the
    standard errors say how much the estimates would change with other queries. For documents, the standard errors say
    how much the estimates would change with other users.

    Parameters
    ----------
    sessions : Sessions
        The lists that users saw, and the clicks on them.
    model : {"pbm", "cascade", "dbn", "sdbn", "ubm", "table"}
        The kind of model. ``"pbm"`` is the position-based model, ``"cascade"`` the cascade model, ``"dbn"`` the dynamic
        Bayesian network, ``"sdbn"`` its simplified version, and ``"ubm"`` the user browsing model. ``"table"`` is the
        model that simulations use.
    iterations : int
        The largest number of steps of the fit.
    tolerance : float
        The change of the log-likelihood per session below which the fit ends.
    smoothing : float
        The number of artificial successes, and of artificial failures, that are added to the data of each parameter.
        They move the parameter, which is a probability, towards one half. With 0, the fit is maximum likelihood.

    Returns
    -------
    FittedClicks

    Raises
    ------
    InputError
        If the model does not exist, a setting is out of range, or no model can be fitted to the sessions.

    Examples
    --------
    >>> ptr, item = np.arange(0, 202, 2), np.tile([1, 0], 100)
    >>> click = np.tile([True, False], 100)
    >>> sessions = Sessions(ptr, item, click, np.zeros(100, np.int64), 2, True)
    >>> fit_clicks(sessions, "cascade").table()[0].p_click[1] > 0.98
    True
    """
    core_errors.require_one_of("click model to fit", model, FORMS)
    core_errors.require_between("iterations", iterations, 1, 1_000_000)
    core_errors.require_between("tolerance", tolerance, 0, 1)
    core_errors.require_between("smoothing", smoothing, 0, 1_000_000)
    check_sessions(sessions)
    fit = fit_by_em(FORMS[model], sessions, iterations, tolerance, smoothing)
    errors = standard_errors(fit, sessions)
    return FittedClicks(FORMS[model], fit, errors, sessions.graded, score(fit.model, sessions), None)


def fit_click_models(
    sessions: Sessions, models: Sequence[str] = (), *, train: float = 0.75, **settings: Any
) -> list[FittedClicks]:
    """Fit click models, by default all, and measure how well they predict other sessions.

    The first sessions, a share ``train`` of all sessions, are used to fit the models, and the later sessions to
    evaluate them. A later session is left out if its query does not occur in the first sessions, or if its list is
    longer than all lists of the first sessions. Raises `InputError` as `fit_clicks` does, or if no session is left for
    the evaluation.
    """
    core_errors.require_between("the share to fit to", train, 0.001, 1)
    check_sessions(sessions)
    first, rest = sessions.split(train)
    rest = rest.select(np.diff(rest.ptr) <= first.longest)
    if train < 1 and not rest.number:
        raise InputError(
            f"no session is left for the evaluation: of {sessions.number:,} sessions, {first.number:,} are used to fit,"
            " and no other session has one of their queries; use --train 1 to skip the evaluation"
        )
    fits = [fit_clicks(first, name, **settings) for name in dict.fromkeys(models or FORMS)]
    return [replace(fit, test=score(fit.fit.model, rest)) for fit in fits] if rest.number else fits


def best_fit(fits: Sequence[FittedClicks], *, table: bool = False) -> FittedClicks:
    """Return the model that predicts held-out sessions best.

    If no sessions were held out, the models are compared on the sessions to which they were fitted. With ``table``,
    only models that simulations can use are compared, if there are any.
    """
    fitting = [fit for fit in fits if fit.has_table] if table else []
    return max(fitting or fits, key=lambda fit: (fit.test or fit.train).log_likelihood)
