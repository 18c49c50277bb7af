"""What is written beside a run: its manifest, or how it failed."""

from __future__ import annotations

import hashlib
import time
from typing import Any

from ltr_duel.experiment.plan import Plan, PlannedRun
from ltr_duel.experiment.worker import Outcome


def manifest(plan: Plan, run: PlannedRun, outcome: Outcome) -> dict[str, Any]:
    """Say where a result comes from, and what it cost."""
    matrix = plan.problems[run.problem].matrix
    return {
        **_identity(plan, run),
        "sha256": hashlib.sha256(outcome.data).hexdigest(),
        "data_sha256": matrix.provenance.get("corpus_sha256"),
        "matrix_sha256": matrix.digest,
        "seconds": outcome.seconds,
        "decisions": outcome.decisions,
        "steps_per_second": run.horizon / max(outcome.seconds, 1e-9),
        "duels_per_second": outcome.decisions / max(outcome.seconds, 1e-9),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "plugins": [plugin._asdict() for plugin in plan.plugins],
        **outcome.environment,
        "spec": plan.file.content,
    }


def failure(plan: Plan, run: PlannedRun, outcome: Outcome) -> dict[str, Any]:
    """Say how a run failed."""
    return {
        **_identity(plan, run),
        "error": outcome.error,
        "traceback": outcome.traceback,
        "seconds": outcome.seconds,
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        **outcome.environment,
    }


def _identity(plan: Plan, run: PlannedRun) -> dict[str, Any]:
    spec = plan.file.spec
    return {
        "run": run.digest,
        "policy": run.label,
        "problem": plan.problems[run.problem].name,
        "horizon": run.horizon,
        "repetition": run.repetition,
        "seed": spec.seed,
        "experiment": spec.name,
        "spec_sha256": plan.file.digest,
    }
