"""The entry points for advice: check the arguments, and simulate candidates for some rankings and a budget.

A race selects the best few candidates. Fresh runs of these candidates give the reported estimates (claims). Runs with
harder simulated users or with more impressions answer further questions (`ltr_duel.advice.question`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ltr_duel.advice.answer import Advice, Row
from ltr_duel.advice.candidates import candidates_named
from ltr_duel.advice.question import Question
from ltr_duel.advice.trials import Laboratory
from ltr_duel.advice.world import World, worlds_of
from ltr_duel.clicks import ClickModel
from ltr_duel.core import InputError, checked_seed, errors, parallel
from ltr_duel.rankers import Rankings, require_rankings
from ltr_duel.simulation import checkpoints

PRESETS = ("perfect", "navigational", "informational")
AIMS = ("least loss", "sure")
_PER_DECADE = 12  # checkpoints per decade
_MOST_RANKERS = 200
_MOST_BUDGET = 10**9


def advise(
    rankings: Rankings,
    *,
    budget: int,
    clicks: str | ClickModel | Sequence[str | ClickModel] = PRESETS,
    confidence: float = 0.95,
    margin: float = 0.01,
    aim: str = "least loss",
    incumbent: str | None = None,
    candidates: Sequence[str] = (),
    top: int = 10,
    batch: int = 1,
    simulations: int = 100,
    seed: int = 0,
    jobs: int = -1,
    compiled: bool = True,
) -> Advice:
    """Find, by simulation, which policy and which comparison method to deploy for some rankers.

    Each candidate is judged under the click model that is worst for it; the advised candidate is the one whose users
    then lose least NDCG. The loss is summed over the budget and over an equal number of impressions afterwards, which
    show the ranker that the candidate names.

    Parameters
    ----------
    rankings : Rankings
        At least two rankers, at most 200.
    budget : int
        Impressions, from 100 to 10^9.
    clicks : str, ClickModel or sequence of them
        Possible click models of the users; a candidate is judged by the worst of them.
    confidence : float
        Required probability that the ranker named at the end is right: the best one, or within the margin of it. Also
        the confidence of all intervals. From 0.5 to 0.999.
    margin : float
        Largest difference in NDCG@10 from the best ranker at which a ranker counts as equally good, from 0 to 1.
    aim : {"least loss", "sure"}
        With "sure", candidates that reach the confidence within the budget, according to the race, are preferred
        regardless of their loss.
    incumbent : str, optional
        The ranker that users see today; by default the first ranker.
    candidates : sequence of str
        Policies with methods, ``"rucb/team_draft"``; by default `ltr_duel.advice.candidates.DEFAULTS`.
    top : int
        Number of documents shown.
    batch : int
        Number of impressions that are shown before any of their clicks is known, for example all impressions of a day.
    simulations : int
        Number of fresh runs of the advised candidate for each click model, from 10 to 10^5; other numbers of runs are
        proportional to it. To show that the probability is at least .95, even if all runs name a right ranker, at least
        98 runs are needed with three click models, and 77 with one.
    seed : int
    jobs : int
        Number of threads; -1 for all cores. The advice does not depend on this number.
    compiled : bool
        If False, run the same code as plain Python, which gives the same numbers a hundred times more slowly.

    Returns
    -------
    Advice

    Raises
    ------
    InputError
        For numbers out of range, unknown names, or rankings whose ties are reordered for each page.

    Examples
    --------
    >>> from ltr_duel.data import make_corpus
    >>> from ltr_duel.rankers import feature_rankers
    >>> rankings = feature_rankers(make_corpus(queries=20, documents=8, features=2))
    >>> advice = advise(rankings[[0, 1]], budget=100, clicks="perfect", margin=1)
    >>> advice.verdict, advice.deploy
    ('identical', None)
    """
    errors.require_one_of("aim", aim, AIMS)
    laboratory = _laboratory(budget, batch, seed, jobs, compiled=compiled)
    wanted = _Wanted(confidence, margin, aim, simulations)
    question, worlds = _question(rankings, clicks, candidates, top, wanted, laboratory)
    if incumbent is not None:
        errors.require_one_of("ranker", incumbent, rankings.names)
    settings = {
        "corpus": rankings.provenance.get("corpus", ""),
        "corpus_sha256": rankings.provenance.get("corpus_sha256", ""),
        "queries": rankings.n_queries,
        "rankers": list(rankings.names),
        "incumbent": incumbent or rankings.names[0],
        "clicks": [world.users.name for world in worlds],
        "fitted": [world.users.name for world in worlds if world.errors],
        "budget": int(budget),
        "confidence": float(confidence),
        "margin": float(margin),
        "aim": aim,
        "measure": worlds[0].measure,
        "top": int(top),
        "batch": int(batch),
        "simulations": int(simulations),
        "seed": int(seed),
    }
    return question.answer(settings)


def try_candidates(
    rankings: Rankings,
    candidates: Sequence[str],
    *,
    budget: int,
    clicks: str | ClickModel | Sequence[str | ClickModel] = PRESETS,
    confidence: float = 0.95,
    margin: float = 0.01,
    top: int = 10,
    batch: int = 1,
    simulations: int = 100,
    seed: int = 0,
    jobs: int = -1,
    compiled: bool = True,
) -> list[Row]:
    """Simulate candidates with an equal number of runs each, without a race.

    Parameters
    ----------
    rankings : Rankings
    candidates : sequence of str
        Policies with methods, ``"rucb/team_draft"``; if empty, the default of `advise`.
    budget, clicks, confidence, margin, top, batch, seed, jobs, compiled
        See `advise`.
    simulations : int
        Number of runs of each candidate for each click model, from 10 to 10^5.

    Returns
    -------
    list of Row
        Results in the order of the candidates: ``row.worst.right``, ``row.worst.lost``, ``row.worlds[0].curve``, ...

    Raises
    ------
    InputError
        See `advise`.

    Examples
    --------
    >>> from ltr_duel.data import make_corpus
    >>> from ltr_duel.rankers import feature_rankers
    >>> rankings = feature_rankers(make_corpus(queries=20, documents=8, features=2))
    >>> few = {"budget": 100, "clicks": "perfect", "simulations": 10, "compiled": False}
    >>> [row] = try_candidates(rankings, ["random/team_draft"], **few)
    >>> row.candidate, row.worst.runs, row.worst.lost.low <= row.worst.lost.value
    ('random/team_draft', 10, True)
    """
    laboratory = _laboratory(budget, batch, seed, jobs, compiled=compiled)
    wanted = _Wanted(confidence, margin, AIMS[0], simulations)
    question, _ = _question(rankings, clicks, candidates, top, wanted, laboratory)
    return question.trial()


class _Wanted(NamedTuple):
    """The requirements of an answer and the number of runs; see `advise`."""

    confidence: float
    margin: float
    aim: str
    simulations: int


def _question(
    rankings: Rankings,
    clicks: str | ClickModel | Sequence[str | ClickModel],
    candidates: Sequence[str],
    top: int,
    wanted: _Wanted,
    laboratory: Laboratory,
) -> tuple[Question, list[World]]:
    """Check the arguments, and return the question and its worlds."""
    require_rankings(rankings)
    if not 2 <= len(rankings) <= _MOST_RANKERS:
        raise InputError(f"advice is for 2 to {_MOST_RANKERS} rankers, not {len(rankings)}")
    confidence, margin, aim, simulations = wanted
    errors.require_between("the confidence", confidence, 0.5, 0.999)
    errors.require_between("the margin", margin, 0, 1)
    top = errors.require_whole("the number of documents shown", top, 1, 1000)
    simulations = errors.require_whole("the number of simulations", simulations, 10, 100_000)
    if not isinstance(clicks, str | ClickModel) and not isinstance(clicks, Sequence):
        raise InputError(f"click models must be a name or a list of names, not {errors.shown(clicks)}")
    users = (clicks,) if isinstance(clicks, str | ClickModel) else tuple(clicks)
    named = candidates_named(candidates)
    worlds = worlds_of(rankings, users, top, margin)
    return Question(rankings, worlds, named, confidence, aim, simulations, laboratory), worlds


def _laboratory(budget: int, batch: int, seed: int, jobs: int, *, compiled: bool) -> Laboratory:
    budget = errors.require_whole("the budget", budget, 100, _MOST_BUDGET)
    batch = errors.require_whole("the batch", batch, 1, budget)
    seed, jobs = checked_seed(seed), parallel.checked_jobs(jobs)
    times = checkpoints(budget, _PER_DECADE)
    times = np.asarray(times[times >= max(10, budget // 1000)])  # the first one is at least a thousandth of the budget
    return Laboratory(budget, times, seed, jobs, batch=batch, compiled=compiled)
