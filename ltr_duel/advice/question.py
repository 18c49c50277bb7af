"""The steps from a question to an answer: a race, claims, what-if worlds, and a search for a sufficient budget.

Claims are the reported estimates for the first candidates. They are based on fresh runs that did not affect the choice
of candidates. A fifth of the probability of error is for the race, and the rest for the intervals of the claims.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from ltr_duel.advice.answer import Advice, Enough, Row, WhatIf, showing_of
from ltr_duel.advice.bounds import mean, share
from ltr_duel.advice.candidates import Candidate
from ltr_duel.advice.race import Finish, Pairs, Proof, Round, Shots, race
from ltr_duel.advice.trials import Laboratory, Trials, Wanted
from ltr_duel.advice.world import World, closer, cyclic, noisier
from ltr_duel.rankers import Rankings, evaluate_rankers

_RACE_SHARE = 0.2  # the race's share of the probability of error
_SIZES = (0.125, 0.25, 0.5, 1.5)  # runs of a candidate after one try, two tries, ..., as fractions of the simulations
_FLOOR = 0.1  # a loss below this fraction of the margin is negligible
_LEAST = 10  # minimum number of runs
_MOST_AGAIN = 3  # maximum number of candidates that get fresh runs if the first claims miss the confidence
_FACTORS = (2, 4, 8, 16, 32, 64)  # simulated multiples of the budget; above 8 only up to `_FAR` impressions
_FAR = 1_000_000


class Question:
    """A question, and the simulations that answer it."""

    def __init__(
        self, rankings: Rankings, worlds: list[World], candidates: list[Candidate], confidence: float, aim: str,
        simulations: int, laboratory: Laboratory,
    ) -> None:  # fmt: skip
        self._rankings, self._worlds = rankings, worlds
        self._candidates = [one for one in candidates if one.may_be_deployed]
        self._apart = [one for one in candidates if not one.may_be_deployed]
        self._confidence, self._aim, self._simulations, self._lab = confidence, aim, simulations, laboratory
        wrong = 1 - confidence
        self._level = 1 - (1 - _RACE_SHARE) * wrong / len(worlds)  # confidence of an interval in one world
        self._raced: dict[tuple[int, int], Trials] = {}  # keyed by candidate and world
        self._sizes = sorted({max(4, int(part * simulations)) for part in _SIZES})
        looks = len(self._sizes) + 1  # plus one test of each bound that includes the runs of the claims
        self._proof = Proof(
            worlds[0].surprise, confidence, _RACE_SHARE * wrong, looks, len(self._candidates), len(worlds)
        )

    def answer(self, settings: dict[str, Any]) -> Advice:
        """Return the answer: race, claims and what-if worlds."""
        names = tuple(one.label for one in self._candidates)
        ndcg = dict(zip(self._rankings.names, self._worlds[0].ndcg.tolist(), strict=True))
        common: dict[str, Any] = {"settings": settings, "ndcg": ndcg, "times": self._lab.times, "names": names}
        common["unsure"] = self._unsure(settings["measure"])
        if self._worlds[0].right.all():
            nothing: dict[str, Any] = {"rows": (), "rounds": (), "surest": "", "what_if": (), "live": {}}
            return Advice(verdict="identical", enough=None, **nothing, **common)
        finish = self._race()
        order, runs = self._choice(finish)
        rows, rounds = self._rows(order, runs, finish)
        rows = self._tried_again(rows, finish)
        labelled = {one.label: one for one in self._candidates}
        # The advised candidate, and the runner-up.
        first = [labelled[row.candidate] for row in rows[:2] if row.may_be_deployed]
        sure = [row for row in rows if self._is_sure(row)]
        verdict: Literal["deploy", "too small"] = "deploy" if sure else "too small"
        surest = sure[0].candidate if sure and rows[0] not in sure else ""
        return Advice(
            verdict=verdict,
            rows=tuple(rows),
            rounds=tuple(rounds),
            surest=surest,
            what_if=tuple(self._what_if(first, rows[: len(first)])),
            enough=None if sure else self._enough(first[0], rows[0]),
            live=_live(first[0], settings),
            **common,
        )

    def trial(self) -> list[Row]:
        """Run all candidates with an equal number of runs, and return the results."""
        all_of_them = [*self._candidates, *self._apart]
        wanted = [Wanted(one, world, 0, self._simulations) for one in all_of_them for world in self._worlds]
        found = iter(self._lab.run(wanted, "trial", f"{len(all_of_them)} candidates"))
        return [self._row(one, [next(found) for _ in self._worlds], True) for one in all_of_them]

    def _race(self) -> Finish:
        def shoot(pairs: Pairs, begin: int, end: int) -> list[Shots]:
            wanted = [Wanted(self._candidates[k], self._worlds[m], begin, end) for k, m in pairs]
            found = self._lab.run(wanted, "race", f"race to {end} runs")
            for (k, m), new in zip(pairs, found, strict=True):
                old = self._raced.get((k, m))
                self._raced[k, m] = old.and_more(new) if old else new
            return [shots_of(one) for one in found]

        floor = _FLOOR * self._worlds[0].margin
        return race(shoot, self._sizes, self._proof, floor=floor, sure_first=self._aim == "sure")

    def _choice(self, finish: Finish) -> tuple[list[int], list[int]]:
        """Return all candidates in the order of advice, and the numbers of fresh runs of the first candidates.

        Fresh runs are for the advised candidate, the runner-up and, if both missed the confidence in the race, the
        first candidate that reached it.
        """
        order, few = finish.left + finish.behind, max(_LEAST, self._simulations // 4)
        sure = next((k for k in order if self._was_sure(finish.shots[k])), order[0])
        if order.index(sure) > 1:
            order.remove(sure)
            order.insert(2, sure)
        half = max(_LEAST, self._simulations // 2)
        runs = dict.fromkeys(order[:2], few) | {sure: half} | {order[0]: self._simulations}
        return order, list(runs.values())

    def _tried_again(self, rows: list[Row], finish: Finish) -> list[Row]:
        """If the claims missed the confidence, give fresh runs to candidates that reached it in other runs.

        A candidate that reaches it again becomes the advised candidate if its loss is not higher than the loss of the
        present advised candidate, or if the aim is "sure".
        """
        labelled = {one.label: one for one in self._candidates}
        shots = dict(zip(labelled, finish.shots, strict=True))
        sure_first = self._aim == "sure"
        may = [
            row
            for row in rows[1:]
            if row.may_be_deployed
            and (self._is_sure(row) or not self._has_enough(row))
            and (row.worst.right.value >= self._confidence or self._was_sure(shots[row.candidate]))
        ]
        for row in sorted(may, key=_loss)[:_MOST_AGAIN]:
            if any(map(self._is_sure, rows[:1] if sure_first else rows)):
                break
            candidate = labelled[row.candidate]
            wanted = [Wanted(candidate, world, 0, self._simulations) for world in self._worlds]
            again = self._row(candidate, self._lab.run(wanted, "claim, again", f"claims, {row.candidate}"), True)
            better = self._is_sure(again) and (sure_first or _loss(again) <= _loss(rows[0]))
            place = 0 if better else min(2, rows.index(row))
            rows = [one for one in rows if one is not row]
            rows.insert(place, again)
        return rows

    def _has_enough(self, row: Row) -> bool:
        """Return whether a candidate has enough fresh runs to be advised."""
        return row.fresh and row.may_be_deployed and 2 * row.worst.runs >= self._simulations

    def _is_sure(self, row: Row) -> bool:
        return self._has_enough(row) and row.worst.right.value >= self._confidence

    def _was_sure(self, worlds: Sequence[Shots]) -> bool:
        return all(one.right.mean() >= self._confidence for one in worlds)

    def _rows(self, order: list[int], runs: list[int], finish: Finish) -> tuple[list[Row], list[Round]]:
        """Return the rows and the rounds; rows of the first candidates and of the A/B test have fresh runs.

        The last round adds the fresh runs of the advised candidate, which may show that further candidates are worse.
        """
        fresh = [*(self._candidates[k] for k in order[: len(runs)]), *self._apart]
        wanted = [
            Wanted(one, world, 0, end)
            for one, end in zip(fresh, [*runs, *(_LEAST for _ in self._apart)], strict=True)
            for world in self._worlds
        ]
        found = self._lab.run(wanted, "claim", f"claims, {len(fresh)} candidates")
        n = len(self._worlds)
        parts = [found[place : place + n] for place in range(0, len(found), n)]
        rows = [self._row(one, part, True) for one, part in zip(fresh, parts, strict=True)]
        rows += [
            self._row(self._candidates[k], [self._raced[k, m] for m in range(n)], False) for k in order[len(runs) :]
        ]
        advised = order[0]
        shots = list(finish.shots)
        shots[advised] = [old.and_more(shots_of(new)) for old, new in zip(shots[advised], parts[0], strict=True)]
        dropped = [k for k in self._proof.worse(finish.left, shots) if k != advised]
        left = tuple(k for k in finish.left if k not in dropped)
        last = Round(max(len(one.loss) for one in shots[advised]), (advised,), left, tuple(dropped))
        return rows, [*finish.rounds, last]

    def _row(self, candidate: Candidate, trials: list[Trials], fresh: bool) -> Row:
        worlds = tuple(
            showing_of(one, self._lab.times, world.users.name, self._confidence, self._level, world.surprise)
            for one, world in zip(trials, self._worlds, strict=True)
        )
        return Row(candidate.label, candidate.may_be_deployed, fresh, worlds)

    def _what_if(self, candidates: Sequence[Candidate], rows: Sequence[Row]) -> list[WhatIf]:
        """Run candidates in harder versions of the world in which the first candidate is least often right."""
        place, runs = rows[0].worlds.index(rows[0].worst), max(_LEAST, self._simulations // 4)
        world = self._worlds[place]
        changed = {"noisier": noisier(world), "closer": closer(world), "cycle": cyclic(world)}
        harder = {change: one for change, one in changed.items() if one is not None}
        wanted = [Wanted(one, harder[change], 0, runs) for one in candidates for change in harder]
        found = iter(self._lab.run(wanted, "what if", "harder worlds"))
        answers = []
        for candidate, row in zip(candidates, rows, strict=True):
            known = row.worlds[place]
            answers.append(
                WhatIf("as simulated", candidate.label, world.users.name, known.runs, known.right, known.lost)
            )
            for change in harder:
                trials = next(found)
                right = share(int(trials.right[:, -1].sum()), runs, self._level)  # interval as for "as simulated"
                lost = mean(trials.lost[:, -1], self._level)
                answers.append(WhatIf(change, candidate.label, world.users.name, runs, right, lost))
        return answers

    def _enough(self, advised: Candidate, row: Row) -> Enough:
        """Extend runs to larger budgets until enough are right; then estimate the probability from separate runs."""
        world, runs = self._worlds[row.worlds.index(row.worst)], max(_LEAST, self._simulations // 10)
        factor, _ = self._lab.until(
            Wanted(advised, world, 0, runs),
            "enough",
            "a larger budget",
            [factor for factor in _FACTORS if factor <= 8 or factor * self._lab.budget <= _FAR],
            lambda trials: float(trials.right[:, -1].mean()) >= self._confidence,
        )
        anew = max(_LEAST, self._simulations // 4)
        _, found = self._lab.until(
            Wanted(advised, world, 0, anew), "enough, anew", "the larger budget", [factor], lambda trials: True
        )
        hits = int(found.right[:, -1].sum())
        level = 1 - (1 - _RACE_SHARE) * (1 - self._confidence)
        most = int(np.bincount(found.named[:, -1]).argmax())
        return Enough(
            advised.label,
            world.users.name,
            anew,
            self._lab.budget * factor if hits / anew >= self._confidence else None,
            self._lab.budget * factor,
            share(hits, anew, level),
            self._rankings.names[most],
            float(world.gaps[most]),
        )

    def _unsure(self, measure: str) -> tuple[str, ...]:
        """Return the rankers whose difference from the best one may be due to the choice of queries."""
        table = evaluate_rankers(self._rankings, [measure])
        names = table["ranker"][(table["p"] >= 1 - self._confidence)]
        right = {name for name, good in zip(self._rankings.names, self._worlds[0].right, strict=True) if good}
        return tuple(name for name in names if name not in right)


def _loss(row: Row) -> float:
    return row.dearest.loss.value


def shots_of(trials: Trials) -> Shots:
    """Return the runs in the form that the race requires."""
    return Shots(trials.loss, trials.right[:, -1])


def _live(candidate: Candidate, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings for `ltr_duel.live`."""
    assert candidate.policy is not None
    in_batches = {"plan": {"batch": min(settings["batch"], 100_000)}}  # number of choices in a plan
    at_once = {"serve": {"store": "live.db", "key_file": "live.keys"}}  # files that are created at the first start
    return {
        "name": "advised",
        "rankers": tuple(settings["rankers"]),
        "policy": candidate.policy.label,
        "method": candidate.method,
        "outcome": candidate.outcome,
        "top": settings["top"],
        "horizon": settings["budget"] if candidate.needs_horizon else 0,
        "confidence": settings["confidence"],
        **(in_batches if settings["batch"] > 1 else at_once),
    }
