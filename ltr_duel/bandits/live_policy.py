"""A policy as an object for live use: `ask` returns the arms to compare, `tell` receives the outcome.

The object calls the same functions as a simulation, as plain Python; a step takes microseconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ltr_duel.bandits.policy import POLICIES, Policy, PolicyError, require_room
from ltr_duel.bandits.state import arrays_in, with_arrays
from ltr_duel.core import InputError, errors, stream


class Player(NamedTuple):
    """Call a policy's functions as plain Python, one step at a time."""

    policy: Policy
    params: Any
    n_arms: int

    def choose(self, state: Any, t: int, rng: np.random.Generator) -> tuple[int, ...]:
        """Return the arms that the policy chooses in step t."""
        if self.policy.feedback == "duel":
            return tuple(map(int, self.policy.select(state, self.params, t, rng)))
        slate = np.zeros(self.n_arms, np.int64)
        return tuple(slate[: max(0, self.policy.select(state, self.params, t, slate, rng))].tolist())

    def tell(self, state: Any, t: int, arms: Sequence[int], signs: NDArray[np.int8], rng: np.random.Generator) -> None:
        """Update the state with one sign for each pair of positions a < b in ``arms``, row by row.

        The sign is +1 if the arm at position a won, -1 if it lost, and 0 for an arm against itself. A single arm has no
        sign.
        """
        if self.policy.feedback == "duel":
            self.policy.update(state, self.params, t, *arms, int(signs[0]) if len(signs) else 0, rng)
            return
        size = len(arms)
        slate, won = np.zeros(self.n_arms, np.int64), np.zeros((self.n_arms, self.n_arms), np.int8)
        slate[:size] = arms
        won[:size, :size][np.triu_indices(size, 1)] = signs
        self.policy.update(state, self.params, t, slate, size, won, rng)


class LivePolicy:
    """A policy with the methods ``ask`` and ``tell``, for one comparison at a time.

    Parameters
    ----------
    policy : str or Policy
        For example ``"rucb:alpha=0.51"``.
    n_arms : int
    horizon : int
        Total number of comparisons, for a policy that needs the horizon.
    seed : int
        Seed of the policy's random numbers.
    rng : numpy.random.Generator, optional
        Generator to use instead of a seed.
    order : array of int, shape (n_arms,), optional
        Arm ``order[k]`` is the policy's arm k. Policies break some ties by the smaller arm number, most often in
        ``recommend``; a random order removes any advantage of small numbers. By default arms keep their numbers.

    Raises
    ------
    InputError
        If the policy or a parameter is unknown; if ``n_arms`` is outside 1..100,000 or too large for the memory; if the
        horizon is missing; or if ``order`` does not contain each arm once.

    Examples
    --------
    >>> policy = LivePolicy("rucb", n_arms=5, seed=1)
    >>> first, second = policy.ask()
    >>> policy.tell(+1)  # the first won
    >>> policy = LivePolicy.restore("rucb", policy.snapshot())
    >>> policy.steps
    1
    """

    def __init__(
        self,
        policy: str | Policy,
        n_arms: int,
        *,
        horizon: int = 0,
        seed: int = 0,
        rng: np.random.Generator | None = None,
        order: ArrayLike | None = None,
    ) -> None:
        self._label, self._policy, self._params = POLICIES.configure(policy)
        n_arms = errors.require_whole("the number of arms", n_arms, 1, 100_000)
        if self._policy.needs_horizon:
            horizon = errors.require_whole(f"the horizon of {self._policy.name}", horizon, 1)
        require_room(self._policy, self._params, n_arms, horizon=horizon)
        self._state = self._policy.init(n_arms, horizon if self._policy.needs_horizon else 0, self._params)
        self._rng = stream(seed, "live", self._label) if rng is None else rng
        self._t, self._n_arms = 1, n_arms
        self._player = Player(self._policy, self._params, n_arms)
        self._order = np.arange(n_arms) if order is None else np.array(order)
        if not _is_order(self._order, n_arms):
            raise InputError(f"the order of {n_arms} arms must contain each of the integers 0 to {n_arms - 1} once")
        self._asked: tuple[int, ...] = ()  # the pending arms, in the policy's numbering

    @property
    def steps(self) -> int:
        """Number of outcomes received."""
        return self._t - 1

    def ask(self) -> tuple[int, ...]:
        """Return the arms to compare next: two arms, which may be equal, or a slate. Only `tell` changes them."""
        if not self._asked:
            asked = self._player.choose(self._state, self._t, self._rng)
            if len(asked) not in self._sizes(self._n_arms)[1:]:
                raise PolicyError(
                    f"policy '{self._label}' chooses an invalid number of arms, {len(asked)}, in step {self._t:,}"
                )
            for arm in asked:
                self._require_arm("chooses", arm)
            self._asked = asked
        return tuple(map(self._order.item, self._asked))

    def tell(self, outcome: int | ArrayLike = 0) -> None:
        """Update the policy with the outcome of the comparison that `ask` returned.

        Parameters
        ----------
        outcome : int or array
            For two arms: +1 if the first won, -1 if it lost (break ties by a coin); omit the outcome for a single arm
            or for an arm against itself. For a slate of m arms: an (m, m) array. For a < b, entry [a, b] is +1 if the
            arm at position a of the slate won against the arm at position b, and -1 if it lost.

        Raises
        ------
        InputError
            If `ask` was not called, or the outcome is invalid.
        """
        if not self._asked:
            raise InputError("there is no pending comparison: call ask() before tell()")
        value, size = np.asarray(outcome), len(self._asked)
        if self._policy.feedback == "duel":
            legal = (0,) if self._asked[0] == self._asked[1] else (1, -1)
            if value.shape != () or value not in legal:
                pair = "arm {} against arm {}".format(*self.ask())
                raise InputError(f"the outcome of {pair} must be one of {legal}, not {value}")
            signs = value[None]
        elif size > 1:
            upper = np.triu_indices(size, 1)
            if value.shape != (size, size) or not np.isin(value[upper], (1, -1)).all():
                raise InputError(
                    f"the outcome of a slate of {size} arms must be an array of shape ({size}, {size})"
                    " with +1 or -1 above the diagonal"
                )
            signs = value[upper]
        else:
            signs = np.zeros(0)
        self._player.tell(self._state, self._t, self._asked, signs, self._rng)
        self._t += 1
        self._asked = ()

    def recommend(self) -> int:
        """Return the arm that the policy would choose if it had to stop now."""
        arm = int(self._policy.recommend(self._state, self._params))
        self._require_arm("recommends", arm)
        return int(self._order[arm])

    def _require_arm(self, verb: str, arm: int) -> None:
        if not 0 <= arm < self._n_arms:
            raise PolicyError(f"policy '{self._label}' {verb} arm {arm} of {self._n_arms} in step {self._t:,}")

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """Return the complete state as plain arrays, which `numpy.savez` accepts."""
        inner = self._rng.bit_generator.state["state"]
        words = [inner[key] >> shift & (2**64 - 1) for key in ("state", "inc") for shift in (64, 0)]
        arrays = {f"state.{name}": value.copy() for name, value in arrays_in(self._state)}
        return {
            **arrays,
            "n_arms": np.array([self._n_arms]),
            "order": self._order.copy(),
            "t": np.array([self._t]),
            "asked": np.array(self._asked, dtype=np.int64),
            "policy": np.array([self._policy.name]),
            "numbers": np.array([self._policy.numbers]),
            "rng": np.array(words, dtype=np.uint64),
        }

    @classmethod
    def restore(
        cls, policy: str | Policy, arrays: Mapping[str, NDArray[Any]], *, accept_new_code: bool = False
    ) -> LivePolicy:
        """Return a policy that resumes from the `snapshot` of a policy with the same name and parameters.

        Parameters
        ----------
        policy : str or Policy
        arrays : mapping of str to ndarray
            A `snapshot`.
        accept_new_code : bool
            Whether to resume even if the policy's numbers version (`ltr_duel.core.numbering`) has changed.

        Raises
        ------
        InputError
            If the policy is unknown, or the arrays are not a snapshot of this policy.
        """
        self = cls.__new__(cls)
        self._label, self._policy, self._params = POLICIES.configure(policy)
        empty = self._policy.init(1, 1, self._params)
        needed = [*(f"state.{name}" for name, _ in arrays_in(empty)), "n_arms", "order", "t", "asked", "rng"]
        if "policy" in arrays and "numbers" in arrays:
            self._require_own(arrays, accept_new_code)
        missing = [name for name in (*needed, "policy", "numbers") if name not in arrays]
        if missing:
            raise InputError(f"this is not a snapshot of policy '{self._label}': it lacks {', '.join(missing)}")
        self._n_arms = self._checked_arms(arrays)
        self._player = Player(self._policy, self._params, self._n_arms)
        self._state = with_arrays(empty, {name.removeprefix("state."): arrays[name] for name in needed})
        self._t = int(arrays["t"][0])
        self._asked = tuple(int(arm) for arm in arrays["asked"])
        self._rng = stream(0, "live")
        words = [int(word) for word in arrays["rng"]]
        generator: Any = self._rng.bit_generator.state
        generator["state"] = {"state": words[0] << 64 | words[1], "inc": words[2] << 64 | words[3]}
        self._rng.bit_generator.state = generator
        self._order = arrays["order"]
        return self

    def _checked_arms(self, arrays: Mapping[str, NDArray[Any]]) -> int:
        """Return the number of arms. Raises `InputError` for arrays that are unsafe in kernels."""
        n_arms = errors.require_whole("the number of arms", arrays["n_arms"].ravel()[0], 1, 100_000)
        require_room(self._policy, self._params, n_arms, horizon=1)
        state = {f"state.{name}": value for name, value in arrays_in(self._policy.init(n_arms, 1, self._params))}
        order, asked, rng = arrays["order"], arrays["asked"], arrays["rng"]
        wrong = [
            name for name, own in state.items() if (arrays[name].shape, arrays[name].dtype) != (own.shape, own.dtype)
        ]
        wrong += [
            name
            for name, fits in (
                ("order", _is_order(order, n_arms)),
                ("asked", asked.ndim == 1 and asked.dtype.kind == "i" and len(asked) in self._sizes(n_arms)),
                ("asked arms", set(asked.ravel().tolist()) <= set(range(n_arms))),
                ("t", arrays["t"].shape == (1,) and arrays["t"][0] >= 1),
                ("rng", rng.shape == (4,) and rng.dtype == np.uint64),
            )
            if not fits
        ]
        if wrong:
            raise InputError(
                f"this is not a snapshot of policy '{self._label}' for {n_arms} arms; invalid: {', '.join(wrong)}"
            )
        return n_arms

    def _sizes(self, n_arms: int) -> Sequence[int]:
        """Return the possible numbers of arms in the pending choice; 0 stands for no pending choice."""
        return (0, 2) if self._policy.feedback == "duel" else range(n_arms + 1)

    def _require_own(self, arrays: Mapping[str, NDArray[Any]], accept_new_code: bool) -> None:
        """Raise `InputError` if the snapshot belongs to a different policy or a different numbers version."""
        name, numbers = str(arrays["policy"][0]), int(arrays["numbers"][0])
        own = self._policy
        if name != own.name:
            raise InputError(f"this is a snapshot of policy '{name}', not of '{own.name}'")
        if numbers != own.numbers and not accept_new_code:
            raise InputError(
                f"this snapshot of policy '{name}' has numbers version {numbers}, not {own.numbers};"
                " pass accept_new_code=True to resume anyway"
            )


def _is_order(order: NDArray[Any], n_arms: int) -> bool:
    return order.dtype.kind in "iu" and order.shape == (n_arms,) and set(order.tolist()) == set(range(n_arms))
