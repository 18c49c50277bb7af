"""Estimate a preference matrix offline, from any number of simulated comparisons of each pair of rankers.

pairs x blocks --cut--> pieces --all workers--> whole-number counts --add up--> p, standard errors
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from ltr_duel.clicks import ClickModel
from ltr_duel.core import InputError, IntVector, errors, parallel
from ltr_duel.preferences.estimate.goals import matrix_of, reach_error, search_winner
from ltr_duel.preferences.estimate.sampling import PairSampler, PieceStore, SlateSampler
from ltr_duel.preferences.estimate.settings import make_settings
from ltr_duel.preferences.matrix import PreferenceMatrix
from ltr_duel.preferences.tally import Tally
from ltr_duel.rankers import Rankings

MOST_IN_A_SEARCH = 4_000_000  # comparisons of a pair; without a maximum, a search among identical rankers would not end


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
    until_winner: float | None = None,
    at_most: int = MOST_IN_A_SEARCH,
    variance_reduction: str = "auto",
    store: str | Path | None = None,
) -> PreferenceMatrix:
    """Compare all pairs of rankers on simulated users, and return the share of comparisons that each ranker wins.

    Without variance reduction, a comparison draws a query uniformly with replacement, shows a list interleaved from the
    two rankers, simulates the clicks of a user, and credits the clicks. Each block of 4,000 comparisons of a pair has a
    separate random stream, whose key contains the names of the two rankers. So the result depends neither on the number
    of workers nor on the other rankers in the set.

    A method for sets multileaves random sets of rankers instead, and each list is one comparison of each pair of its
    set. The standard error of a pair is exact, but errors of different pairs are correlated.

    Parameters
    ----------
    rankings : Rankings
        At least two rankers.
    clicks : str or ClickModel
        Name of a click model, or a custom table.
    method, outcome : str
        The method that compares rankers, and the rule that determines the winner (see `ltr_duel.interleaving`). The
        default is the method's first rule; for probabilistic interleave it is ``marginal_bernoulli``, whereas the
        papers used ``marginal_sign``, which is biased under random clicks.
    size : int, optional
        Number of rankers of a set, for methods that compare sets. The default is all rankers, but at most 200,
        if the method compares only sets; other methods compare pairs by default.
    comparisons : int, optional
        Number of comparisons of each pair, at least 2; for sets of some of the rankers, a mean over pairs. By default
        1,000, or 4,000 of sets and without variance reduction. If a variance reduction compares in groups of 2 or 4
        lists, the number is rounded up to whole groups (at least two). With ``target_error`` or ``until_winner``, this
        is the initial number.
    top : int
        Number of documents shown.
    seed : int
    jobs : int
        Number of threads; -1 for all cores.
    against : str, optional
        Compare only pairs with this ranker. All other pairs stay at 1/2 with an infinite standard error.
    target_error : float, optional
        Continue until the standard error of each pair is at most this number.
    until_winner : float, optional
        A confidence, for example .99. Undecided pairs are compared until it is known with this confidence which ranker
        is the Condorcet winner, or that none exists.
    at_most : int
        Largest number of comparisons of a pair for ``target_error`` and ``until_winner``.
    variance_reduction : {"auto", "none"}
        Reach the same error with fewer lists: by exact means over users, mirrored lists, control variates and queries
        in turn, as far as the method, the tie rule and the numbers of comparisons and queries allow. The provenance
        names the reductions in use.
    store : path, optional
        Folder for partial results, from which the same call resumes if the process was killed. The folder may be
        deleted once the matrix is saved.

    Returns
    -------
    PreferenceMatrix
        ``p[i, j]`` counts a tie as half a win.

    Raises
    ------
    InputError
        If there are fewer than two rankers, a name is unknown, or the click model does not fit the corpus.

    Examples
    --------
    >>> from ltr_duel.data import make_corpus
    >>> from ltr_duel.rankers import feature_rankers
    >>> rankings = feature_rankers(make_corpus(queries=10, documents=8, features=3))
    >>> matrix = estimate_preferences(rankings, clicks="perfect", comparisons=100)
    >>> matrix.comparisons[0, 1]
    np.int64(100)
    """
    planned = comparisons if target_error is None and until_winner is None else at_most
    settings = make_settings(rankings, clicks, method, outcome, top, seed, variance_reduction, planned, size)
    comparisons, at_most = settings.checked_count(comparisons), settings.checked_count(at_most)
    if target_error is not None:
        errors.require_between("the target of the standard error", target_error, 1e-5, 0.5)
    if until_winner is not None:
        errors.require_between("the confidence", until_winner, 0.5, 0.999999)
    if settings.size and (against, target_error, until_winner) != (None, None, None):
        raise InputError("sets of rankers are compared a given number of times; goals, and one rival, need pairs")
    if until_winner is not None and against is not None:
        raise InputError("the Condorcet winner cannot be found from comparisons with only one ranker")
    if store is not None and not isinstance(store, str | os.PathLike):
        raise InputError(f"the store must be the path of a folder, not {errors.shown(store)}")
    parallel.checked_jobs(jobs)
    pairs = _pairs(rankings.names, against)
    pieces = PieceStore(Path(store), settings.digest) if store is not None else None
    sampler = (SlateSampler if settings.size else PairSampler)(settings, jobs, pieces)
    tally = Tally.empty(len(rankings))
    sampler.add(tally, *pairs, np.full(len(pairs[0]), comparisons))
    goals = {"against": against, "target_error": target_error, "until_winner": until_winner}
    reached: dict[str, Any] = {name: goal for name, goal in goals.items() if goal is not None}
    if target_error is not None:
        reach_error(sampler, tally, pairs, target_error, at_most)
    if until_winner is not None:
        reached["search"] = search_winner(sampler, tally, until_winner, at_most)
    return matrix_of(settings, tally, {"comparisons": comparisons, **reached})


def _pairs(names: tuple[str, ...], against: str | None) -> tuple[IntVector, IntVector]:
    first, second = np.triu_indices(len(names), 1)
    if against is None:
        return first, second
    errors.require_one_of("ranker", against, names)
    rival = names.index(against)
    compared = (first == rival) | (second == rival)
    return first[compared], second[compared]
