"""The result of one simulated run: its key, and its counts at the checkpoints."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ltr_duel.bandits import BATCH_NUMBERS, LOOP_NUMBERS, Policy
from ltr_duel.core import FloatMatrix, FloatVector, IntMatrix, IntVector, errors, frozen, numbered
from ltr_duel.core import digest as core_digest
from ltr_duel.preferences import PreferenceMatrix
from ltr_duel.simulation.oracle import tosses_coins
from ltr_duel.simulation.regret import REGRETS, cumulative_regret, loss_per_arm

AS_GIVEN = "as given"  # the arms have the order of the matrix, as they had in all runs of old versions
_AS_EVER = (("labels", AS_GIVEN), ("batch", 1), ("delay", 0))
_PARAMS_AS_EVER = (
    ("rucb", "hypothesis", False),
    ("savage", "delta", 0.0),
)  # parameters with the value of all runs before they existed


@dataclass(frozen=True)
class RunKey:
    """Everything that determines a run. The digest of the key is the name of the run.

    oracle: everything that determines the distribution of the outcomes; the values can be JSON.
    measured_by: digest of the preference matrix that defines regret, if it is not the oracle's matrix.
    source: SHA-256 of the plug-in file that defines the policy, if it is not in this package; and all versions above 1
        of code that determines random results (`ltr_duel.core.digest`). See `source_of`.
    labels: "random" if all policies of a repetition number the arms in the same random order, else "as given".
    batch: number of comparisons that are chosen before any of their outcomes is known.
    delay: number of steps between the end of a batch and the arrival of its outcomes.
    """

    oracle: dict[str, Any] = field(repr=False)
    policy: str
    params: dict[str, Any]
    horizon: int
    repetition: int
    seed: int
    checkpoints_per_decade: int = 20
    measured_by: str = ""
    source: str = ""
    labels: str = "random"
    batch: int = 1
    delay: int = 0

    @property
    def digest(self) -> str:
        """SHA-256 of `key_fields` as canonical JSON."""
        return core_digest.digest_of(key_fields(self))

    @property
    def configuration(self) -> str:
        """The policy with all its parameters, in a form that does not depend on how the user wrote them."""
        return f"{self.policy}:{core_digest.canonical(_old_params(self))}"


def key_fields(key: RunKey) -> dict[str, Any]:
    """Return a key's fields; newer fields with the value of all old runs are omitted, so old digests stay valid."""
    fields = vars(key) | {"params": _old_params(key)}
    return {name: value for name, value in fields.items() if (name, value) not in _AS_EVER}


def _old_params(key: RunKey) -> dict[str, Any]:
    """Return the parameters of a policy; newer ones with the value of all old runs are omitted, as in `key_fields`."""
    return {name: value for name, value in key.params.items() if (key.policy, name, value) not in _PARAMS_AS_EVER}


def lateness_note(batch: int, delay: int) -> str:
    """Return a sentence on late outcomes, or an empty string if outcomes were not late."""
    parts = [f"in batches of {batch:,} comparisons"] if batch > 1 else []
    parts += [f"{delay:,} steps late"] if delay else []
    return f"Outcomes arrived {' and '.join(parts)}." if parts else ""


def source_of(policy: Policy, sha256: str = "", *, late: bool = False) -> str:
    """Return the part of a run's key that identifies the code of the run.

    sha256: digest of the plug-in file that defines the policy.
    late: whether outcomes arrive in batches or with a delay.
    """
    raised = numbered({}, policy=policy.numbers, loop=LOOP_NUMBERS, batches=BATCH_NUMBERS if late else 1).get(
        "numbers", {}
    )
    return " ".join([*filter(None, [sha256]), *(f"{name} {version}" for name, version in raised.items())])


@dataclass(frozen=True, eq=False)
class RunResult:
    """The result of one run with C checkpoints and K arms.

    Parameters
    ----------
    key : RunKey
    label : str
        Label of the policy, as the user wrote it.
    checkpoints : ndarray of int64, shape (C,)
    pulls : ndarray of int64, shape (C, K)
        Number of comparisons of each arm up to the checkpoint; an arm against itself counts twice.
    exposure : ndarray of float64, shape (C, K)
        Impressions of each arm; a row adds up to t.
    recommended : ndarray of int64, shape (C,)
        The arm that the policy would choose if it had to stop.
    decisions : int
        Number of steps in which the policy made a choice; the loop skipped the other steps.
    best, worst : ndarray of int64, shape (C, K), optional
        Number of steps in which the arm was the best (worst) of the compared arms; weak (strong) regret requires this.
    outcomes : ndarray of int64, shape (C,), optional
        Number of outcomes received, one for each compared pair of different arms. None in runs of old versions.

    Examples
    --------
    >>> from ltr_duel.preferences import synthetic_preferences
    >>> from ltr_duel.simulation import simulate
    >>> results = simulate(synthetic_preferences("arithmetic"), "rucb", horizon=100, repetitions=2, jobs=1)
    >>> run = results.runs[0]
    >>> int(run.checkpoints[-1]), int(run.pulls[-1].sum()), run.exposure[-1].sum()
    (100, 200, np.float64(100.0))
    """

    key: RunKey
    label: str
    checkpoints: IntVector
    pulls: IntMatrix
    exposure: FloatMatrix
    recommended: IntVector
    decisions: int
    best: IntMatrix | None = None
    worst: IntMatrix | None = None
    outcomes: IntVector | None = None

    def __post_init__(self) -> None:
        for name in ("checkpoints", "pulls", "exposure", "recommended", "best", "worst", "outcomes"):
            given = getattr(self, name)
            if given is not None:
                object.__setattr__(self, name, frozen(given))

    @property
    def independent_coins(self) -> bool:
        """Whether sets of arms were compared by an independent coin of the matrix for each pair of a set."""
        return tosses_coins(self.key.oracle) and not np.array_equal(self.exposure * 2, self.pulls)

    def regret(self, matrix: PreferenceMatrix, name: str, values: FloatVector | None = None) -> FloatVector:
        """Return the cumulative regret at each checkpoint, shape (C,); NaN if the regret is not defined.

        Parameters
        ----------
        matrix : PreferenceMatrix
        name : str
            One of `ltr_duel.simulation.regret.REGRETS`.
        values : ndarray of float64, shape (K,), optional
            Utilities or NDCG of the arms, for the regrets of these names.
        """
        errors.require_one_of("regret", name, REGRETS)
        counts = getattr(self, REGRETS[name].counts)
        if counts is None:
            return np.full(len(self.checkpoints), np.nan)
        return cumulative_regret(counts, loss_per_arm(matrix, REGRETS[name].loss, values))
