"""The result of one simulated run: its key, and its counts at the checkpoints."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ltr_duel.bandits import BATCH_NUMBERS, LOOP_NUMBERS, Policy
from ltr_duel.core import FloatMatrix, FloatVector, IntMatrix, IntVector, errors, frozen, numbered
from ltr_duel.core import digest as core_digest
from ltr_duel.preferences import PreferenceMatrix
from ltr_duel.simulation.oracle import MATRIX
from ltr_duel.simulation.regret import REGRETS, cumulative_regret, loss_per_arm

# Parameters that are not part of the names of streams and of runs if they have these values.
_UNNAMED = (("rucb", "hypothesis", False), ("savage", "delta", 0.0))


@dataclass(frozen=True)
class RunKey:
    """Everything that determines a run. The digest of the key is the name of the run.

    oracle: everything that determines the distribution of the outcomes; the values can be JSON.
    measured_by: digest of the preference matrix that defines regret, if it is not the oracle's matrix.
    source: SHA-256 of the plug-in file that defines the policy, if it is not in this package; and all versions above 1
        of code that determines random results (`ltr_duel.core.digest`). See `source_of`.
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
    batch: int = 1
    delay: int = 0

    @property
    def digest(self) -> str:
        """SHA-256 of the fields as canonical JSON, without lateness if outcomes arrive at once."""
        fields = vars(self) | {"params": self._named_params, "labels": "random"}
        usual = (("batch", 1), ("delay", 0))
        return core_digest.digest_of({name: value for name, value in fields.items() if (name, value) not in usual})

    @property
    def configuration(self) -> str:
        """The policy with its parameters, in a form that does not depend on how the user wrote them."""
        return f"{self.policy}:{core_digest.canonical(self._named_params)}"

    @property
    def _named_params(self) -> dict[str, Any]:
        return {name: value for name, value in self.params.items() if (self.policy, name, value) not in _UNNAMED}


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
    raised = numbered({}, policy=policy.version, loop=LOOP_NUMBERS, batches=BATCH_NUMBERS if late else 1)
    versions = (f"{name} {version}" for name, version in raised.get("numbers", {}).items())
    return " ".join([*filter(None, [sha256]), *versions])


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
    best, worst : ndarray of int64, shape (C, K)
        Number of steps in which the arm was the best (worst) of the compared arms, for weak (strong) regret.
    outcomes : ndarray of int64, shape (C,)
        Number of outcomes received, one for each compared pair of different arms.

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
    best: IntMatrix
    worst: IntMatrix
    outcomes: IntVector

    def __post_init__(self) -> None:
        for name in ("checkpoints", "pulls", "exposure", "recommended", "best", "worst", "outcomes"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    @property
    def independent_coins(self) -> bool:
        """Whether sets of arms were compared by an independent coin of the matrix for each pair of a set."""
        return self.key.oracle.get("oracle") == MATRIX and not np.array_equal(self.exposure * 2, self.pulls)

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
        return cumulative_regret(getattr(self, REGRETS[name].counts), loss_per_arm(matrix, REGRETS[name].loss, values))
