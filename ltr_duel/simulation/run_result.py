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

AS_GIVEN = "as given"  # arms numbered by the rows of the matrix, as in all runs before there was a random order
_AS_EVER = (("labels", AS_GIVEN), ("batch", 1), ("delay", 0))


@dataclass(frozen=True)
class RunKey:
    """Everything that determines a run. Its digest names it.

    oracle: the law of the outcomes, as JSON.
    measured_by: digest of the preference matrix by which regret is measured, if it is not the oracle's.
    source: SHA-256 of the file that defines a policy from outside this package, and numbers versions above 1, see
        `source_of`.
    labels: "random" if policies number the arms in an order that all policies of a repetition share, else "as given".
    batch, delay: comparisons chosen before any of their outcomes is known, and the steps that outcomes take.
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
        """SHA-256 of the key as canonical JSON; ``labels`` are part of it where they are random."""
        return core_digest.digest_of(key_fields(self))

    @property
    def configuration(self) -> str:
        """The policy with all its parameters, in one canonical form however the user wrote it."""
        return f"{self.policy}:{core_digest.canonical(self.params)}"


def key_fields(key: RunKey) -> dict[str, Any]:
    """Return the fields of a key, without later fields that have the value of runs from before they existed."""
    return {name: value for name, value in vars(key).items() if (name, value) not in _AS_EVER}


def lateness_note(batch: int, delay: int) -> str:
    """Return a sentence on late outcomes, or an empty text if outcomes arrived at once."""
    parts = [f"in batches of {batch:,} comparisons"] if batch > 1 else []
    parts += [f"{delay:,} steps late"] if delay else []
    return f"Outcomes were told {' and '.join(parts)}." if parts else ""


def source_of(policy: Policy, sha256: str = "", *, late: bool = False) -> str:
    """Return the part of a run's key that identifies the code of the run.

    sha256: of the plug-in file that defines it.
    late: whether outcomes come in batches, or with a delay.
    """
    raised = numbered({}, policy=policy.numbers, loop=LOOP_NUMBERS, batches=BATCH_NUMBERS if late else 1).get(
        "numbers", {}
    )
    return " ".join([*filter(None, [sha256]), *(f"{name} {version}" for name, version in raised.items())])


@dataclass(frozen=True, eq=False)
class RunResult:
    """One run. C checkpoints, K arms.

    Parameters
    ----------
    key : RunKey
    label : str
        How the user named the policy.
    checkpoints : ndarray of int64, shape (C,)
    pulls : ndarray of int64, shape (C, K)
        How often each arm was compared up to the checkpoint; an arm against itself counts twice.
    exposure : ndarray of float64, shape (C, K)
        Impressions each arm had; a row adds up to t.
    recommended : ndarray of int64, shape (C,)
        The arm that the policy would choose if it had to stop.
    decisions : int
        Steps in which the policy made a choice; the loop skipped the others.
    best, worst : ndarray of int64, shape (C, K), optional
        Steps in which the arm was the best, and the worst, of those compared. Strong and weak regret need them.
    outcomes : ndarray of int64, shape (C,), optional
        Outcomes received: pairs of different arms that were compared. None in runs of versions that did not count them.

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
        """Whether sets of arms were compared, each pair of a set by a coin of the matrix."""
        return tosses_coins(self.key.oracle) and not np.array_equal(self.exposure * 2, self.pulls)

    def regret(self, matrix: PreferenceMatrix, name: str, values: FloatVector | None = None) -> FloatVector:
        """Return the cumulative regret at each checkpoint, shape (C,); NaN where it is not defined.

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
