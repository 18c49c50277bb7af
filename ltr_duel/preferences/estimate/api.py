"""Estimate a preference matrix offline, from any number of simulated comparisons of each pair of rankers.

pairs x blocks --cut--> pieces --all workers--> whole-number counts --add up--> p, standard errors
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ltr_duel.clicks import ClickModel
from ltr_duel.core import InputError, errors, parallel
from ltr_duel.preferences.estimate.goals import Goal, grown
from ltr_duel.preferences.estimate.sampling import PairSampler, PieceStore, SlateSampler
from ltr_duel.preferences.estimate.settings import Settings, make_settings
from ltr_duel.preferences.matrix import PreferenceMatrix
from ltr_duel.preferences.tally import Tally
from ltr_duel.rankers import Rankings, require_rankings

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
    variance_reduction: str | Sequence[str] = "auto",
    store: str | Path | None = None,
    share: tuple[int, int] | None = None,
) -> PreferenceMatrix:
    """Compare all pairs of rankers on simulated users, and return the share of comparisons that each ranker wins.

    Without variance reduction, a comparison draws a query uniformly with replacement, shows a list interleaved from the
    two rankers, simulates the clicks of a user, and credits the clicks. Each block of 4,000 comparisons of a pair has a
    separate random stream, whose key contains the names of the two rankers. So the result depends neither on the number
    of workers nor on the other rankers in the set, and an estimate can be extended later.

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
    variance_reduction : {"auto", "none"} or sequence of {"common", "stratified", "integrated", "antithetic", "control"}
        Methods that reach the same error with fewer lists; see `ltr_duel.preferences.estimate.settings`. By default,
        the method, the tie rule and the numbers of comparisons and queries determine the reductions, and the provenance
        names them.
    store : path, optional
        Folder for partial results, from which the same call resumes if the process was killed. The folder may be
        deleted once the matrix is saved.
    share : (int, int), optional
        ``(2, 5)``: count only the second of five shares of the comparisons, and put the counts into the store. The
        returned matrix contains only this share. To combine all shares, repeat the call without ``share`` at the end.

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
    comparisons = settings.checked_count(comparisons)
    goal = Goal(comparisons, against, target_error, until_winner, at_most)
    return grown(_sampler(settings, jobs, store, share), Tally.empty(len(rankings)), goal)


def extend_preferences(
    matrix: PreferenceMatrix,
    rankings: Rankings,
    *,
    comparisons: int = 0,
    clicks: ClickModel | None = None,
    jobs: int = -1,
    target_error: float | None = None,
    until_winner: float | None = None,
    at_most: int = MOST_IN_A_SEARCH,
    store: str | Path | None = None,
) -> PreferenceMatrix:
    """Add comparisons, with the same settings, to an estimated matrix, which may come from a file.

    Extending 4,000 comparisons to 8,000 gives the same bytes as estimating 8,000 comparisons at once.

    rankings: the same rankers on the same corpus.
    comparisons: total number for each pair; pairs that already have at least this number are left unchanged.
    clicks: required only if the matrix was estimated with a custom table.
    jobs, target_error, until_winner, at_most, store: as for `estimate_preferences`.

    Raises `InputError` if the matrix has no counts, if the corpus, the rankers or the tie rule are not the same, or if
    the numbers version (`ltr_duel.core.numbering`) of a component has changed. Versions of packages may differ.
    """
    if not isinstance(matrix, PreferenceMatrix):
        raise InputError(f"comparisons can be added to a PreferenceMatrix, not to {errors.shown(matrix)}")
    require_rankings(rankings)
    about = matrix.provenance
    if matrix.tally is None:
        raise InputError("comparisons cannot be added: this matrix has no counts, because it was not estimated here")
    if "size" in about:
        raise InputError("comparisons cannot be added to a matrix of sets; estimate it again with more comparisons")
    settings = _settings_of(matrix, rankings, clicks)
    for key, value in {"numbers": {}, **settings.provenance}.items():
        before = about.get(key, {} if key == "numbers" else None)
        if before != value:
            other = f"{key} = {before}, not {value}"
            if key == "numbers" and isinstance(before, dict):
                differ = sorted(name for name in {**before, **value} if before.get(name) != value.get(name))
                other = f"a different numbers version of {', '.join(differ)}"
            raise InputError(f"the matrix was estimated with {other}; different settings must not be mixed")
    if comparisons:
        comparisons = settings.checked_count(comparisons)
    tally = Tally(*(part.copy() for part in matrix.tally))
    most = max(comparisons, int(about.get("comparisons", 0)))
    goal = Goal(most, about.get("against"), target_error, until_winner, at_most)
    return grown(_sampler(settings, jobs, store, None), tally, goal)


def _settings_of(matrix: PreferenceMatrix, rankings: Rankings, clicks: ClickModel | None) -> Settings:
    """Rebuild the settings of a matrix from its provenance, which may come from any file."""
    about = matrix.provenance
    if matrix.names != rankings.names:
        raise errors.other_rankers("the matrix", matrix.names, "the rankings", rankings.names)
    try:
        parameters = ",".join(f"{key}={value}" for key, value in about["method_parameters"].items())
        model = clicks or ClickModel(
            about["clicks"],
            tuple(about["p_click"]),
            tuple(about["p_stop"]),
            stop_on=about["stop_on"],
            position_bias=about["position_bias"],
            p_leave=tuple(about.get("p_leave", ())),
            p_notice=tuple(about.get("p_notice", ())),
        )
        method = about["method"] + (f":{parameters}" if parameters else "")
        reductions = about.get("variance_reduction", ())
        return make_settings(rankings, model, method, about["outcome"], about["top"], about["seed"], reductions)
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"the provenance of the matrix lacks a setting of its estimate ({error})") from None


def _sampler(settings: Settings, jobs: int, store: str | Path | None, share: tuple[int, int] | None) -> PairSampler:
    if store is not None and not isinstance(store, str | os.PathLike):
        raise InputError(f"the store must be the path of a folder, not {errors.shown(store)}")
    start, step = 0, 1
    if share is not None:
        if not isinstance(share, tuple | list) or len(share) != 2:
            raise InputError(f"a share of the work must be two numbers, such as (2, 5), not {errors.shown(share)}")
        step = errors.require_whole("the number of shares", share[1], 1, 10**9)
        start = errors.require_whole("the number of a share", share[0], 1, step) - 1
    parallel.checked_jobs(jobs)
    if step > 1 and store is None:
        raise InputError("a share of the work needs a store, in which the shares are combined")
    pieces = PieceStore(Path(store), settings.digest) if store is not None else None
    sampler = SlateSampler if settings.size else PairSampler
    return sampler(settings, jobs, pieces, slice(start, None, step))
