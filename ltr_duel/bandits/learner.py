"""A policy that your own program drives: `ask` returns the arms to compare, and `tell` takes the outcomes.

If you tell each outcome before you ask for the next comparison, a `Learner` makes the same choices as a simulation with
the same random numbers. Outcomes may also come later, as in `ltr_duel.bandits.delayed`.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Mapping
from operator import index
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from ltr_duel.bandits.compiling import loop_for
from ltr_duel.bandits.hooks import select_slate
from ltr_duel.bandits.policy import POLICIES, Policy, PolicyError, require_room
from ltr_duel.bandits.state import arrays_in, with_copies
from ltr_duel.core import InputError, IntMatrix, IntVector, errors, kernel, stream

Arms = tuple[int, ...]
_MANY = 200  # from this number of comparisons on, compiled code saves more time than loading it takes


class Learner:
    """A policy for your own program. Ask it for the arms to compare next, and tell it the outcomes.

    Parameters
    ----------
    policy : str or Policy
        The policy, or its name with parameters, for example ``"rucb:alpha=0.51"``.
    n_arms : int
        Number of arms, at most 100,000.
    horizon : int
        Total number of comparisons, for a policy that needs the horizon.
    seed : int
        Seed of the policy's random numbers.
    rng, others : numpy.random.Generator, optional
        Generators of random numbers, which replace the seed. The policy draws its choices from ``rng``, and from
        ``others`` while it waits for an outcome.
    order : array of int, shape (n_arms,), optional
        The numbers that you use for the arms: arm k of the policy is your arm ``order[k]``. By default, arms keep
        their numbers. Policies break some ties in favour of the smaller number, most often in ``recommend``. A random
        order removes the advantage of small numbers.

    Raises
    ------
    InputError
        If an argument is invalid, or if there is not enough memory.

    Examples
    --------
    >>> learner = Learner("rucb", n_arms=5, seed=1)
    >>> [(first, second)] = learner.ask()
    >>> learner.tell([((first, second), +1)])  # the first won
    >>> learner = Learner.restore("rucb", learner.snapshot())
    >>> learner.steps
    1
    """

    def __init__(
        self,
        policy: str | Policy,
        n_arms: int,
        *,
        horizon: int = 0,
        seed: int = 0,
        rng: Generator | None = None,
        others: Generator | None = None,
        order: ArrayLike | None = None,
    ) -> None:
        self._label, self._policy, self._params = POLICIES.configure(policy)
        self._n_arms = errors.require_whole("the number of arms", n_arms, 1, 100_000)
        errors.require_whole("the seed", seed, 0)
        horizon = errors.require_whole(f"the horizon of {self._label}", horizon, int(self._policy.needs_horizon))
        self._horizon = horizon
        in_turn, self._pairs = not self._policy.any_order, self._policy.feedback == "duel"
        require_room(self._policy, self._params, self._n_arms, horizon=horizon, in_turn=in_turn)
        self._order = np.arange(self._n_arms) if order is None else np.array(order)
        if self._order.dtype.kind not in "iu" or sorted(self._order.ravel().tolist()) != list(range(self._n_arms)):
            raise InputError(f"the order of {n_arms} arms must contain each of the integers 0 to {n_arms - 1} once")
        self._rng = stream(seed, "live", self._label) if rng is None else rng
        self._others = stream(seed, "live", self._label, "others") if others is None else others
        state = self._policy.start(self._n_arms, horizon, self._params, self._rng)
        self._state, self._copies = with_copies(state, self._rng, self._others, in_turn=in_turn)
        self._t, self._pending = 1, Arms()  # pending and queued arms have the policy's numbers
        self._queue: dict[Arms, deque[bytes]] = {}

    @property
    def steps(self) -> int:
        """Number of outcomes that the policy has used."""
        return self._t - 1

    def ask(self, n: int = 1) -> list[Arms]:
        """Return the arms of the next ``n`` comparisons, given the outcomes so far.

        Parameters
        ----------
        n : int
            Number of comparisons, by default 1.

        Returns
        -------
        list of n tuples of int
            Each tuple has the two arms of a pair, which may be equal, or the arms of a set.

        Raises
        ------
        InputError
            If ``n`` is not a whole number, or negative.
        PolicyError
            If the policy chooses an arm that does not exist, or a set without arms.
        """
        n = errors.require_whole("the number of comparisons", n, 0)
        if self._policy.any_order:
            chosen = self._choose_many(n)
        else:
            chosen = [self._choose_pending() if k == 0 else self._choose_shadow() for k in range(n)]
        names = dict[Arms, Arms]()
        for arms in dict.fromkeys(chosen):
            self._require_arms("chooses", arms)
            names[arms] = tuple(self._order[list(arms)].tolist())
        return [names[arms] for arms in chosen]

    def tell(self, outcomes: Iterable[tuple[Arms, ArrayLike | bytes]]) -> None:
        """Tell the policy the outcomes of comparisons, the oldest comparison first.

        Parameters
        ----------
        outcomes : iterable of (arms, signs)
            For each comparison, the arms that `ask` returned, and the signs of the outcome. A pair needs one sign: +1
            if the first arm won, and -1 if the second arm won. A set needs a sign for each pair of positions a < b, in
            the order (0, 1), (0, 2), ..., (1, 2), ... The sign is +1 if the arm at position a won, and -1 if the arm at
            position b won. A single arm, or an arm that meets itself, needs no sign: ``()``. Signs may also be bytes.

        Raises
        ------
        InputError
            If an outcome is not a pair of arms and signs, an arm does not exist, or the signs are wrong. The policy
            then learns nothing from this call.
        """
        try:
            pairs = [(tuple(map(index, arms)), signs) for arms, signs in outcomes]
        except (TypeError, ValueError):
            raise InputError("outcomes must be a list of pairs of arms and signs, such as [((0, 1), +1)]") from None
        rank, checked, news = np.argsort(self._order), dict[tuple[Arms, bytes], Arms](), []
        for arms, signs in pairs:
            key = arms, signs if isinstance(signs, bytes) else _as_bytes(signs)
            if key not in checked:  # outcomes repeat themselves
                self._require_outcome(*key, signs)
                checked[key] = tuple(rank[list(arms)].tolist())
            news.append((checked[key], key[1]))
        for arms, given in news:
            if self._policy.any_order:
                self._learn(arms, given)
            else:
                self._queue.setdefault(arms, deque()).append(given)
        while self._queue and (line := self._queue.get(self._choose_pending())):
            self._learn(self._pending, line.popleft())
            if not line:
                del self._queue[self._pending]
            self._pending = ()

    def recommend(self) -> int:
        """Return the arm that the policy would choose if it had to stop now."""
        arm = int(self._policy.recommend(self._state, self._params))
        self._require_arms("recommends", (arm,))
        return int(self._order[arm])

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """Return the complete state as plain arrays, which `numpy.savez` accepts.

        Raises
        ------
        InputError
            If the state of the policy is an object, for example for a policy from `policy_from_class`.
        """
        if not isinstance(self._state, tuple):
            raise InputError(f"policy '{self._label}' has no snapshot, because its state is an object, not arrays")
        about = {
            "policy": self._version,
            "order": self._order.tolist(),
            "horizon": self._horizon,
            "steps": self.steps,
            "pending": self._pending,
            "queue": [(arms, [signs.hex() for signs in line]) for arms, line in self._queue.items()],
            "rng": [rng.bit_generator.state for rng in (self._rng, self._others)],
        }
        arrays = {f"state.{name}": value.copy() for name, value in arrays_in(self._state)}
        return arrays | {"before": self._copies.before.copy(), "learner": np.array(json.dumps(about))}

    @classmethod
    def restore(cls, policy: str | Policy, arrays: Mapping[str, NDArray[Any]]) -> Learner:
        """Return a learner that resumes from a `snapshot`.

        Parameters
        ----------
        policy : str or Policy
            The policy of the snapshot, with the same parameters and the same ``version`` (see `Policy`).
        arrays : mapping of str to ndarray
            A `snapshot`.

        Raises
        ------
        InputError
            If the policy is unknown, or the arrays are not a snapshot of this policy.
        """
        about: Any = {"policy": "nothing", "order": [0], "horizon": 1}
        if "learner" in arrays:
            about = json.loads(str(arrays["learner"]))
        self = cls(policy, len(about["order"]), horizon=about["horizon"], order=about["order"])
        if about["policy"] != self._version:
            raise InputError(f"this is not a snapshot of {self._version}, but of {about['policy']}")
        for name, array in [("before", self._copies.before), *((f"state.{n}", a) for n, a in arrays_in(self._state))]:
            if name not in arrays or arrays[name].shape != array.shape:
                raise InputError(f"this is not a snapshot of {self._version}: '{name}' is missing or has another shape")
            array[...] = arrays[name]
        self._t, self._pending = about["steps"] + 1, tuple(about["pending"])
        self._queue = {tuple(arms): deque(map(bytes.fromhex, line)) for arms, line in about["queue"]}
        self._rng.bit_generator.state, self._others.bit_generator.state = about["rng"]
        return self

    @property
    def _version(self) -> str:
        parameters = ", ".join(f"{name}={value}" for name, value in self._params._asdict().items())
        return f"policy '{self._policy.name}' ({parameters or 'no parameters'}; version {self._policy.version})"

    def _choose(self, state: Any, t: int, rng: Generator) -> Arms:
        if self._pairs:
            return tuple(map(int, self._policy.select(state, self._params, t, rng)))
        slate = np.zeros(self._n_arms, np.int64)
        return tuple(slate[: max(0, self._policy.select(state, self._params, t, slate, rng))].tolist())

    def _choose_pending(self) -> Arms:
        if not self._pending:
            self._copies.before[:] = self._copies.words
            self._pending = self._choose(self._state, self._t, self._rng)
        return self._pending

    def _choose_shadow(self) -> Arms:
        self._copies.shadow_words[:] = self._copies.before
        return self._choose(self._copies.shadow, self._t, self._others)

    def _choose_many(self, n: int) -> list[Arms]:
        if n < _MANY:
            return [self._choose(self._state, self._t + k, self._rng) for k in range(n)]
        slates, sizes = np.zeros((n, 2 if self._pairs else self._n_arms), np.int64), np.zeros(n, np.int64)
        loop_for(self._policy, choose_slates)(self._state, self._params, self._t, slates, sizes, self._rng)
        sizes[:] = 2 if self._pairs else sizes
        return [tuple(slate[:size]) for slate, size in zip(slates.tolist(), sizes.tolist(), strict=True)]

    def _learn(self, arms: Arms, signs: bytes) -> None:
        if self._pairs:
            sign = int.from_bytes(signs, signed=True)
            self._policy.update(self._state, self._params, self._t, *arms, sign, self._rng)
        else:
            size, slate, won = len(arms), np.zeros(self._n_arms, np.int64), np.zeros((self._n_arms,) * 2, np.int8)
            slate[:size] = arms
            won[:size, :size][np.triu_indices(size, 1)] = np.frombuffer(signs, np.int8)
            self._policy.update(self._state, self._params, self._t, slate, size, won, self._rng)
        self._t += 1

    def _require_arms(self, verb: str, arms: Arms) -> None:
        if not arms or min(arms) < 0 or max(arms) >= self._n_arms:
            which = f"arms {arms}" if len(arms) != 1 else f"arm {arms[0]}"
            raise PolicyError(f"policy '{self._label}' {verb} {which} of {self._n_arms} in step {self._t:,}")

    def _require_outcome(self, arms: Arms, signs: bytes, given: Any) -> None:
        sizes = (2,) if self._pairs else range(1, self._n_arms + 1)
        if len(arms) not in sizes or not all(0 <= arm < self._n_arms for arm in arms):
            raise InputError(f"{arms} is not a comparison of policy '{self._label}' among {self._n_arms} arms")
        pairs = 0 if self._pairs and arms[0] == arms[1] else len(arms) * (len(arms) - 1) // 2
        if len(signs) != pairs or not set(signs) <= {1, 255}:
            needed = errors.several(pairs, "sign")
            raise InputError(f"the outcome of arms {arms} must be {needed}, +1 or -1, not {given!r}")


@kernel
def choose_slates(state: Any, params: Any, t: int, slates: IntMatrix, sizes: IntVector, rng: Generator) -> None:
    """Let a policy choose several times without new outcomes, and write the chosen arms into ``slates``."""
    for k in range(slates.shape[0]):
        sizes[k] = select_slate(state, params, t + k, slates[k], rng)


def _as_bytes(signs: Any) -> bytes:
    values = np.asarray(signs)
    return np.where(np.isin(values, (1, -1)), values, 0).astype(np.int8).tobytes()
