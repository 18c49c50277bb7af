"""One question on its way to an answer: race, claims, what if, and the budget that would do.

The race and the claims share the chance of being wrong: a fifth of it is the race's, the rest is that of the intervals
of the claims, for which users are drawn that nobody chose by.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ltr_duel.advice.answer import Advice, Enough, Row, WhatIf, showing_of, worst_of
from ltr_duel.advice.bounds import mean, share
from ltr_duel.advice.candidates import Candidate
from ltr_duel.advice.race import Finish, Shots, in_doubt, race
from ltr_duel.advice.trials import Laboratory, Trials, Wanted
from ltr_duel.advice.world import World, closer, cyclic, noisier
from ltr_duel.rankers import Rankings, evaluate_rankers

_RACE_SHARE = 0.2  # of the chance of being wrong
_DOUBT = 0.05  # error of the test by which a candidate is passed over as not sure enough
_ROUNDS = (0.05, 0.1, 0.2)  # of the simulations
_SHOWN = 5  # candidates with a curve
_LEAST = 10  # runs of whatever is run
_FACTORS = (2, 4, 8, 16, 32, 64)  # of the budget


class Question:
    """What was asked, and what has been simulated for it."""

    def __init__(
        self,
        rankings: Rankings,
        worlds: list[World],
        candidates: list[Candidate],
        confidence: float,
        aim: str,
        simulations: int,
        laboratory: Laboratory,
    ) -> None:
        self._rankings, self._worlds = rankings, worlds
        self._candidates = [one for one in candidates if one.may_be_deployed]
        self._apart = [one for one in candidates if not one.may_be_deployed]
        self._confidence, self._aim, self._simulations, self._lab = confidence, aim, simulations, laboratory
        wrong = 1 - confidence
        self._race_error = _RACE_SHARE * wrong
        self._level = 1 - (1 - _RACE_SHARE) * wrong / len(worlds)  # of an interval in one world
        self._raced: list[list[Trials]] = [[] for _ in self._candidates]

    def answer(self, settings: dict[str, Any]) -> Advice:
        """Race, claim, and ask what if."""
        names = tuple(one.label for one in self._candidates)
        ndcg = dict(zip(self._rankings.names, self._worlds[0].ndcg.tolist(), strict=True))
        common: dict[str, Any] = {"settings": settings, "ndcg": ndcg, "times": self._lab.times, "names": names}
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

    def trial(self) -> list[Row]:
        """Run all candidates equally often."""
        all_of_them = [*self._candidates, *self._apart]
        wanted = [Wanted(one, world, 0, self._simulations) for one in all_of_them for world in self._worlds]
        found = iter(self._lab.run(wanted, "trial", f"{len(all_of_them)} candidates"))
        return [self._row(one, [next(found) for _ in self._worlds], True) for one in all_of_them]

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

        return race(
            len(self._candidates),
            shoot,
            sizes,
            surprise=self._worlds[0].surprise,
            confidence=self._confidence,
            error=self._race_error,
        )

    def _choice(self, finish: Finish) -> list[int]:
        """Return all candidates in the order of advice; the first of those that may be sure is among those shown."""
        doubt = {k: in_doubt(finish.shots[k], self._confidence, _DOUBT) for k in finish.left}
        order = sorted(finish.left, key=lambda k: (self._aim == "sure" and doubt[k], finish.scores[k])) + finish.behind
        sure = next((k for k in order if not doubt.get(k, True)), order[0])
        if order.index(sure) >= _SHOWN:
            order.remove(sure)
            order.insert(_SHOWN - 1, sure)
        return order

    def _rows(self, order: list[int]) -> list[Row]:
        """Run the first candidates anew, and the A/B test; of the others there is what the race has shown."""
        few = max(_LEAST, self._simulations // 4)
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
            showing_of(one, self._lab.times, world.users.name, self._confidence, self._level, world.surprise)
            for one, world in zip(trials, self._worlds, strict=True)
        )
        worst = worst_of(worlds, self._lab.times, self._confidence)
        return Row(candidate.label, candidate.may_be_deployed, fresh, worst, worlds)

    def _worst_world(self, row: Row) -> World:
        """Return the world in which a candidate is least often right, and loses most."""
        worst = min(range(len(row.worlds)), key=lambda m: (row.worlds[m].right.value, -row.worlds[m].loss.value))
        return self._worlds[worst]

    def _what_if(self, advised: Candidate, runner_up: Candidate, row: Row) -> list[WhatIf]:
        world, runs = self._worst_world(row), max(_LEAST, self._simulations // 4)
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
        world, runs = self._worst_world(row), max(_LEAST, self._simulations // 10)
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
