"""Check a store and repair it. The checksums of all runs are checked, and a random sample of runs is repeated."""

from __future__ import annotations

import random
import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ltr_duel.core import InputError, checked_seed, errors, files
from ltr_duel.core import plugins as core_plugins
from ltr_duel.experiment.backends.backend import Backend
from ltr_duel.experiment.counts import counts_of, same_counts
from ltr_duel.experiment.leases import live_drivers, locked
from ltr_duel.experiment.plan import Plan
from ltr_duel.experiment.plan_file import StoredPlan, read_plans
from ltr_duel.experiment.problems import build_problems
from ltr_duel.experiment.runs_file import SUFFIX, write_batches
from ltr_duel.experiment.scheduler import Scheduler
from ltr_duel.experiment.spec import read_spec
from ltr_duel.experiment.store import Store
from ltr_duel.experiment.stored_runs import StoredRuns, wrong_with_problem
from ltr_duel.experiment.worker import execute


class Verdict(NamedTuple):
    """The result of a check."""

    checked: int  # number of runs compared with their checksums
    repeated: int  # number of runs in the sample that were repeated
    complaints: list[str]  # remaining errors
    repaired: list[str]  # repaired errors
    executed: int  # number of runs executed to repair errors
    unfinished: int  # number of planned runs that are neither done nor failed


def verify_store(
    folder: str | Path,
    *,
    sample: int = 10,
    seed: int = 0,
    plugins: Sequence[str | Path] = (),
    jobs: int = -1,
    repair: bool = False,
) -> Verdict:
    """Check all runs, and repeat a sample of them.

    plugins: files that the experiments need. Plug-ins that are named in the store but not given here are not executed.
    repair: repeat wrong runs, and write wrong matrices again. If a file has damaged bytes, all missing runs of the
        plans are executed, because the bytes do not show which runs were lost.

    Raises `InputError` if the folder contains no results, a plan is damaged, or a plug-in cannot be used.
    """
    store = Store(folder)
    store.require()
    sample, seed = errors.require_whole("the sample", sample, 0), checked_seed(seed)
    for path in plugins:
        core_plugins.load_plugin(path)
    stored = StoredRuns(store, read_plans(store))
    plans, broken = stored.plans, dict(stored.index.broken)
    runs = stored.wrong_with(stored.index.done)
    sound = [digest for digest, why in sorted(runs.items()) if not why]
    complaints, repeated = [f"{name}: not the name of a file of runs; remove it" for name in stored.index.foreign], 0
    wanted = set(random.Random(seed).sample(sound, min(sample, len(sound))))
    for plan, here in by_plan(plans, wanted):
        try:
            for digest, why in _repeat(stored, rebuilt(plan, plugins, jobs), here):
                repeated += 1
                runs[digest] = why
        except InputError as error:
            complaints.append(f"{plan.about['spec_path']}: cannot be repeated here: {error}")
        wanted -= here
    complaints += [f"{digest}: no plan here contains it, so it cannot be repeated" for digest in sorted(wanted)]
    wrong = {digest: why for digest, why in sorted(runs.items()) if why} | _wrong_matrices(stored) | broken
    missing, repaired, executed = _unfinished(stored), [], 0
    if repair and wrong:
        again = wrong.keys() | (missing if broken else set())
        mended, refused, executed = do_again(store, plans, again, plugins, jobs)
        complaints += refused
        if not refused:
            _rewrite(store, broken.keys())
        now = StoredRuns(store, plans)
        mended |= broken.keys() - now.index.broken.keys()
        repaired = [wrong.pop(digest) for digest in sorted(mended & wrong.keys())]
        missing = _unfinished(now)
    complaints = _counted(wrong.values()) + complaints
    return Verdict(len(runs), repeated, complaints, _counted(repaired), executed, len(missing))


def _rewrite(store: Store, names: Collection[str]) -> None:
    """Replace damaged files of runs by one file, with the newest row of each run; bytes that are not runs are dropped.

    Files of live processes stay unchanged. If this process is killed while it removes the old files, some runs are
    stored twice, which is harmless. Raises `StoreFullError` if there is no space left; no file is removed then.
    """
    with locked(store):
        alive = {driver["id"] + SUFFIX for driver in live_drivers(store)}
        runs = StoredRuns(store, ())
        chosen = runs.index.sizes.keys() & set(names) - alive
        if digests := [digest for digest, place in runs.index.done.items() if place.file in chosen]:
            with store.writing(store.place("runs", uuid.uuid4().hex + SUFFIX)) as file:
                write_batches(file, (rows for _, rows in runs.batches(digests)))
            files.sync_folder(store.runs)
        for name in chosen:
            path = store.runs / name
            if path.stat().st_size == runs.index.sizes[name]:  # nothing was appended meanwhile
                path.unlink()


def _unfinished(stored: StoredRuns) -> set[str]:
    """Return the planned runs that are neither done nor failed."""
    failed = {path.stem for path in stored.store.files(stored.store.failed)}
    return stored.planned.keys() - stored.index.done.keys() - failed


def _counted(errors: Iterable[str]) -> list[str]:
    """Return each message once; if several runs have the same message, their number is added."""
    return [f"{why} ({count:,} runs)" if count > 1 else why for why, count in Counter(errors).items()]


def _wrong_matrices(stored: StoredRuns) -> dict[str, str]:
    """Return an error for each damaged matrix whose problem has finished runs, by the digest of the problem."""
    wrong: dict[str, str] = {}
    for plan in stored.plans:
        done = plan.runs.filter(pc.is_in(plan.runs["digest"], pa.array(stored.index.done, pa.string())))
        for problem in (plan.about["problems"][number] for number in pc.unique(done["problem"]).to_pylist()):
            why = wrong_with_problem(stored.store.problem_path(problem["digest"]), problem["matrix_sha256"])
            wrong |= {problem["digest"]: why} if why else {}
    return wrong


def _repeat(stored: StoredRuns, plan: Plan, wanted: Collection[str]) -> Iterator[tuple[str, str]]:
    """Repeat some runs of a plan; for each, yield its digest and an error message, or "" if the run is sound."""
    left = set(wanted)
    for run in plan:
        if run.digest not in left:
            continue
        left.discard(run.digest)
        outcome = execute(plan.task(run))
        why = ""
        if outcome.counts is None:
            why = f"{run.digest}: failed when repeated ({outcome.error})"
        elif not same_counts(outcome.counts, counts_of(stored.row(run.digest), 0)):
            where = f"{run.label}, horizon {run.horizon}, repetition {run.repetition}"
            why = f"{run.digest}: different counts when repeated ({where})"
        yield run.digest, why
    for digest in sorted(left):
        yield digest, f"{digest}: the experiment no longer contains it (its inputs have changed)"


def by_plan(plans: Iterable[StoredPlan], digests: Collection[str]) -> Iterator[tuple[StoredPlan, set[str]]]:
    """Yield each plan that contains some of the runs, with those of them that no earlier plan contains."""
    left = set(digests)
    for plan in plans:
        here = left.intersection(plan.runs["digest"].to_pylist())
        left -= here
        if here:
            yield plan, here


def rebuilt(stored: StoredPlan, plugins: Sequence[str | Path], jobs: int) -> Plan:
    """Make a plan again from its spec. Only the given plug-ins are loaded, never those that only the store names.

    Raises `InputError` if the spec is invalid, data that it names are missing here, or a plug-in of the plan is not
    given.
    """
    given = {core_plugins.load_plugin(path).sha256 for path in plugins}
    for one in stored.about["plugins"]:
        if one["sha256"] not in given:
            raise InputError(f"it needs {one['path']} (SHA-256 {one['sha256']}): pass this file with --plugin")
    file = read_spec(stored.about["spec_path"], stored.about["spec"], plugins=plugins, load_named=False)
    return Plan(file, build_problems(file, jobs=jobs))


def do_again(
    store: Store, plans: Sequence[StoredPlan], digests: Collection[str], plugins: Sequence[str | Path], jobs: int
) -> tuple[set[str], list[str], int]:
    """Repeat runs and write matrices again, even if they exist.

    digests: the digests of the runs, and of the problems whose matrices are wrong.

    Returns the digests of the runs and problems that are sound now, messages about plans that cannot be repaired, and
    the number of runs executed.

    Raises `KeyboardInterrupt` after Ctrl-C; finished runs are kept.
    """
    mended: set[str] = set()
    refused, executed = [], 0
    for stored in plans:
        left = set(digests) - mended
        runs = left.intersection(stored.runs["digest"].to_pylist())
        problems = left.intersection(one["digest"] for one in stored.about["problems"])
        if not runs | problems:
            continue
        try:
            plan = rebuilt(stored, plugins, jobs)
            report = Scheduler(plan, store, Backend(jobs=jobs), only=runs).run()
        except InputError as error:
            refused.append(f"{stored.about['spec_path']}: cannot be repaired here: {error}")
            continue
        if report.interrupted:
            raise KeyboardInterrupt
        executed += report.done + len(report.failed)
        now = StoredRuns(store, plans)
        wrong = now.wrong_with((runs & {run.digest for run in plan} & now.index.done.keys()) - set(report.failed))
        mended |= {digest for digest, why in wrong.items() if not why}
        mended |= problems.intersection(problem.digest for problem in plan.problems)
    return mended, refused, executed
