"""Check a store: every file against its manifest, and a random sample of runs by doing them again."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ltr_duel.core import InputError, load_plugin, sha256_file
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
    folder: str | Path, *, sample: int = 10, seed: int = 0, plugins: Sequence[str | Path] = (), jobs: int = -1
) -> Verdict:
    """Check all files, and do a sample of the runs again.

    Parameters
    ----------
    folder : str or Path
        The store.
    sample : int
        How many runs to do again; 0 for none.
    seed : int
        Which ones.
    plugins : sequence of path
        Plug-in files that the experiments need, beside those that their files name.
    jobs : int
        Threads for what has to be estimated first; -1 for all cores.

    Returns
    -------
    Verdict
        With the attributes ``checked`` (files compared with their manifests), ``repeated`` (runs done again) and
        ``complaints`` (sentences).

    Raises
    ------
    InputError
        If the folder holds no results, or a plug-in cannot be used.

    Examples
    --------
    >>> verify_store("results")
    Traceback (most recent call last):
        ...
    ltr_duel.core.errors.InputError: results: no results of 'ltr-duel run' are here
    """
    store = Store(folder)
    store.require()
    for path in plugins:
        load_plugin(path)
    found = store.scan()
    complaints = [f"{digest}: {why}" for digest, why in sorted(found.damaged.items())]
    complaints += [f"{name}: no run is called that" for name in found.foreign]
    wrong = {digest: _wrong_with(store, digest) for digest in sorted(found.done)}
    complaints += filter(None, wrong.values())
    sound = [digest for digest, why in wrong.items() if not why]
    wanted = set(random.Random(seed).sample(sound, min(sample, len(sound))))
    repeated = 0
    for plan in read_plans(store.plans):
        here = wanted & set(plan.runs["digest"].to_pylist())
        wanted -= here
        try:
            for wrong_run in _repeat(store, plan, here, plugins, jobs):
                repeated += 1
                complaints += [wrong_run] if wrong_run else []
        except InputError as error:
            complaints.append(f"{plan.about['spec_path']}: cannot be repeated here: {error}")
    complaints += [f"{digest}: no plan here asks for it, so it cannot be repeated" for digest in sorted(wanted)]
    return Verdict(len(found.done) + len(found.damaged), repeated, complaints)


def _wrong_with(store: Store, digest: str) -> str:
    """Compare a file with its name and its manifest: say what is wrong, or nothing."""
    path = store.run_path(digest)
    try:
        key = read_key(path).digest
        manifest = json.loads(store.manifest_path(digest).read_bytes())
        expected = manifest["sha256"]
    except InputError as error:
        return str(error)
    except OSError:
        return f"{digest}: its manifest is missing"
    except (ValueError, KeyError, TypeError):
        return f"{digest}: its manifest cannot be read"
    if key != digest:
        return f"{digest}: the file is of another run, {key}"
    if sha256_file(path) != expected:
        return f"{digest}: the file is not the one its manifest describes"
    return ""


def _repeat(
    store: Store, stored: StoredPlan, wanted: set[str], plugins: Sequence[str | Path], jobs: int
) -> Iterator[str]:
    """Do some runs of a plan again: say of each what is wrong, or nothing."""
    if not wanted:
        return
    file = read_spec(stored.about["spec_path"], stored.about["spec"], plugins=plugins)
    plan = Plan(file, build_problems(file, jobs=jobs))
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
        yield f"{digest}: the experiment does not lead to it any more (its inputs have changed)"
