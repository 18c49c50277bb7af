"""Whole sweeps have the distribution of single steps: against enumeration, and against step-by-step runs."""

from __future__ import annotations

from collections import Counter, defaultdict
from math import sqrt

import numpy as np
import pytest
from scipy import stats

from ltr_duel.bandits.hooks import NEVER
from ltr_duel.bandits.loop import Run, run_sweeps
from ltr_duel.bandits.policies.beat_the_mean_sweeps import SweepState, sweep_arrays
from ltr_duel.bandits.policy import POLICIES
from ltr_duel.bandits.recorder import Span, new_recorder
from ltr_duel.core.errors import InputError
from ltr_duel.core.random import stream
from ltr_duel.experiment.results import StudyResults
from ltr_duel.experiment.run import make_plan, run_experiment
from ltr_duel.preferences.matrix import PreferenceMatrix
from ltr_duel.simulation.oracle import FromMatrix
from ltr_duel.simulation.run import checkpoints, simulate
from ltr_duel.simulation.run_result import RunKey
from ltr_duel.simulation.single_run import run_once, run_streams
from tests.conftest import ROCK_PAPER_SCISSORS, bradley_terry

TWO = PreferenceMatrix(np.array([[0.5, 0.7], [0.3, 0.5]]))
THREE = PreferenceMatrix(np.array([[0.5, 0.8, 0.6], [0.2, 0.5, 1.0], [0.4, 0.0, 0.5]]))
ABLE = ["beat_the_mean", "beat_the_mean_pac", "interleaved_filter"]


class Enumerated:
    """The exact distribution of Beat the Mean, Algorithm 1, on few arms and steps: pairings, and the named arm.

    A state is the remaining arms; for each arm, opponent and outcome the records; the duels of each pair so far;
    and what a run records at each of the times. States that are equal are merged.
    """

    def __init__(self, p, factor, enough, times):
        self.p, self.k, self.factor, self.enough = p, len(p), factor, enough
        start = (tuple(range(self.k)), (0,) * (2 * self.k**2), (0,) * self.k**2, ())
        self.law = {start: 1.0}
        for t in range(1, times[-1] + 1):
            after = defaultdict(float)
            for state, mass in self.law.items():
                for following, chance in self.step(*state):
                    active, records, met, seen = following
                    if t in times:
                        seen = (*seen, self.recorded(met, self.answer(active, records)))
                    after[active, records, met, seen] += mass * chance
            self.law = after
        self.outcomes = Counter()
        for (_, _, met, seen), mass in self.law.items():
            self.outcomes[met, seen] += mass

    def recorded(self, met, answer):
        pulls, best = [0] * self.k, [0] * self.k
        for pair, duels in enumerate(met):
            for arm in divmod(pair, self.k):
                pulls[arm] += duels
            best[min(divmod(pair, self.k))] += duels
        return (*pulls, *best, answer)

    def n(self, records, b):
        return sum(records[2 * self.k * b : 2 * self.k * (b + 1)])

    def mean(self, records, b):
        n = self.n(records, b)
        return sum(records[2 * self.k * b + 1 : 2 * self.k * (b + 1) : 2]) / n if n else 0.5

    def answer(self, active, records):
        return max(active, key=lambda b: (self.mean(records, b), -b))

    def step(self, active, records, met, seen):
        counts = {b: self.n(records, b) for b in active}
        fewest = [b for b in active if counts[b] == min(counts.values())]
        if len(active) == 1 or min(counts.values()) >= self.enough:
            best = self.answer(active, records)
            yield (active, records, add(met, best * self.k + best), seen), 1.0
            return
        for b in fewest:
            for x in active:
                for won in (0, 1):
                    chance = (self.p[b, x] if won else 1 - self.p[b, x]) / len(fewest) / len(active)
                    if chance == 0:
                        continue
                    more = add(records, 2 * self.k * b + 2 * x + won)
                    duels = add(met, b * self.k + x)
                    for rest, kept, share in self.removals(active, more):
                        yield (rest, kept, duels, seen), chance * share

    def removals(self, active, records):
        n = min(self.n(records, b) for b in active)
        c = self.factor * sqrt(1 / n) if n else 1.0
        means = {b: self.mean(records, b) for b in active}
        if min(means.values()) + c > max(means.values()) - c:
            yield active, records, 1.0
            return
        worst = [b for b in active if means[b] == min(means.values())]
        for w in worst:
            kept = list(records)
            for place in range(len(kept)):
                if place // (2 * self.k) == w or place % (2 * self.k) // 2 == w:
                    kept[place] = 0
            yield tuple(b for b in active if b != w), tuple(kept), 1 / len(worst)


def add(counts, place):
    return (*counts[:place], counts[place] + 1, *counts[place + 1 :])


@pytest.mark.parametrize("runs", [4_000, pytest.param(40_000, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    "matrix, factor, enough, times",
    [
        (TWO, 0.6, NEVER, [9]),
        (TWO, 0.8, NEVER, [5, 11]),
        (TWO, 0.45, 4, [4, 10]),
        (THREE, 0.6, NEVER, [7]),
        (THREE, 0.45, NEVER, [2, 7]),
        (THREE, 0.45, 2, [8]),
    ],
)
def test_beat_the_mean_in_sweeps_has_the_enumerated_law(matrix, factor, enough, times, runs):
    exact = Enumerated(matrix.p, factor, enough, times).outcomes
    assert sum(exact.values()) == pytest.approx(1)
    counts = Counter()
    params, size = POLICIES["beat_the_mean"].params(), len(matrix)
    oracle = FromMatrix(matrix, in_sweeps=True).open()
    streams = run_streams(RunKey({}, "", {}, 1, 0, 7))
    for _ in range(runs):
        state = SweepState(*sweep_arrays(size, {"enough": enough, "factor": factor, "level": 1.0}))
        counted, met = new_recorder(size, times), np.zeros((size, size), np.int64)
        run_sweeps(state, params, oracle, streams, counted, Span(1, times[-1], True), met)
        seen = np.column_stack([counted.pulls, counted.best, counted.recommended])
        counts[tuple(met.ravel().tolist()), tuple(tuple(row) for row in seen.tolist())] += 1
    assert not set(counts) - set(exact)
    assert_has_law(counts, exact, runs)


def assert_has_law(counts, exact, runs):
    often = [one for one in exact if exact[one] * runs >= 8]
    observed = [counts[one] for one in often]
    expected = [exact[one] * runs for one in often]
    observed.append(runs - sum(observed))
    expected.append(runs - sum(expected))
    if expected[-1] < 1e-6:
        observed, expected = observed[:-1], expected[:-1]
    assert len(observed) > 5
    assert stats.chisquare(observed, expected).pvalue > 1e-4


@pytest.mark.parametrize("runs", [300, pytest.param(2_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("matrix", [bradley_terry(2), bradley_terry(4, span=6), bradley_terry(6, span=9), THREE])
@pytest.mark.parametrize(
    "text, told, steps",
    [
        ("beat_the_mean", 20, [15, 150, 900]),
        ("beat_the_mean:gamma=1.1", 20, [3000, 10_000]),
        ("beat_the_mean_pac:epsilon=0.49,delta=0.9", 0, [3000, 10_000]),
        ("interleaved_filter:radius_scale=0.3", 10, [3, 20, 60]),
        ("interleaved_filter:radius_scale=0.3,prune=false", 10, [3, 20, 60]),
        ("interleaved_filter", 1000, [30, 500, 2000]),
    ],
)
def test_sweeps_have_the_law_of_single_steps(text, told, steps, matrix, runs):
    """Compare each arm's pulls at each checkpoint, its times as the best, sums with random signs, and the answer."""
    configured = POLICIES.configure(text)
    signs = stream(5, "signs").choice([-1.0, 1.0], (2 * len(matrix) * len(steps), 6))
    features, answers = [], []
    for seed, in_sweeps in ((1, False), (2, True)):
        oracle = FromMatrix(matrix, in_sweeps=in_sweeps)
        keys = [RunKey({}, configured.component.name, configured.params._asdict(), told, r, seed) for r in range(runs)]
        done = [run_once(configured, key, oracle, np.array(steps)) for key in keys]
        counts = np.array([np.concatenate([one.pulls, one.best], axis=1).ravel() for one in done])
        features.append(np.column_stack([counts, counts @ signs]))
        answers.append(np.array([one.recommended for one in done]))
    for column in range(features[0].shape[1]):
        assert stats.ks_2samp(*(side[:, column] for side in features), method="asymp").pvalue > 1e-5, column
    for row in range(len(steps)):
        table = np.array([np.bincount(side[:, row], minlength=len(matrix)) for side in answers])
        table = table[:, table.sum(axis=0) > 0]
        assert table.shape[1] == 1 or stats.chi2_contingency(table).pvalue > 1e-5


@pytest.mark.parametrize("text", ABLE)
@pytest.mark.parametrize("matrix", [bradley_terry(1), bradley_terry(7), ROCK_PAPER_SCISSORS])
def test_every_checkpoint_is_met_exactly(text, matrix):
    oracle = FromMatrix(matrix, in_sweeps=True)
    for one in simulate(oracle, text, preferences=matrix, horizon=10**7 + 3, repetitions=3).runs:
        assert (one.pulls.sum(axis=1) == 2 * one.checkpoints).all()
        assert (one.exposure == one.pulls / 2).all() and (one.best + one.worst == one.pulls).all()
        assert (np.diff(one.pulls, axis=0) >= 0).all() and (np.diff(one.best, axis=0) >= 0).all()
        assert (one.best.sum(axis=1) == one.checkpoints).all()


@pytest.mark.parametrize("text", ABLE)
def test_sweeps_end_with_the_span(text):
    matrix, times, policy = bradley_terry(5, span=6), [100, 3_000, 9_000], POLICIES[text]
    counts = [new_recorder(5, times) for _ in range(3)]
    streams = [run_streams(RunKey({}, text, {}, 1, 0, 7)) for _ in counts]
    given = [
        (policy, policy.params(), 5, FromMatrix(matrix, in_sweeps=True).open(), *both)
        for both in zip(streams, counts, strict=True)
    ]
    whole, halves, thirds = (Run(*one, horizon=9_000, in_sweeps=True) for one in given)
    whole.advance(9_000)
    halves.advance(3_000)
    assert counts[1].pulls.sum(axis=1).tolist() == [200, 6_000, 0]
    halves.advance(9_000)
    assert halves.decisions == whole.decisions
    assert all(np.array_equal(one, other) for one, other in zip(counts[0], counts[1], strict=True))
    for stop in (50, 2_999, 9_000):
        thirds.advance(stop)
    assert counts[2].pulls.sum(axis=1).tolist() == [200, 6_000, 18_000]


def test_ten_billion_steps_take_few_decisions():
    matrix = bradley_terry(20)
    results = simulate(
        FromMatrix(matrix, in_sweeps=True),
        ["beat_the_mean:gamma=2", "interleaved_filter"],
        preferences=matrix,
        horizon=10**10,
        repetitions=2,
        checkpoints_per_decade=1,
    )
    for one in results.runs:
        assert one.decisions < 30_000 and one.recommended[-1] == 0
        assert one.pulls[-1, 1:].sum() > 10 * one.decisions


@pytest.mark.parametrize("text", [*ABLE, "beat_the_mean_pac:epsilon=0.49,delta=0.9"])
def test_interpreted_sweeps_give_the_same_bytes(text):
    matrix = bradley_terry(5, span=6)
    oracle, key = FromMatrix(matrix, in_sweeps=True), RunKey({}, text, {}, 30_000, 0, 3)
    given, times = POLICIES.configure(text), checkpoints(30_000)
    runs = [run_once(given, key, oracle, times, compiled=flag) for flag in (True, False)]
    for name in ("pulls", "best", "recommended"):
        assert getattr(runs[0], name).tobytes() == getattr(runs[1], name).tobytes()
    assert runs[0].decisions == runs[1].decisions


def test_sweeps_are_other_runs_than_single_steps():
    single, sweeps = FromMatrix(TWO), FromMatrix(TWO, in_sweeps=True)
    assert sweeps.provenance != single.provenance and sweeps.provenance["matrix"] == single.provenance["matrix"]


def test_a_policy_that_cannot_take_sweeps_is_refused():
    with pytest.raises(InputError, match="policy 'rucb' cannot take whole sweeps at once; policies that can: beat_the"):
        simulate(FromMatrix(TWO, in_sweeps=True), ["beat_the_mean", "rucb"], preferences=TWO)


SPEC = """
policies = ["beat_the_mean", "interleaved_filter"]
horizon = [300, 1e9]
repetitions = 2
checkpoints_per_decade = 1

[[matrices]]
name = "two arms"
p = [[0.5, 0.7], [0.3, 0.5]]
answers = "sweeps"
"""


def test_an_experiment_can_ask_for_sweeps(tmp_path):
    (tmp_path / "spec.toml").write_text(SPEC)
    report = run_experiment(make_plan(tmp_path / "spec.toml"), tmp_path / "out")
    assert report.planned == report.done == 8
    frame = StudyResults(tmp_path / "out").to_frame()
    assert set(frame["answers"]) == {"sweeps"} and (frame.loc[frame["t"] == 10**9, "correct"] == 1).all()
    both = SPEC.replace('"sweeps"', '["matrix", "sweeps"]').replace("[300, 1e9]", "300")
    (tmp_path / "spec.toml").write_text(both)
    plan = make_plan(tmp_path / "spec.toml")
    assert [problem.name for problem in plan.problems] == ["two arms matrix", "two arms sweeps"]
    assert len({run.digest for run in plan}) == 8


def test_a_plan_refuses_a_policy_that_cannot_take_sweeps(tmp_path):
    (tmp_path / "spec.toml").write_text(SPEC.replace('"interleaved_filter"', '"rucb"'))
    with pytest.raises(InputError, match=r"spec.toml: problem 'two arms': policy 'rucb' cannot take whole sweeps"):
        make_plan(tmp_path / "spec.toml")
