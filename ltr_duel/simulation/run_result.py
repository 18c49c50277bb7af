"""The result of one simulated run: its counts at the checkpoints, and the key that identifies the run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ltr_duel.bandits import BATCH_NUMBERS, LOOP_NUMBERS, Policy, named_policy
from ltr_duel.core import FloatMatrix, FloatVector, IntMatrix, IntVector, errors, frozen, numbered
from ltr_duel.core import digest as core_digest
from ltr_duel.preferences import PreferenceMatrix
from ltr_duel.simulation.oracle import MATRIX
from ltr_duel.simulation.regret import REGRETS, cumulative_regret, loss_per_arm

# A parameter with this value is not part of the names of streams and runs.
_UNNAMED = (("rucb", "hypothesis", False), ("savage", "delta", 0.0))


@dataclass(frozen=True)
class RunKey:
    """The settings that determine a run. A digest (SHA-256) of these fields is the name of the run.

    oracle: the ``provenance`` of the source of outcomes.
    measured_by: the digest of the matrix that measures regret; empty if the source uses this matrix.
    source: the version of the code, see `source_of`.
    batch: the number of comparisons that a policy chooses before it gets the outcome of any of them.
    delay: the number of steps between the end of a batch and the arrival of its outcomes.
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
        """The SHA-256 of the fields, which names the run."""
        fields = vars(self) | {"params": self._named_params, "labels": "random"}
        usual = (("batch", 1), ("delay", 0))  # left out, because outcomes then arrive at once
        return core_digest.digest_of({name: value for name, value in fields.items() if (name, value) not in usual})

    @property
    def configuration(self) -> str:
        """The policy and its parameters, in a form that does not depend on how the user wrote them."""
        return f"{self.policy}:{core_digest.canonical(self._named_params)}"

    @property
    def _named_params(self) -> dict[str, Any]:
        return {name: value for name, value in self.params.items() if (self.policy, name, value) not in _UNNAMED}


def lateness_note(batch: int, delay: int) -> str:
    """Return a sentence that says how late the outcomes arrived, or "" if they arrived at once."""
    parts = [f"in batches of {batch:,} comparisons"] if batch > 1 else []
    parts += [f"{delay:,} steps late"] if delay else []
    return f"Outcomes arrived {' and '.join(parts)}." if parts else ""


def source_of(policy: Policy, sha256: str = "", *, late: bool = False) -> str:
    """Return a text that identifies the code of a run: the digest of a plug-in file, and version numbers above 1.

    sha256: the digest of the plug-in file that defines the policy, or "".
    late: whether outcomes arrive in batches or with a delay.
    """
    raised = numbered({}, policy=policy.version, loop=LOOP_NUMBERS, batches=BATCH_NUMBERS if late else 1)
    versions = (f"{name} {version}" for name, version in raised.get("numbers", {}).items())
    return " ".join([*filter(None, [sha256]), *versions])


@dataclass(frozen=True, eq=False)
class RunResult:
    """The result of one run with K arms, recorded at C checkpoints.

    Parameters
    ----------
    key : RunKey
    label : str
        The policy and its parameters, as the user wrote them.
    checkpoints : ndarray of int64, shape (C,)
        The steps at which counts were recorded. In the arrays of counts, row c covers steps 1 to ``checkpoints[c]``.
    pulls : ndarray of int64, shape (C, K)
        How often each arm was compared. An arm that is compared with itself counts twice.
    exposure : ndarray of float64, shape (C, K)
        The number of impressions of each arm. In a comparison of m arms, each arm gets 1 / m of the impression.
    recommended : ndarray of int64, shape (C,)
        The arm that the policy would name as the best if the run ended here.
    decisions : int
        The number of steps in which the policy made a choice. The simulation skipped all other steps.
    best, worst : ndarray of int64, shape (C, K)
        How often each arm was the best of the compared arms, and how often the worst. Weak regret is computed from
        ``best``, and strong regret from ``worst``.
    outcomes : ndarray of int64, shape (C,)
        The number of outcomes that the policy received, one for each pair of different arms in a comparison.

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
    def compares_sets(self) -> bool:
        """Whether the policy is made for sets of arms, or has compared more than two arms in a step."""
        policy = named_policy(self.label)
        return bool(policy and policy.feedback == "slate") or not np.array_equal(self.exposure * 2, self.pulls)

    @property
    def independent_coins(self) -> bool:
        """Whether the policy compared sets of arms on a matrix, where each pair's outcome is drawn independently."""
        return self.key.oracle.get("oracle") == MATRIX and not np.array_equal(self.exposure * 2, self.pulls)

    def regret(self, matrix: PreferenceMatrix, name: str, values: FloatVector | None = None) -> FloatVector:
        """Return the regret up to each checkpoint, or NaN if it needs a Condorcet winner or values that are missing.

        Parameters
        ----------
        matrix : PreferenceMatrix
        name : str
            The kind of regret, one of `ltr_duel.simulation.regret.REGRETS`.
        values : ndarray of float64, shape (K,), optional
            The utilities or the NDCG of the arms, for the regrets that are called utility and ndcg.
        """
        errors.require_one_of("regret", name, REGRETS)
        return cumulative_regret(getattr(self, REGRETS[name].counts), loss_per_arm(matrix, REGRETS[name].loss, values))
