"""The policy of an experiment and its random numbers: those of a simulation's first repetition with the same seed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ltr_duel.bandits import POLICIES, LivePolicy
from ltr_duel.core import InputError, IntVector, Streams, interpreted, shuffle, stream
from ltr_duel.live.settings import Settings
from ltr_duel.simulation import RunKey, run_order, run_streams


def _key(settings: Settings, labels: str = "random") -> RunKey:
    """Return what determines the first repetition of a simulation with this policy and seed."""
    _, policy, params = POLICIES.configure(settings.policy)
    return RunKey({}, policy.name, params._asdict(), settings.horizon, 0, settings.seed or 0, labels=labels)


def live_streams(settings: Settings) -> Streams:
    """Return the streams of the first repetition of a simulation with this policy and seed."""
    return run_streams(_key(settings))


def live_order(settings: Settings) -> IntVector:
    """Return the order in which that repetition's policy numbers the rankers."""
    return run_order(_key(settings), len(settings.rankers))


def live_policy(settings: Settings, *, labels: str = "random") -> LivePolicy:
    """Make the policy that settings ask for; without a seed that of seed 0.

    It has the random numbers and the order of the rankers of the first repetition of a simulation with the same seed:
    with the same outcomes it takes the same path.

    Parameters
    ----------
    settings : Settings
    labels : {"random", "as given"}
        The numbers of the rankers in the policy, see `ltr_duel.simulation.RunKey`.

    Returns
    -------
    LivePolicy

    Examples
    --------
    >>> from ltr_duel.live import Settings
    >>> policy = live_policy(Settings(name="shoes", rankers=("old", "new"), policy="rucb"))
    >>> len(policy.ask())
    2
    """
    key, n_arms = _key(settings, labels), len(settings.rankers)
    rng, order = run_streams(key).policy, run_order(key, n_arms)
    return LivePolicy(settings.policy, n_arms, horizon=settings.horizon, rng=rng, order=order)


def kept_policy(settings: Settings, arrays: Mapping[str, NDArray[Any]]) -> tuple[LivePolicy, tuple[int, ...]]:
    """Return the policy of a snapshot, and the rankers that it has.

    Raises `InputError` for arrays that are no snapshot of the policy of the settings.
    """
    policy = LivePolicy.restore(settings.policy, arrays, accept_new_code=True)  # `code` checked it
    every = range(len(settings.rankers))
    left = tuple(arrays["left"].tolist()) if "left" in arrays else tuple(every)
    if arrays["pulls"].shape != (len(every),) or int(arrays["n_arms"][0]) != len(left):
        raise InputError("the snapshot is that of another number of rankers")
    if not set(left) <= set(every):
        raise InputError("the snapshot has rankers that there are not")
    return policy, left


def policy_without(settings: Settings, left: tuple[int, ...]) -> LivePolicy:
    """Make a policy for some of the rankers, with random numbers that no other policy of the experiment has.

    Raises `InputError` if the policy cannot do with so few.
    """
    rng = stream(settings.seed or 0, "left", *left)
    order = np.arange(len(left))
    interpreted(shuffle)(order, rng)
    return LivePolicy(settings.policy, len(left), horizon=settings.horizon, rng=rng, order=order)
