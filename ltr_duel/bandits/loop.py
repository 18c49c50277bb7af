"""The simulation loop: in each step a policy chooses arms, an oracle compares them, and the policy learns the outcome.

An oracle is the source of outcomes, for example a matrix of probabilities. The class `Run` runs the loop for
simulations, checks and tests, and a recorder stores the results. Steps in which nothing changes can be skipped, see
`ltr_duel.bandits.hooks.idle_until`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ltr_duel.bandits.compiling import Compilation, by_addresses, loop_for, run_loop
from ltr_duel.bandits.delayed import Lateness, new_late, run_late
from ltr_duel.bandits.hooks import (
    complaint,
    idle_until,
    is_outside_in,
    recommend,
    select,
    select_slate,
    update,
    update_slate,
    wrong_pair,
)
from ltr_duel.bandits.oracle import MatrixOracle, Pairs, duel, is_separate, multiduel
from ltr_duel.bandits.policy import Policy, PolicyError, require_room
from ltr_duel.bandits.recorder import (
    Recorder,
    Span,
    add_pair,
    add_slate,
    keep_pair,
    keep_slate,
    new_recorder,
    pass_checkpoint,
)
from ltr_duel.core import IntMatrix, IntVector, SignMatrix, Streams, as_writable, jit, kernel, stream

LOOP_NUMBERS = 1  # version of the results of the loop and of matrix outcomes, see `ltr_duel.core.digest`
SlateScratch: TypeAlias = tuple[IntVector, SignMatrix]  # memory for the set of a step (K,) and its outcomes (K, K)


@kernel
def run_pairs(state: Any, params: Any, oracle: Any, streams: Streams, recorder: Recorder, span: Span) -> int:
    """Run a policy that compares pairs for the steps of ``span``. Return the number of calls of `select`."""
    path, due, place = recorder.path, recorder.due, recorder.place
    pulls, best, outcomes = recorder.pulls_now, recorder.best_now, recorder.outcomes_now
    decisions, t = 0, span.start
    while t <= span.stop:
        decisions += 1
        first, second = select(state, params, t, streams.policy)
        if wrong_pair(state, due, place.shape[0], t, first, second):
            return decisions
        last, outcome = t, 0
        if first != second:
            outcome = duel(oracle, first, second, streams)
            outcomes[0] += 1
        elif span.jump:
            last = min(idle_until(state, params, t), span.stop)
        update(state, params, t, first, second, outcome, streams.policy)
        if t <= path.shape[0]:
            keep_pair(path, t, last, first, second)
        while due[0] <= last:
            add_pair(pulls, best, place, first, second, due[0] + 1 - t)
            t = due[0] + 1
            pass_checkpoint(recorder, recommend(state, params), True)
        add_pair(pulls, best, place, first, second, last + 1 - t)
        t = last + 1
    return decisions


@kernel
def run_slates(
    state: Any, params: Any, oracle: Any, streams: Streams, recorder: Recorder, span: Span, scratch: SlateScratch
) -> int:
    """Run a policy that compares sets for the steps of ``span``. Return the number of calls of `select_slate`."""
    slate, won = scratch
    decisions, t = 0, span.start
    while t <= span.stop:
        decisions += 1
        size = select_slate(state, params, t, slate, streams.policy)
        if is_outside_in(recorder.due, recorder.place.shape[0], t, slate, size):
            return decisions
        last = t
        if size > 1:
            multiduel(oracle, slate, size, won, streams)
        elif span.jump:
            last = min(idle_until(state, params, t), span.stop)
        update_slate(state, params, t, slate, size, won, streams.policy)
        if t <= recorder.path.shape[0]:
            keep_slate(recorder.path, t, last, slate, size)
        while recorder.due[0] <= last:
            add_slate(recorder, slate, size, recorder.due[0] + 1 - t)
            t = recorder.due[0] + 1
            pass_checkpoint(recorder, recommend(state, params), False)
        add_slate(recorder, slate, size, last + 1 - t)
        t = last + 1
    return decisions


class Run:
    """One run of a policy: its state, and the loop that advances it.

    Parameters
    ----------
    policy : Policy
    params : NamedTuple
        An instance of the policy's ``Params`` class.
    n_arms : int
    oracle : NamedTuple
        The source of outcomes, see `ltr_duel.bandits.oracle`.
    streams : Streams
    recorder : Recorder
        The recorder in which the loop stores its results.
    horizon : int
        Number of steps of the whole run. Only policies that need the horizon use it.
    compiled : bool
        Whether the loop is compiled. If False, the same source runs as plain Python.
    plain : bool
        Whether the policy's helpers also run as plain Python, so that a wrong index raises an error.
    late : Lateness, optional
        The batches and the delay of outcomes, see `ltr_duel.bandits.delayed`; by default, no outcome is late.

    Raises
    ------
    InputError
        If there is not enough memory for ``n_arms`` arms.

    Attributes
    ----------
    state : NamedTuple
        The state of the policy.
    oracle : NamedTuple
        The source of outcomes. Its arrays may be changed between two calls of `advance`.
    t, decisions : int
        Number of steps so far, and number of calls of ``select`` so far.

    Examples
    --------
    >>> from ltr_duel.bandits import POLICIES
    >>> run = Run.on_matrix(POLICIES["rucb"], [[0.5, 0.9], [0.1, 0.5]], keep=3)
    >>> run.advance(1000)
    >>> run.recommend(), run.path.shape
    (0, (3, 2))
    """

    def __init__(
        self,
        policy: Policy,
        params: Any,
        n_arms: int,
        oracle: Any,
        streams: Streams,
        recorder: Recorder,
        *,
        horizon: int = 0,
        compiled: bool = True,
        plain: bool = False,
        late: Lateness | None = None,
    ) -> None:
        require_room(policy, params, n_arms, horizon=horizon, in_turn=late is not None and not policy.any_order)
        self.state = policy.start(n_arms, horizon, params, streams.policy)
        self.n_arms, self.t, self.decisions = n_arms, 0, 0
        self.oracle = oracle  # also keeps the arrays alive that `by_addresses` stores as addresses
        self._policy, self._recorder = policy, recorder
        self._scratch: tuple[Any, ...] = ()
        loop: Callable[..., int] = run_pairs
        if late is not None:
            self.state, self._scratch = new_late(policy, self.state, n_arms, late, streams.policy)
            loop, oracle = run_late, Pairs(oracle) if policy.feedback == "duel" else oracle
        elif policy.feedback == "slate":
            scratch = np.zeros(n_arms, np.int64), np.zeros((n_arms, n_arms), np.int8)
            loop, self._scratch = run_slates, (scratch,)
        self._answers: tuple[IntVector, Compilation] | None = None
        if compiled and policy.compiled and not plain and is_separate(oracle) and isinstance(loop, jit.Kernel):
            oracle, address, code = by_addresses(oracle, streams, sets=policy.feedback == "slate")
            self._answers = address, code
        self._fixed = (self.state, params, oracle, streams, recorder)
        self._loop = loop_for(policy, loop, oracle, compiled=compiled, plain=plain)

    @classmethod
    def on_matrix(
        cls, policy: Policy, p: ArrayLike, params: Any = None, *, seed: int = 0, keep: int = 0, **options: Any
    ) -> Run:
        """Return a run whose outcomes come from a matrix of probabilities. The run stores its first choices.

        Parameters
        ----------
        policy : Policy
        p : array of float, shape (K, K)
            ``p[i, j]`` is the probability that arm i beats arm j.
        params : NamedTuple, optional
            Parameters of the policy, by default its default parameters.
        seed : int
            Seed of all random numbers, by default 0.
        keep : int
            Number of choices that are stored in `path`, from the first step on; by default 0.
        **options
            The options ``horizon``, ``compiled``, ``plain`` and ``late`` of `Run`.
        """
        matrix, coins = np.ascontiguousarray(p, np.float64), stream(seed, "coins")
        n_arms = len(matrix)
        recorder = new_recorder(n_arms, path=(keep, 2 if policy.feedback == "duel" else n_arms))
        streams = Streams(stream(seed, "policy"), coins, coins, coins, coins)
        given = policy.params() if params is None else params
        return cls(policy, given, n_arms, MatrixOracle(as_writable(matrix)), streams, recorder, **options)

    def advance(self, stop: int, *, jump: bool = True) -> None:
        """Execute the steps from ``t + 1`` to ``stop``.

        Parameters
        ----------
        stop : int
            The last step to execute.
        jump : bool
            Whether to skip steps in which nothing can change.

        Raises
        ------
        PolicyError
            If the policy cannot be compiled, or chooses or recommends an arm that does not exist.
        """
        if self._answers and not self._answers[0][0]:
            self._answers[0][0] = self._answers[1].address
        args = (*self._fixed, Span(self.t + 1, stop, jump), *self._scratch)
        self.decisions += run_loop(self._policy, self._loop, args)
        label, recorder = f"policy '{self._policy.name}'", self._recorder
        if recorder.due[1]:
            raise PolicyError(f"{label} {complaint(recorder.due, self.n_arms)}")
        for arm, t in zip(recorder.recommended, recorder.times, strict=True):
            if not 0 <= arm < self.n_arms:
                raise PolicyError(f"{label} recommends arm {arm} of {self.n_arms} after step {t:,}")
        self.t = stop

    @property
    def compilations(self) -> list[Compilation]:
        """The code that must be compiled before `advance` can run. Pass it to `compile_ahead`."""
        if not isinstance(self._loop, jit.Kernel):
            return []
        kinds = self._loop.types_of(*self._fixed, Span(1, 1, True), *self._scratch)
        loop = Compilation(self._policy, self._loop, kinds)
        return [self._answers[1], loop] if self._answers else [loop]

    @property
    def path(self) -> IntMatrix:
        """The choices of the first steps, see `Recorder`."""
        return self._recorder.path

    def recommend(self) -> int:
        """Return the arm that the policy would choose if it had to stop now."""
        return int(self._policy.recommend(self.state, self._fixed[1]))
