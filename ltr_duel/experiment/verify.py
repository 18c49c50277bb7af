"""Check a store: every run against its checksum and a random sample by doing it again; and repair the store."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ltr_duel.core import InputError, checked_seed, errors
from ltr_duel.core import plugins as core_plugins
from ltr_duel.experiment.backends.backend import Backend
from ltr_duel.experiment.counts import counts_of, same_counts
from ltr_duel.experiment.joining import join
from ltr_duel.experiment.plan import Plan
from ltr_duel.experiment.plan_file import StoredPlan, read_plans
from ltr_duel.experiment.problems import build_problems
from ltr_duel.experiment.scheduler import Scheduler
from ltr_duel.experiment.spec import read_spec
from ltr_duel.experiment.store import Store
from ltr_duel.experiment.stored_runs import StoredRuns, wrong_with_problem
from ltr_duel.experiment.worker import execute


class Verdict(NamedTuple):
    """What a check found."""

    checked: int  # runs compared with their checksums
    repeated: int  # runs of the sample, done again
    complaints: list[str]  # what is wrong, and still is after a repair
    repaired: list[str]  # what was wrong


def verify_store(
    folder: str | Path,
    *,
    sample: int = 10,
    seed: int = 0,
    plugins: Sequence[str | Path] = (),
    jobs: int = -1,
    repair: bool = False,
) -> Verdict:
    """Check all runs, and do a sample of them again.

    plugins: files that the experiments need. Those that a store or its plans name are not run.
    repair: do wrong runs again, and write wrong matrices again. Bytes that are no runs do not show which runs were
        lost, so all missing runs of the plans are done then.

    Raises `InputError` if the folder holds no results, a plan is damaged, or a plug-in cannot be used.
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
    complaints, repeated = [f"{name}: no run is called that" for name in stored.index.foreign], 0
    wanted = set(random.Random(seed).sample(sound, min(sample, len(sound))))
    for plan, here in by_plan(plans, wanted):
        try:
            for digest, why in _repeat(stored, rebuilt(plan, plugins, jobs), here):
                repeated += 1
                runs[digest] = why
        except InputError as error:
            complaints.append(f"{plan.about['spec_path']}: cannot be repeated here: {error}")
        wanted -= here
    complaints += [f"{digest}: no plan here asks for it, so it cannot be repeated" for digest in sorted(wanted)]
    wrong = {digest: why if digest in why else f"{digest}: {why}" for digest, why in sorted(runs.items()) if why}
    wrong |= _wrong_matrices(stored)
    wrong |= broken
    repaired = []
    if repair and wrong:
        missing = _missing(stored) if broken else set()
        mended, refused = do_again(store, plans, wrong.keys() | missing, plugins, jobs)
        complaints += refused
        if not refused:
            join(store, broken.keys())
        mended |= broken.keys() - store.scan().broken.keys()
        repaired = [wrong.pop(digest) for digest in sorted(mended & wrong.keys())]
    return Verdict(len(runs), repeated, [*wrong.values(), *complaints], repaired)


def _missing(stored: StoredRuns) -> set[str]:
    """Return the planned runs that are neither done nor failed."""
    failed = {path.stem for path in stored.store.files(stored.store.failed)}
    return stored.planned.keys() - stored.index.done.keys() - failed


def _wrong_matrices(stored: StoredRuns) -> dict[str, str]:
    """Return what is wrong with the matrices of problems that have finished runs, by the digests of the problems."""
    wrong: dict[str, str] = {}
    for plan in stored.plans:
        done = plan.runs.filter(pc.is_in(plan.runs["digest"], pa.array(stored.index.done, pa.string())))
        for problem in (plan.about["problems"][number] for number in pc.unique(done["problem"]).to_pylist()):
            why = wrong_with_problem(stored.store.problem_path(problem["digest"]), problem["matrix_sha256"])
            wrong |= {problem["digest"]: why} if why else {}
    return wrong


def _repeat(stored: StoredRuns, plan: Plan, wanted: Collection[str]) -> Iterator[tuple[str, str]]:
    """Do some runs of a plan again: yield the digest of each, and what is wrong, or nothing."""
    left = set(wanted)
    for run in plan:
        if run.digest not in left:
            continue
        left.discard(run.digest)
        outcome = execute(plan.task(run))
        why = ""
        ((_, rows),) = stored.batches([run.digest])
        if outcome.counts is None:
            why = f"{run.digest}: failed this time ({outcome.error})"
        elif not same_counts(outcome.counts, counts_of(rows, 0)):
            where = f"{run.label}, horizon {run.horizon}, repetition {run.repetition}"
            why = f"{run.digest}: other bytes this time ({where})"
        yield run.digest, why
    for digest in sorted(left):
        yield digest, f"{digest}: the experiment does not lead to it any more (its inputs have changed)"


def by_plan(plans: Iterable[StoredPlan], digests: Collection[str]) -> Iterator[tuple[StoredPlan, set[str]]]:
    """Yield each plan that asks for some of these runs, with those that no plan before it asks for."""
    left = set(digests)
    for plan in plans:
        here = left.intersection(plan.runs["digest"].to_pylist())
        left -= here
        if here:
            yield plan, here


def rebuilt(stored: StoredPlan, plugins: Sequence[str | Path], jobs: int) -> Plan:
    """Make a plan again from the text of its experiment, with the given plug-ins: a store never names code to run.

    Raises `InputError` if something that it names is missing here, or is not legal, or a plug-in that it records is not
    given.
    """
    given = {core_plugins.load_plugin(path).sha256 for path in plugins}
    for one in stored.about["plugins"]:
        if one["sha256"] not in given:
            raise InputError(f"it needs {one['path']} (SHA-256 {one['sha256']}): give that file with --plugin")
    file = read_spec(stored.about["spec_path"], stored.about["spec"], plugins=plugins, load_named=False)
    return Plan(file, build_problems(file, jobs=jobs))


def do_again(
    store: Store, plans: Sequence[StoredPlan], digests: Collection[str], plugins: Sequence[str | Path], jobs: int
) -> tuple[set[str], list[str]]:
    """Do runs again, and write matrices anew, whatever is there of them.

    digests: of runs, and of problems whose matrices are wrong.

    Returns the digests of what is sound now, and sentences that say why others could not be made again.

    Raises `KeyboardInterrupt` after Ctrl-C; what was done by then is kept.
    """
    mended: set[str] = set()
    refused = []
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
        now = StoredRuns(store, plans)
        wrong = now.wrong_with((runs & {run.digest for run in plan} & now.index.done.keys()) - set(report.failed))
        mended |= {digest for digest, why in wrong.items() if not why}
        mended |= problems.intersection(problem.digest for problem in plan.problems)
    return mended, refused
