"""Measure how many comparisons a policy needs until it stops, and how often it then names the wrong arm."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ltr_duel.bandits import POLICIES, Policy
from ltr_duel.core import InputError
from ltr_duel.core import columns as core_columns
from ltr_duel.preferences import PreferenceMatrix
from ltr_duel.simulation.oracle import OracleSource
from ltr_duel.simulation.run import simulate


def identify(
    source: PreferenceMatrix | OracleSource,
    policies: str | Policy | Sequence[str | Policy],
    *,
    limit: int = 10**8,
    repetitions: int = 100,
    seed: int = 0,
    jobs: int = -1,
    preferences: PreferenceMatrix | None = None,
) -> pd.DataFrame:
    """Run policies until they stop. Return, for each run, the stopping time and the arm that is named as the best.

    Parameters
    ----------
    source : PreferenceMatrix or OracleSource
        The matrix or the simulated users that decide the comparisons, see `simulate`.
    policies : str, Policy, or sequence of them
        The policies to run, for example ``["dkwt:delta=0.05", "savage:delta=0.05"]``. Each policy needs a stopping
        rule.
    limit : int
        The number of steps after which a run ends even if the policy has not stopped. Policies that must know the
        number of steps in advance use this number.
    repetitions, seed, jobs : int
        See `simulate`.
    preferences : PreferenceMatrix, optional
        The matrix that defines the winner; required unless ``source`` is a matrix.

    Returns
    -------
    DataFrame
        One row for each run. ``stopped_at`` is the number of comparisons until the policy stopped, or infinity if it
        did not stop. ``recommended`` is the arm that the policy names. ``wrong`` is 1 if the policy stopped and named
        another arm than the Condorcet winner, and 0 otherwise.

    Raises
    ------
    InputError
        If a policy has no stopping rule, if there is no Condorcet winner, or for the reasons given in `simulate`.

    Examples
    --------
    >>> from ltr_duel.preferences import PreferenceMatrix
    >>> runs = identify(PreferenceMatrix([[0.5, 0.9], [0.1, 0.5]]), "dkwt", repetitions=2, jobs=1)
    >>> runs["recommended"].tolist(), runs["wrong"].tolist(), bool((runs["stopped_at"] < 1000).all())
    (['0', '0'], [0, 0], True)
    """
    for configured in map(POLICIES.configure, [policies] if isinstance(policies, str | Policy) else policies):
        if not configured.component.identifies:
            legal = ", ".join(policy.name for policy in POLICIES if policy.identifies)
            raise InputError(f"policy '{configured.label}' has no stopping rule; policies that stop: {legal}")
    results = simulate(
        source, policies, horizon=limit, repetitions=repetitions, seed=seed, jobs=jobs, preferences=preferences
    )
    winner = results.matrix.condorcet_winner
    if winner is None:
        raise InputError("identification requires a Condorcet winner; the preference matrix has none")
    frame = results.to_frame(("average",)).groupby([core_columns.POLICY, core_columns.REPETITION], sort=False).tail(1)
    # After it has stopped, a policy repeats its choice. The steps in which it does so count as a single decision.
    stopped = np.array([run.decisions - 1.0 if run.decisions < limit else np.inf for run in results.runs])
    columns = [core_columns.POLICY, core_columns.REPETITION, "stopped_at", core_columns.RECOMMENDED]
    frame = frame.assign(**{"stopped_at": stopped})[columns].reset_index(drop=True)
    wrong = np.isfinite(stopped) & (frame[core_columns.RECOMMENDED] != winner)
    return frame.assign(wrong=wrong.astype(int))


def identification_table(runs: pd.DataFrame) -> pd.DataFrame:
    """Summarise the runs of `identify`, with a row for each policy.

    Parameters
    ----------
    runs : DataFrame
        The result of `identify`.

    Returns
    -------
    DataFrame
        ``runs`` is the number of runs, and ``stopped`` is the share of runs that stopped. ``q25``, ``median`` and
        ``q75`` are quartiles of the stopping times. ``wrong`` is the share of runs that stopped and named a wrong arm.

    Examples
    --------
    >>> from ltr_duel.preferences import PreferenceMatrix
    >>> runs = identify(PreferenceMatrix([[0.5, 0.9], [0.1, 0.5]]), "dkwt", repetitions=2, jobs=1)
    >>> identification_table(runs)[["policy", "runs", "stopped", "wrong"]].to_numpy().tolist()
    [['dkwt', 2, 1.0, 0.0]]
    """
    rows = []
    for policy, own in runs.groupby(core_columns.POLICY, sort=False):
        times = own["stopped_at"].to_numpy()
        quartiles = np.quantile(times, (0.25, 0.5, 0.75), method="lower")
        rows.append((policy, len(own), np.isfinite(times).mean(), *quartiles, own["wrong"].mean()))
    return pd.DataFrame(rows, columns=[core_columns.POLICY, "runs", "stopped", "q25", "median", "q75", "wrong"])
