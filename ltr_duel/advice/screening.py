"""Choose the advised candidate in two stages: a few runs of every candidate, then many new runs of the best three.

Candidates are sorted by their loss, from the lowest. If several click models are given, the highest loss counts. Among
the three finalists, the first that is right often enough with every click model is advised. If no finalist is right
often enough, the first one is advised. The intervals are wider than for a single candidate, because the same runs
choose the candidate and measure it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ltr_duel.advice.answer import CandidateResult, ScreeningResult, world_result
from ltr_duel.advice.candidates import BASELINE, Candidate
from ltr_duel.advice.runs import RunRequest, Sample, Simulator
from ltr_duel.advice.worlds import World
from ltr_duel.core import IntVector

FINALISTS = 3
_FEWEST = 10  # runs


def screen(
    simulator: Simulator, candidates: Sequence[Candidate], worlds: Sequence[World], times: IntVector, runs: int
) -> list[ScreeningResult]:
    """Run every candidate ``runs`` times with each click model; return the results, from the lowest loss."""
    requests = [RunRequest(candidate, world, runs) for candidate in candidates for world in worlds]
    samples = simulator.samples(requests, "screening", times, f"{len(candidates)} candidates")
    results = [
        ScreeningResult(
            candidate.name,
            runs,
            min(float(sample.right[:, -1].mean()) for sample in part),
            max(float(sample.loss.mean()) for sample in part),
        )
        for candidate, part in zip(candidates, _parts(samples, len(worlds)), strict=True)
    ]
    return sorted(results, key=lambda result: result.loss)


def confirm(
    simulator: Simulator,
    finalists: Sequence[Candidate],
    worlds: Sequence[World],
    times: IntVector,
    runs: int,
    confidence: float,
) -> list[CandidateResult]:
    """Run the finalists again; return the results of the advised candidate, then of the others by their loss.

    If the baseline is not among the best three candidates, it comes last and gets a quarter of the runs.
    """
    numbers = [runs if place < FINALISTS else a_quarter(runs) for place in range(len(finalists))]
    requests = [
        RunRequest(candidate, world, number)
        for candidate, number in zip(finalists, numbers, strict=True)
        for world in worlds
    ]
    samples = simulator.samples(requests, "fresh", times, f"fresh runs of {len(finalists)} candidates")
    level = 1 - (1 - confidence) / (len(worlds) * min(FINALISTS, len(finalists)))
    results = [
        CandidateResult(
            candidate.name,
            tuple(
                world_result(sample, times, world.users.name, confidence, level, world.least_mistake)
                for sample, world in zip(part, worlds, strict=True)
            ),
        )
        for candidate, part in zip(finalists, _parts(samples, len(worlds)), strict=True)
    ]
    first = sorted(results[:FINALISTS], key=lambda result: result.highest_loss.loss.value)
    advised = next((result for result in first if result.worst.right.value >= confidence), first[0])
    return [advised, *(result for result in first if result is not advised), *results[FINALISTS:]]


def finalists_of(screening: Sequence[ScreeningResult], candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the three candidates with the lowest loss, and also the baseline."""
    labelled = {candidate.name: candidate for candidate in candidates}
    first = [result.candidate for result in screening[:FINALISTS]]
    also = [BASELINE] if BASELINE in labelled and BASELINE not in first else []
    return [labelled[name] for name in (*first, *also)]


def a_quarter(simulations: int) -> int:
    """Return a quarter of the number of simulations, but at least 10."""
    return max(_FEWEST, simulations // 4)


def _parts(samples: Sequence[Sample], size: int) -> list[Sequence[Sample]]:
    return [samples[begin : begin + size] for begin in range(0, len(samples), size)]
