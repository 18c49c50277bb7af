"""From rankings and a budget to advice.

    candidates --race--> the best five --fresh runs--> claims --harder worlds--> what if --more impressions--> enough

The race and the claims share the chance of being wrong: a fifth of it is the race's, the rest is that of the intervals
of the claims, for which users are drawn that nobody chose by.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from ltr_duel.advice.answer import Advice, Enough, Row, WhatIf, showing_of, worst_of
from ltr_duel.advice.bounds import mean, share
from ltr_duel.advice.candidates import Candidate, candidates_named
from ltr_duel.advice.race import Finish, Shots, in_doubt, race
from ltr_duel.advice.trials import Laboratory, Trials, Wanted
from ltr_duel.advice.world import World, closer, cyclic, noisier, worlds_of
from ltr_duel.clicks import ClickModel
from ltr_duel.core import FloatVector, InputError, checked_jobs, checked_seed, require_between, require_whole
from ltr_duel.core import unknown_name
from ltr_duel.rankers import Rankings, evaluate_rankers, require_rankings
from ltr_duel.simulation import checkpoints

PRESETS = ("perfect", "navigational", "informational")
_RACE_SHARE = 0.2  # of the chance of being wrong
_DOUBT = 0.05  # error of the test by which a candidate is passed over as not sure enough
_ROUNDS = (0.04, 0.08, 0.16, 0.32)  # of the simulations
_SHOWN = 5  # candidates with a curve
_FACTORS = (2, 4, 8, 16, 32, 64)  # of the budget
_PER_DECADE = 12  # checkpoints
_MOST_RANKERS = 200
_MOST_BUDGET = 10**9


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
    simulations: int = 200,
    seed: int = 0,
    jobs: int = -1,
) -> Advice:
    """Find out by simulation what to deploy for some rankers: a policy, and a method that compares rankers.

    Advised is the candidate by which users lose least, over the budget and over as many impressions after it that
    show the ranker it names, in the worst of the click models; among those that name a right ranker with the confidence
    asked for, where there are any.

    Parameters
    ----------
    rankings : Rankings
        At least two rankers, at most 200.
    budget : int
        Impressions, from 100 to 10^9.
    clicks : str, ClickModel or sequence of them
        Users as they may be; the advice is for the worst of them.
    confidence : float
        How sure one wants to be of the ranker that is named; also that of all intervals. From 0.5 to 0.999.
    margin : float
        NDCG@10 below that of the best ranker that is as good, from 0 to 1.
    incumbent : str, optional
        The ranker that users see today; the first one by default.
    candidates : sequence of str
        Policies with methods, ``"rucb/team_draft"``; the usual ones by default.
    top : int
        Documents shown.
    simulations : int
        Fresh runs of the advised candidate for each click model, from 25 to 10^5; all else is in proportion.
    seed : int
    jobs : int
        Threads; -1 for all cores. The advice does not depend on it.

    Returns
    -------
    Advice

    Raises
    ------
    InputError
        For numbers out of range, unknown names, or rankings whose ties are ordered anew for each page.

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
    budget = require_whole("the budget", budget, 100, _MOST_BUDGET)
    require_between("the confidence", confidence, 0.5, 0.999)
    require_between("the margin", margin, 0, 1)
    top = require_whole("the number of documents shown", top, 1, 1000)
    simulations = require_whole("the number of simulations", simulations, 25, 100_000)
    seed, jobs = checked_seed(seed), checked_jobs(jobs)
    if incumbent is not None and incumbent not in rankings.names:
        raise unknown_name("ranker", incumbent, rankings.names)
    users = (clicks,) if isinstance(clicks, str | ClickModel) else tuple(clicks)
    named = candidates_named(candidates)
    worlds = worlds_of(rankings, users, top, margin)
    times = _checkpoints(budget)
    asked = _Asked(rankings, worlds, named, confidence, simulations, Laboratory(budget, times, seed, jobs))
    settings = {
        "corpus": rankings.provenance.get("corpus", ""),
        "corpus_sha256": rankings.provenance.get("corpus_sha256", ""),
        "queries": rankings.n_queries,
        "rankers": list(rankings.names),
        "incumbent": incumbent or rankings.names[0],
        "clicks": [world.users.name for world in worlds],
        "budget": budget,
        "confidence": float(confidence),
        "margin": float(margin),
        "measure": worlds[0].measure,
        "top": top,
        "simulations": simulations,
        "seed": seed,
    }
    return asked.answer(settings)


class _Asked:
    """One question, on its way to an answer."""

    def __init__(
        self,
        rankings: Rankings,
        worlds: list[World],
        candidates: list[Candidate],
        confidence: float,
        simulations: int,
        laboratory: Laboratory,
    ) -> None:
        self._rankings, self._worlds = rankings, worlds
        self._candidates = [one for one in candidates if one.may_be_deployed]
        self._apart = [one for one in candidates if not one.may_be_deployed]
        self._confidence, self._simulations, self._lab = confidence, simulations, laboratory
        wrong = 1 - confidence
        self._race_error = _RACE_SHARE * wrong
        self._level = 1 - (1 - _RACE_SHARE) * wrong / len(worlds)  # of an interval in one world
        self._raced: list[list[Trials]] = [[] for _ in self._candidates]

    def answer(self, settings: dict[str, Any]) -> Advice:
        """Race, claim, and ask what if."""
        names = tuple(one.label for one in self._candidates)
        ndcg = dict(zip(self._rankings.names, self._worlds[0].ndcg.tolist(), strict=True))
        common = {"settings": settings, "ndcg": ndcg, "times": self._lab.times, "names": names}
        common["unsure"] = self._unsure(settings["measure"])
        if self._worlds[0].right.all():
            nothing: dict[str, Any] = {"rows": (), "rounds": (), "surest": "", "what_if": (), "live": {}}
            return Advice(verdict="identical", enough=None, **nothing, **common)
        finish = self._race()
        order = self._choice(finish)
        rows = self._rows(order)
        advised, runner_up = (self._candidates[k] for k in (order[0], order[min(1, len(order) - 1)]))
        sure = [row for row in rows if row.fresh and row.may_be_deployed and row.worst.right.value >= self._confidence]
        verdict: Literal["deploy", "too small"] = "deploy" if sure else "too small"
        surest = sure[0].candidate if sure and rows[0] not in sure else ""
        return Advice(
            verdict=verdict,
            rows=tuple(rows),
            rounds=tuple(finish.rounds),
            surest=surest,
            what_if=tuple(self._what_if(advised, runner_up, rows[0])),
            enough=None if sure else self._enough(advised, rows[0]),
            live=_live(advised, settings),
            **common,
        )

    def _race(self) -> Finish:
        sizes = sorted({max(4, int(part * self._simulations)) for part in _ROUNDS})

        def shoot(number: int, left: list[int], begin: int, end: int) -> list[list[Shots]]:
            wanted = [Wanted(self._candidates[k], world, begin, end) for k in left for world in self._worlds]
            label = f"race, round {number + 1} of {len(sizes)}, {len(left)} candidates"
            found = iter(self._lab.run(wanted, "race", label))
            shots = []
            for k in left:
                new = [next(found) for _ in self._worlds]
                old = self._raced[k]
                self._raced[k] = [a.and_more(b) for a, b in zip(old, new, strict=True)] if old else new
                shots.append([Shots(one.loss, one.right[:, -1]) for one in new])
            return shots

        world = self._worlds[0]
        return race(
            len(self._candidates),
            shoot,
            sizes,
            surprise=float(world.gaps[world.right == 0].min()),  # the nearest of the wrong rankers is named
            confidence=self._confidence,
            error=self._race_error,
        )

    def _choice(self, finish: Finish) -> list[int]:
        """Return all candidates in the order of advice: first those left that may be as sure as was asked for."""
        doubt = {k: in_doubt(finish.shots[k], self._confidence, _DOUBT) for k in finish.left}
        left = sorted(finish.left, key=lambda k: (doubt[k], finish.scores[k]))
        return left + finish.behind

    def _rows(self, order: list[int]) -> list[Row]:
        """Run the first candidates anew, and the A/B test; of the others there is what the race has shown."""
        few = max(20, self._simulations // 4)
        fresh = [*(self._candidates[k] for k in order[:_SHOWN]), *self._apart]
        wanted = [
            Wanted(one, world, 0, few if place else self._simulations)
            for place, one in enumerate(fresh)
            for world in self._worlds
        ]
        found = iter(self._lab.run(wanted, "claim", f"claims, {len(fresh)} candidates"))
        rows = [self._row(one, [next(found) for _ in self._worlds], True) for one in fresh]
        return rows + [self._row(self._candidates[k], self._raced[k], False) for k in order[_SHOWN:]]

    def _row(self, candidate: Candidate, trials: list[Trials], fresh: bool) -> Row:
        worlds = tuple(
            showing_of(one, self._lab.times, world.users.name, self._confidence, self._level)
            for one, world in zip(trials, self._worlds, strict=True)
        )
        worst = worst_of(worlds, self._lab.times, self._confidence)
        return Row(candidate.label, candidate.may_be_deployed, fresh, worst, worlds)

    def _worst_world(self, row: Row) -> World:
        """Return the world in which a candidate is least often right, and loses most."""
        worst = min(range(len(row.worlds)), key=lambda m: (row.worlds[m].right.value, -row.worlds[m].loss.value))
        return self._worlds[worst]

    def _what_if(self, advised: Candidate, runner_up: Candidate, row: Row) -> list[WhatIf]:
        world, runs = self._worst_world(row), max(20, self._simulations // 4)
        changed = {"as simulated": world, "noisier": noisier(world), "closer": closer(world), "cycle": cyclic(world)}
        pairs = [(change, one) for one in dict.fromkeys((advised, runner_up)) for change in changed if changed[change]]
        wanted = [Wanted(one, changed[change], 0, runs) for change, one in pairs]  # type: ignore[arg-type]
        level = 1 - (1 - _RACE_SHARE) * (1 - self._confidence)
        found = self._lab.run(wanted, "what if", "harder worlds")
        return [
            WhatIf(
                change,
                one.label,
                world.users.name,
                runs,
                share(int(trials.right[:, -1].sum()), runs, level),
                mean(trials.lost[:, -1], level),
            )
            for (change, one), trials in zip(pairs, found, strict=True)
        ]

    def _enough(self, advised: Candidate, row: Row) -> Enough:
        """Prolong some runs until most of them are right."""
        world, runs = self._worst_world(row), max(20, self._simulations // 10)
        factor, found = self._lab.until(
            Wanted(advised, world, 0, runs),
            "enough",
            "a larger budget",
            _FACTORS,
            lambda trials: float(trials.right[:, -1].mean()) >= self._confidence,
        )
        hits = int(found.right[:, -1].sum())
        level = 1 - (1 - _RACE_SHARE) * (1 - self._confidence)
        most = int(np.bincount(found.named[:, -1]).argmax())
        return Enough(
            advised.label,
            world.users.name,
            runs,
            self._lab.budget * factor if hits / runs >= self._confidence else None,
            self._lab.budget * factor,
            share(hits, runs, level),
            self._rankings.names[most],
            float(world.gaps[most]),
        )

    def _unsure(self, measure: str) -> tuple[str, ...]:
        """Return the rankers that differ from the best by no more than the choice of queries may have brought about."""
        table = evaluate_rankers(self._rankings, [measure])
        names = table["ranker"][(table["p"] >= 1 - self._confidence)]
        right = {name for name, good in zip(self._rankings.names, self._worlds[0].right, strict=True) if good}
        return tuple(name for name in names if name not in right)


def _checkpoints(budget: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return log-spaced steps, from some hundredth of the budget on."""
    times = checkpoints(budget, _PER_DECADE)
    return np.asarray(times[times >= max(10, budget // 1000)])


def _live(candidate: Candidate, settings: dict[str, Any]) -> dict[str, Any]:
    """Return what `ltr_duel.live` is to be told."""
    assert candidate.policy is not None
    return {
        "name": "advised",
        "rankers": tuple(settings["rankers"]),
        "policy": candidate.policy.label,
        "method": candidate.method,
        "top": settings["top"],
        "horizon": settings["budget"] if candidate.needs_horizon else 0,
        "confidence": settings["confidence"],
    }
