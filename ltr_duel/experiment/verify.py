"""Check a store: every file against its manifest, and a random sample of runs by running them again."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ltr_duel.core import InputError, Plugin
from ltr_duel.experiment.plan import Plan
from ltr_duel.experiment.plan_file import StoredPlan, read_plans
from ltr_duel.experiment.problems import build_problems
from ltr_duel.experiment.run_file import read_key
from ltr_duel.experiment.spec import read_spec
from ltr_duel.experiment.store import Store
from ltr_duel.experiment.worker import execute


class Verdict(NamedTuple):
    """What a check found."""

    checked: int  # files compared with their manifests
    repeated: int  # runs done again
    complaints: list[str]


def verify_store(
    folder: str | Path, *, sample: int = 10, seed: int = 0, plugins: Sequence[Plugin] = (), jobs: int = -1
) -> Verdict:
    """Check all files, and run a sample again.

    Parameters
    ----------
    folder : path
        The store.
    sample : int
        How many runs to do again; 0 for none.
    seed : int
        Which ones.
    plugins : sequence of Plugin
        Files with policies that the experiments need.
    jobs : int
        Threads for what has to be estimated first.

    Raises
    ------
    InputError
        If the folder holds no results.
    """
    store = Store(folder)
    store.require()
    found = store.scan()
    complaints = [f"{digest}: {why}" for digest, why in sorted(found.damaged.items())]
    complaints += [f"{name}: no run is called that" for name in found.foreign]
    sound = []
    for digest in sorted(found.done):
        wrong = _against_manifest(store, digest)
        complaints += wrong
        if not wrong:
            sound.append(digest)
    wanted = set(random.Random(seed).sample(sound, min(sample, len(sound))))
    repeated = 0
    for plan in read_plans(store.plans):
        here = wanted & set(plan.runs["digest"].to_pylist())
        wanted -= here
        try:
            for wrong_run in _repeat(store, plan, here, tuple(plugins), jobs):
                repeated += 1
                complaints += [wrong_run] if wrong_run else []
        except InputError as error:
            complaints.append(f"{plan.about['spec_path']}: cannot be run again here: {error}")
    complaints += [f"{digest}: no plan here asks for it, so it cannot be run again" for digest in sorted(wanted)]
    return Verdict(len(found.done) + len(found.damaged), repeated, complaints)


def _against_manifest(store: Store, digest: str) -> list[str]:
    """Compare a file with its name and its manifest."""
    path = store.run_path(digest)
    try:
        key = read_key(path).digest
        manifest = json.loads(store.manifest_path(digest).read_bytes())
        expected = manifest["sha256"]
    except InputError as error:
        return [str(error)]
    except OSError:
        return [f"{digest}: its manifest is missing"]
    except (ValueError, KeyError, TypeError):
        return [f"{digest}: its manifest cannot be read"]
    if key != digest:
        return [f"{digest}: the file is of another run, {key}"]
    if hashlib.sha256(path.read_bytes()).hexdigest() != expected:
        return [f"{digest}: the file is not the one its manifest describes"]
    return []


def _repeat(
    store: Store, stored: StoredPlan, wanted: set[str], plugins: tuple[Plugin, ...], jobs: int
) -> Iterator[str]:
    """Run again what is wanted of a plan: yield for each what is wrong, or nothing."""
    if not wanted:
        return
    file = read_spec(stored.about["spec_path"], stored.about["spec"])
    plan = Plan(file, build_problems(file, jobs=jobs), plugins)
    left = set(wanted)
    for run in plan:
        if run.digest not in left:
            continue
        left.discard(run.digest)
        outcome = execute(plan.task(run))
        if outcome.error:
            yield f"{run.digest}: failed this time ({outcome.error})"
        elif outcome.data != store.run_path(run.digest).read_bytes():
            where = f"{run.label}, horizon {run.horizon}, repetition {run.repetition}"
            yield f"{run.digest}: other bytes this time ({where})"
        else:
            yield ""
    for digest in sorted(left):
        yield f"{digest}: the spec does not lead to it any more (its inputs have changed)"
