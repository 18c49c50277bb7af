"""Estimate a preference matrix off-line: simulated comparisons of each pair of rankers, as many as wanted.

pairs x blocks --cut--> pieces --all workers--> whole-number counts --add up--> p, standard errors
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ltr_duel.clicks import ClickModel
from ltr_duel.core import InputError, errors, parallel
from ltr_duel.preferences.estimate.goals import Goal, grown
from ltr_duel.preferences.estimate.sampling import PairSampler, PieceStore
from ltr_duel.preferences.estimate.settings import Settings, make_settings
from ltr_duel.preferences.matrix import PreferenceMatrix
from ltr_duel.preferences.tally import Tally
from ltr_duel.rankers import Rankings, require_rankings

MOST_IN_A_SEARCH = 4_000_000  # comparisons of a pair after which a search gives up: identical rankers never part


def estimate_preferences(
    rankings: Rankings,
    *,
    clicks: str | ClickModel = "navigational",
    method: str = "probabilistic",
    outcome: str = "",
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
    """Compare each pair of rankers on simulated users, and return how often each one wins.

    A comparison draws a query uniformly with replacement, shows a list interleaved from the two rankers, lets the click
    model click, and credits the clicks. Each block of each pair has its own random stream, named by the two
    rankers: the result does not depend on the number of workers, nor on which other rankers are in the set, and
    more comparisons later continue where fewer ended.

    Parameters
    ----------
    rankings : Rankings
        At least two rankers.
    clicks : str or ClickModel
        Name of a click model, or your own table.
    method, outcome : str
        How two rankers are compared, and who is said to have won (see `ltr_duel.interleaving`). By default the rule
        that is unbiased under random clicks: ``marginal_bernoulli`` for probabilistic interleave, where the papers took
        ``marginal_sign``.
    comparisons : int, optional
        For each pair, at least 2, rounded up to the groups of 2 or 4 lists that a variance reduction makes, at least
        two of them; 1,000 by default, and 4,000 without variance reduction. With ``target_error`` or ``until_winner``,
        the number to begin with.
    top : int
        Documents shown.
    seed : int
    jobs : int
        Threads; -1 for all cores.
    against : str, optional
        Compare only pairs with this ranker. The others stay at 1/2 with an infinite error.
    target_error : float, optional
        Continue until each pair's standard error is at most this.
    until_winner : float, optional
        A confidence, for example .99: continue, where it is in doubt, until the Condorcet winner is known, or known not
        to exist.
    at_most : int
        Comparisons of a pair after which ``target_error`` and ``until_winner`` give up.
    variance_reduction : {"auto", "none"} or sequence of {"common", "stratified", "integrated", "antithetic", "control"}
        Fewer lists for the same error; see `ltr_duel.preferences.estimate.settings`. By default all that the method
        and the tie rule allow; the provenance names them.
    store : path, optional
        Folder for partial results: after a kill, the same call resumes from them. It may be deleted once the matrix is
        saved.
    share : (int, int), optional
        ``(2, 5)``: count only the second fifth of the pieces into the store, for a call without ``share`` to add up.
        The matrix returned holds that part alone.

    Returns
    -------
    PreferenceMatrix
        ``p[i, j]`` counts a tie as half a win.

    Raises
    ------
    InputError
        For fewer than two rankers, an unknown name, or a click model that does not fit the corpus.

    Examples
    --------
    >>> from ltr_duel.data import make_corpus
    >>> from ltr_duel.rankers import feature_rankers
    >>> rankings = feature_rankers(make_corpus(queries=10, documents=8, features=3))
    >>> matrix = estimate_preferences(rankings, clicks="perfect", comparisons=100)
    >>> matrix.comparisons[0, 1]
    np.int64(100)
    """
    settings = make_settings(rankings, clicks, method, outcome, top, seed, variance_reduction)
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
    """Add comparisons to an estimated matrix, perhaps read from a file, under its own settings.

    Extending 4,000 comparisons to 8,000 gives the bytes of 8,000 at once.

    rankings: the same rankers on the same corpus.
    comparisons: for each pair, in all; pairs that have as many already are left alone.
    clicks: needed only if the matrix was estimated with a table of your own.
    jobs, target_error, until_winner, at_most, store: as for `estimate_preferences`.

    Raises `InputError` if the matrix has no counts, if the corpus, the rankers or the tie rule are not the same, or if
    what makes the comparisons has another numbers version (`ltr_duel.core.numbering`). Package versions do not matter.
    """
    if not isinstance(matrix, PreferenceMatrix):
        raise InputError(f"comparisons are added to a PreferenceMatrix, not to {errors.shown(matrix)}")
    require_rankings(rankings)
    about = matrix.provenance
    if matrix.tally is None:
        raise InputError("this matrix has no counts to add to: it was not estimated here")
    settings = _settings_of(matrix, rankings, clicks)
    for key, value in {"numbers": {}, **settings.provenance}.items():
        before = about.get(key, {} if key == "numbers" else None)
        if before != value:
            other = f"{key} = {before}, not {value}"
            if key == "numbers":
                differ = sorted(name for name in {**before, **value} if before.get(name) != value.get(name))
                other = f"another numbers version of {', '.join(differ)}"
            raise InputError(f"the matrix was estimated with {other}; they must not be mixed")
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
        raise InputError("the matrix and the rankings hold different rankers, or the same in another order")
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
        raise InputError(f"the provenance of the matrix does not say how it was estimated ({error})") from None


def _sampler(settings: Settings, jobs: int, store: str | Path | None, share: tuple[int, int] | None) -> PairSampler:
    if store is not None and not isinstance(store, str | os.PathLike):
        raise InputError(f"the store must be the path of a folder, not {errors.shown(store)}")
    start, step = 0, 1
    if share is not None:
        if not isinstance(share, tuple | list) or len(share) != 2:
            raise InputError(f"a share of the work is two numbers, such as (2, 5), not {errors.shown(share)}")
        step = errors.require_whole("the number of shares", share[1], 1, 10**9)
        start = errors.require_whole("the number of a share", share[0], 1, step) - 1
    parallel.checked_jobs(jobs)
    if step > 1 and store is None:
        raise InputError("a share of the work needs a store, where the shares meet")
    pieces = PieceStore(Path(store), settings.digest) if store is not None else None
    return PairSampler(settings, jobs, pieces, slice(start, None, step))
