"""The function `advise`, which chooses a policy and a comparison method for an experiment by simulation.

It simulates every candidate a few times and chooses three finalists. Many runs of the finalists then decide which of
them is advised (`ltr_duel.advice.screening`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ltr_duel.advice.answer import Advice, SufficientBudget, share, world_result
from ltr_duel.advice.candidates import Candidate, candidates_named
from ltr_duel.advice.runs import RunRequest, Simulator
from ltr_duel.advice.screening import a_quarter, confirm, finalists_of, screen
from ltr_duel.advice.worlds import World, make_worlds, noisier
from ltr_duel.clicks import ClickModel
from ltr_duel.core import InputError, checked_seed, errors, parallel
from ltr_duel.rankers import Rankings, evaluate_rankers, require_rankings
from ltr_duel.simulation import checkpoints

PRESETS = ("perfect", "navigational", "informational")
_PER_DECADE = 12  # checkpoints per decade
_MOST_RANKERS = 200
_MOST_BUDGET = 10**9
_MULTIPLES = (2, 4, 8)  # the larger budgets that are tried if the given one is too small


def advise(
    rankings: Rankings,
    *,
    budget: int,
    clicks: str | ClickModel | Sequence[str | ClickModel] = PRESETS,
    confidence: float = 0.95,
    margin: float = 0.01,
    incumbent: str | None = None,
    candidates: Sequence[str] = (),
    top: int = 10,
    batch: int = 1,
    simulations: int = 120,
    seed: int = 0,
    jobs: int = -1,
    compiled: bool = True,
) -> Advice:
    """Find, by simulation, which policy and which comparison method to deploy for some rankers.

    A candidate is a policy with a comparison method. At the end of an experiment, it names a ranker. The candidate is
    right if the best ranker has at most ``margin`` more NDCG than the named ranker. Among the candidates that are right
    often enough, the one that costs users the least NDCG is advised. The cost is counted during the experiment, and
    for as many impressions after it, in which users see the named ranker.

    Parameters
    ----------
    rankings : Rankings
        The rankers to choose from: 2 to 200.
    budget : int
        The number of impressions of the experiment, from 100 to 10^9.
    clicks : str, ClickModel or sequence of them
        The click models that may describe your users. A candidate is judged by the click model with which
        it does worst.
    confidence : float
        The required probability that the candidate is right at the end, from 0.5 to 0.999. All intervals have the same
        confidence.
    margin : float
        The largest difference in NDCG, from 0 to 1, at which a ranker counts as good as the best ranker.
    incumbent : str, optional
        The ranker that users see today; by default the first ranker.
    candidates : sequence of str
        The candidates to simulate, for example ``"rucb/team_draft"``; by default `ltr_duel.advice.candidates.DEFAULTS`.
    top : int
        The number of documents that a list shows.
    batch : int
        The number of impressions whose clicks the policy learns together, for example the impressions of one day.
    simulations : int
        The number of runs of each finalist with each click model, from 10 to 10^5. With the default click models and
        confidence, fewer than 115 runs cannot show that a candidate is right often enough.
    seed : int
        The seed of all random numbers.
    jobs : int
        The number of threads, which does not change the advice; -1 for all cores.
    compiled : bool
        Whether to compile the code. Plain Python gives the same advice, some 500 times more slowly.

    Returns
    -------
    Advice

    Raises
    ------
    InputError
        If a number is out of range, if a name is unknown, or if the order of tied documents changes from list to list.

    Examples
    --------
    >>> from ltr_duel.data import make_corpus
    >>> from ltr_duel.rankers import feature_rankers
    >>> rankings = feature_rankers(make_corpus(queries=20, documents=8, features=2))
    >>> advice = advise(rankings[[0, 1]], budget=100, clicks="perfect", margin=1)
    >>> advice.verdict, advice.deploy
    ('identical', None)
    """
    require_rankings(rankings)
    if not 2 <= len(rankings) <= _MOST_RANKERS:
        raise InputError(f"advice is for 2 to {_MOST_RANKERS} rankers, not {len(rankings)}")
    budget = errors.require_whole("the budget", budget, 100, _MOST_BUDGET)
    errors.require_between("the confidence", confidence, 0.5, 0.999)
    errors.require_between("the margin", margin, 0, 1)
    if incumbent is not None:
        errors.require_one_of("ranker", incumbent, rankings.names)
    top = errors.require_whole("the number of documents shown", top, 1, 1000)
    batch = errors.require_whole("the batch", batch, 1, budget)
    simulations = errors.require_whole("the number of simulations", simulations, 10, 100_000)
    simulator = Simulator(checked_seed(seed), parallel.checked_jobs(jobs), batch=batch, compiled=compiled)
    if not isinstance(clicks, str | ClickModel) and not isinstance(clicks, Sequence):
        raise InputError(f"click models must be a name or a list of names, not {errors.shown(clicks)}")
    named = candidates_named(candidates)
    worlds = make_worlds(rankings, (clicks,) if isinstance(clicks, str | ClickModel) else tuple(clicks), top, margin)
    settings = {
        "corpus": rankings.provenance.get("corpus", ""),
        "corpus_sha256": rankings.provenance.get("corpus_sha256", ""),
        "queries": rankings.n_queries,
        "rankers": list(rankings.names),
        "incumbent": incumbent or rankings.names[0],
        "clicks": [world.users.name for world in worlds],
        "fitted": [world.users.name for world in worlds if world.errors],
        "budget": budget,
        "confidence": float(confidence),
        "margin": float(margin),
        "measure": worlds[0].measure,
        "top": top,
        "batch": batch,
        "simulations": simulations,
        "seed": int(seed),
    }
    return _answer(settings, worlds, named, simulator)


def _answer(
    settings: dict[str, Any], worlds: Sequence[World], candidates: Sequence[Candidate], simulator: Simulator
) -> Advice:
    rankings, budget, confidence = worlds[0].rankings, settings["budget"], settings["confidence"]
    times = checkpoints(budget, _PER_DECADE)
    times = np.asarray(times[times >= max(10, budget // 1000)])  # the first is at least a thousandth of the budget
    ndcg = dict(zip(rankings.names, worlds[0].ndcg.tolist(), strict=True))
    unsure = _unsure(worlds[0], confidence)
    if worlds[0].right.all():
        return Advice("identical", settings, ndcg, times, unsure)
    runs = a_quarter(settings["simulations"])
    screening = screen(simulator, candidates, worlds, times, runs)
    finalists = finalists_of(screening, candidates)
    results = confirm(simulator, finalists, worlds, times, settings["simulations"], confidence)
    advised = next(candidate for candidate in finalists if candidate.name == results[0].candidate)
    sure = results[0].worst.right.value >= confidence
    world = worlds[results[0].worlds.index(results[0].worst)]
    [sample] = simulator.samples([RunRequest(advised, noisier(world), runs)], "noisier", times, "noisier users")
    return Advice(
        "deploy" if sure else "too small", settings, ndcg, times, unsure, tuple(results), tuple(screening),
        world_result(sample, times, world.users.name, confidence, confidence, world.least_mistake),
        None if sure else _sufficient_budget(simulator, RunRequest(advised, world, runs), budget, confidence),
        _live(advised, settings),
    )  # fmt: skip


def _sufficient_budget(simulator: Simulator, request: RunRequest, budget: int, confidence: float) -> SufficientBudget:
    few = request._replace(runs=max(10, request.runs // 3))
    times = budget * np.array(_MULTIPLES)  # checkpoints of the same runs; the largest is their horizon
    [sample] = simulator.samples([few], "larger budgets", times, "larger budgets")
    enough = np.flatnonzero(sample.right.mean(axis=0) >= confidence)
    tried = int(times[enough[0] if len(enough) else -1])
    [sample] = simulator.samples([request], "sufficient budget", np.array([tried]), "the larger budget")
    hits = int(sample.right[:, -1].sum())
    named = int(np.bincount(sample.named[:, -1]).argmax())
    return SufficientBudget(
        request.world.users.name, request.runs, tried if hits / request.runs >= confidence else None, tried,
        share(hits, request.runs, confidence), request.world.rankings.names[named], float(request.world.gaps[named]),
    )  # fmt: skip


def _unsure(world: World, confidence: float) -> tuple[str, ...]:
    table = evaluate_rankers(world.rankings, [world.measure])
    names = table["ranker"][(table["p"] >= 1 - confidence)]  # not significantly worse than the best ranker
    right = {name for name, good in zip(world.rankings.names, world.right, strict=True) if good}
    return tuple(name for name in names if name not in right)


def _live(candidate: Candidate, settings: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": "advised",
        "rankers": tuple(settings["rankers"]),
        "policy": candidate.name.partition("/")[0],
        "method": candidate.method,
        "outcome": candidate.outcome if candidate.compares_pairs else "",
        "top": settings["top"],
        "horizon": settings["budget"] if candidate.policy.component.needs_horizon else 0,
        "confidence": settings["confidence"],
        "batch": min(settings["batch"], 100_000),
    }
