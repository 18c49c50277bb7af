"""`fit_clicks`: fit a click model to sessions; a fitted model can be converted to a table for simulations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ltr_duel.clicks.fit.em import Fit, fit_by_em
from ltr_duel.clicks.fit.errors import Errors, standard_errors
from ltr_duel.clicks.fit.evaluate import Score, score
from ltr_duel.clicks.fit.forms import FORMS, Form
from ltr_duel.clicks.fit.sessions import Sessions, check_sessions
from ltr_duel.clicks.fit.walk import Model
from ltr_duel.clicks.model import ClickModel
from ltr_duel.core import FloatVector, InputError
from ltr_duel.core import errors as core_errors

_LISTED = 20  # maximum number of values that are listed
CLUSTERS = ("user", "query")


class Estimates(NamedTuple):
    """Some parameters with their standard errors (nan for an error that the sessions do not determine)."""

    values: FloatVector
    errors: FloatVector


@dataclass(frozen=True)
class FittedClicks:
    """A click model that was fitted to sessions.

    errors: standard errors of ``fit.theta``, clustered by ``cluster`` (see `fit_clicks`); nan if they are unknown.
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
    cluster: str = "user"

    @property
    def blocks(self) -> dict[str, Estimates]:
        """The parameters, keyed by meaning: parameters of items, of positions, and shared parameters."""
        layout, form = self.fit.layout, self.form
        cuts = {"attraction": (0, layout.satisfaction)}
        if form.satisfies:
            cuts["satisfaction"] = (layout.satisfaction, layout.place)
        if form.by_place:
            cuts[form.by_place] = (layout.place, layout.shared)
        for n, name in enumerate(form.shared):
            cuts[name] = (layout.shared + n, layout.shared + n + 1)
        return {name: Estimates(self.fit.theta[a:b], self.errors[a:b]) for name, (a, b) in cuts.items()}

    @property
    def has_table(self) -> bool:
        """Whether clicks and stops depend only on the grade, and attention only on the position."""
        return self.graded and self.form.by_place in ("", "attention")

    def lines(self) -> Iterator[str]:
        """Yield lines with the parameters: value and standard error by grade, by position, or shared."""
        for name, (values, errors) in self.blocks.items():
            if len(values) > _LISTED or (not self.graded and name in ("attraction", "satisfaction")):
                yield f"{name}: {len(values):,} values, mean {values.mean():.3f}"
                continue
            cells = [
                f"{value:.3f}" if np.isnan(error) else f"{value:.3f} ± {error:.3f}"
                for value, error in zip(values, errors, strict=True)
            ]
            of = "by grade " if name in ("attraction", "satisfaction") else "by position " if len(values) > 1 else ""
            yield f"{name} {of}".strip() + ": " + ", ".join(cells)

    def model(self, name: str = "fitted") -> ClickModel:
        """Return the model as a table for simulations.

        Raises `InputError` if items are documents, or the form cannot be written as a table.
        """
        if not self.graded:
            raise InputError(f"{self.form.name} was fitted by document; a table for simulations requires grades")
        if not self.has_table:
            raise InputError(
                f"{self.form.name} cannot be written as a table of grades and positions:"
                f" '{self.form.by_place}' depends on more than the position; use {', '.join(TABLES)}"
            )
        blocks = {name: np.clip(one.values, 0.0, None) for name, one in self.blocks.items()}
        click, notice = blocks["attraction"], blocks.get("attention", np.ones(1))
        click, notice = click * max(1.0, notice.max()), notice / max(1.0, notice.max())
        stop, leave = np.zeros_like(click), np.zeros_like(click)
        if self.form.name == "cascade":
            stop[:] = 1.0
        elif self.form.satisfies:
            going_on = blocks.get("going on", np.ones(1))[0]
            stop, leave = 1 - going_on * (1 - blocks["satisfaction"]), leave + 1 - going_on

        def numbers(values: FloatVector) -> tuple[float, ...]:
            return tuple(np.clip(values, 0.0, 1.0).tolist())

        return ClickModel(
            name,
            numbers(click),
            numbers(stop),
            p_leave=numbers(leave) if leave.any() else (),
            p_notice=numbers(notice) if "attention" in blocks else (),
        )


TABLES = tuple(name for name, form in FORMS.items() if form.by_place in ("", "attention"))


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
    if held_out is not None and held_out.number and held_out.places > sessions.places:
        raise InputError(
            f"a held-out list has {held_out.places} positions, but the longest list to fit has only {sessions.places}"
        )
    form = FORMS[model]
    fit = fit_by_em(form, sessions, iterations, tolerance, smoothing)
    found = standard_errors(form, fit, sessions, cluster) if errors else Errors(np.full(fit.layout.size, np.nan), 0)
    users = Model(form.code, fit.theta, fit.layout)
    test = score(users, held_out) if held_out is not None and held_out.number else None
    return FittedClicks(form, fit, *found, sessions.graded, score(users, sessions), test, cluster)
