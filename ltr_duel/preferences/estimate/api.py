"""Estimate a preference matrix: compare all pairs of rankers on simulated users."""

from __future__ import annotations

import numpy as np

from ltr_duel.clicks import ClickModel
from ltr_duel.core import FloatMatrix, InputError, IntVector, errors, host, parallel
from ltr_duel.preferences.estimate.counting import BLOCK, PairCounter, count_sets
from ltr_duel.preferences.estimate.settings import FEW, MANY, Settings, make_settings
from ltr_duel.preferences.matrix import PreferenceMatrix
from ltr_duel.preferences.tally import MOST_COMPARISONS, Tally, errors_of, preferences_of
from ltr_duel.rankers import Rankings

MOST_FOR_AN_ERROR = 4_000_000  # comparisons of a pair. Without this maximum, a small target would take days


def estimate_preferences(
    rankings: Rankings,
    *,
    clicks: str | ClickModel = "navigational",
    method: str = "probabilistic",
    outcome: str = "",
    size: int | None = None,
    comparisons: int | None = None,
    top: int = 10,
    seed: int = 0,
    jobs: int = -1,
    against: str | None = None,
    target_error: float | None = None,
    at_most: int = MOST_FOR_AN_ERROR,
    variance_reduction: str = "auto",
) -> PreferenceMatrix:
    """Compare all pairs of rankers on simulated users, and return which share of the comparisons each ranker wins.

    A comparison draws a random query, interleaves the lists of two rankers, simulates the clicks of a user on the
    result, and decides from the clicks which ranker won. The result of a pair does not depend on the other rankers.

    With ``size``, random sets of rankers are compared instead of pairs. Each list then gives an outcome for all pairs
    of a set, so that the errors of different pairs are correlated.

    Parameters
    ----------
    rankings : Rankings
        The lists of at least two rankers.
    clicks : str or ClickModel
        The simulated users: the name of a click model, or your own click model.
    method, outcome : str
        The comparison method, and its rule for who won (see `ltr_duel.interleaving`). By default, the first rule of the
        method is used, which is ``marginal_bernoulli`` for probabilistic interleaving. Papers used ``marginal_sign``,
        but with this rule, random clicks favour some rankers.
    size : int, optional
        The number of rankers in a set. If you give it, sets are compared instead of pairs. Some methods can only
        compare sets. Their sets have all rankers by default, but at most 200.
    comparisons : int, optional
        The number of comparisons of each pair, at least 2. If sets are compared, this number is a mean over all pairs.
        The default is 1,000. For sets, or without variance reduction, the default is 4,000. The number may be rounded
        up to a multiple of 2 or 4. If you give ``target_error``, this is the number to begin with.
    top : int
        The number of documents that a list shows.
    seed : int
    jobs : int
        The number of threads, or -1 for all cores. The result does not depend on the number of threads.
    against : str, optional
        The name of a ranker, if only its pairs should be compared. All other pairs get p = 1/2 with an infinite
        standard error.
    target_error : float, optional
        The standard error to reach. Each pair is compared until its standard error is at most this number.
    at_most : int
        The largest number of comparisons of a pair, if ``target_error`` is given.
    variance_reduction : {"auto", "none"}
        Whether to reduce the variance of outcomes. With "auto", fewer comparisons give the same standard error. The
        provenance of the matrix names the techniques that were used.

    Returns
    -------
    PreferenceMatrix
        The estimate, with standard errors and counts. A tie counts as half a win.

    Raises
    ------
    InputError
        If there are fewer than two rankers, if a name is unknown, or if the click model does not fit the corpus.

    Examples
    --------
    >>> from ltr_duel.data import make_corpus
    >>> from ltr_duel.rankers import feature_rankers
    >>> rankings = feature_rankers(make_corpus(queries=10, documents=8, features=3))
    >>> matrix = estimate_preferences(rankings, clicks="perfect", comparisons=100)
    >>> matrix.comparisons[0, 1]
    np.int64(100)
    """
    planned = comparisons if target_error is None else at_most
    settings = make_settings(rankings, clicks, method, outcome, top, seed, variance_reduction, planned, size)
    comparisons, at_most = _whole_units(settings, comparisons), _whole_units(settings, at_most)
    if target_error is not None:
        errors.require_between("the target of the standard error", target_error, 1e-5, 0.5)
    if settings.size and (against, target_error) != (None, None):
        raise InputError("sets of rankers are compared a given number of times; a target and one rival need pairs")
    parallel.checked_jobs(jobs)
    pairs = _pairs(rankings.names, against)
    if settings.size:
        tally = count_sets(settings, comparisons, jobs)
    else:
        counter, tally = PairCounter(settings, jobs), Tally.empty(len(rankings))
        counter.add(tally, *pairs, np.full(len(pairs[0]), comparisons))
        if target_error is not None:
            _reach_error(counter, tally, pairs, target_error, at_most)
    tied = None if rankings.tied_share is None else round(rankings.tied_share, 4)
    optional = {"tied_share": tied, "against": against, "target_error": target_error}
    provenance = {
        **settings.provenance,
        "comparisons": comparisons,
        "versions": host.versions_of(("ltr-duel", "numba", "numpy")),  # for information: results do not depend on it
        **{name: value for name, value in optional.items() if value is not None},
    }
    p, error = preferences_of(tally), _errors(settings, tally)
    return PreferenceMatrix(p, rankings.names, error, tally.lists + tally.lists.T, provenance, tally)


def _whole_units(settings: Settings, comparisons: int | None) -> int:
    comparisons = (FEW if settings.reduced else MANY) if comparisons is None else comparisons
    errors.require_whole("the number of comparisons", comparisons, 2)
    unit = settings.lists * settings.evaluations
    comparisons = max(2, -(-int(comparisons) // unit)) * unit
    if comparisons > MOST_COMPARISONS:
        most = f"at most {MOST_COMPARISONS:,} comparisons of a pair are possible"
        raise InputError(f"{most}, not {errors.shown(comparisons)}")
    return comparisons


def _pairs(names: tuple[str, ...], against: str | None) -> tuple[IntVector, IntVector]:
    first, second = np.triu_indices(len(names), 1)
    if against is None:
        return first, second
    errors.require_one_of("ranker", against, names)
    rival = names.index(against)
    compared = (first == rival) | (second == rival)
    return first[compared], second[compared]


def _errors(settings: Settings, tally: Tally) -> FloatMatrix:
    queries = settings.rankings.n_queries if settings.stratified else 0
    return errors_of(tally, settings.lists * settings.evaluations, queries)


def _reach_error(
    counter: PairCounter, tally: Tally, pairs: tuple[IntVector, IntVector], target: float, at_most: int
) -> None:
    while True:
        error, lists = _errors(counter.settings, tally)[pairs], tally.lists[pairs]
        unfinished = (error > target) & (lists < at_most)
        if not unfinished.any():
            return
        wanted = lists[unfinished] * np.minimum((error[unfinished] / target) ** 2, 8.0)
        blocks = np.maximum(np.ceil(wanted / BLOCK).astype(np.int64), lists[unfinished] // BLOCK + 1)
        counter.add(tally, pairs[0][unfinished], pairs[1][unfinished], np.minimum(blocks * BLOCK, at_most))
