"""Check a store: every run against its checksum, a random sample of runs by doing them again; and repair it."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ltr_duel.core import InputError, checked_seed, errors
from ltr_duel.core import plugins as core_plugins
from ltr_duel.experiment.backends.backend import Backend
from ltr_duel.experiment.found import Found
from ltr_duel.experiment.joining import join
from ltr_duel.experiment.plan import Plan
from ltr_duel.experiment.plan_file import StoredPlan, read_plans
from ltr_duel.experiment.problems import build_problems
from ltr_duel.experiment.run_record import same_run
from ltr_duel.experiment.scheduler import Scheduler
from ltr_duel.experiment.spec import read_spec
from ltr_duel.experiment.store import Store
from ltr_duel.experiment.stored_run import Reader, wrong_with_problem, wrong_with_runs
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
    repair: do runs again that are wrong, and write matrices anew that are wrong. Where bytes are no runs, it cannot be
    said
    whose they were: all runs of the plans that are missing are done then.

    Raises `InputError` if the folder holds no results, a plan is damaged, or a plug-in cannot be used.
    """
    store = Store(folder)
    store.require()
    sample, seed = errors.require_whole("the sample", sample, 0), checked_seed(seed)
    for path in plugins:
        core_plugins.load_plugin(path)
    plans, found = read_plans(store), store.scan()
    runs = wrong_with_runs(store, found, found.done)
    sound = [digest for digest, why in sorted(runs.items()) if not why]
    complaints, repeated = [f"{name}: no run is called that" for name in found.foreign], 0
    wanted = set(random.Random(seed).sample(sound, min(sample, len(sound))))
    for plan, here in by_plan(plans, wanted):
        try:
            for digest, why in _repeat(Reader(store, found), rebuilt(plan, plugins, jobs), here):
                repeated += 1
                runs[digest] = why
        except InputError as error:
            complaints.append(f"{plan.about['spec_path']}: cannot be repeated here: {error}")
        wanted -= here
    complaints += [f"{digest}: no plan here asks for it, so it cannot be repeated" for digest in sorted(wanted)]
    wrong = {digest: why if digest in why else f"{digest}: {why}" for digest, why in sorted(runs.items()) if why}
    wrong |= _wrong_matrices(store, plans, found)
    wrong |= found.broken
    repaired = []
    if repair and wrong:
        missing = _missing(store, plans, found) if found.broken else set()
        mended, refused = do_again(store, plans, wrong.keys() | missing, plugins, jobs)
        complaints += refused
        if not refused:
            join(store, found.broken.keys())
        mended |= found.broken.keys() - store.scan().broken.keys()
        repaired = [wrong.pop(digest) for digest in sorted(mended & wrong.keys())]
    return Verdict(len(runs), repeated, [*wrong.values(), *complaints], repaired)


def _missing(store: Store, plans: Sequence[StoredPlan], found: Found) -> set[str]:
    """Return the runs that are planned, and neither done nor failed."""
    planned = {digest for plan in plans for digest in plan.runs["digest"].to_pylist()}
    return planned - found.done.keys() - {path.stem for path in store.files(store.failed)}


def _wrong_matrices(store: Store, plans: Sequence[StoredPlan], found: Found) -> dict[str, str]:
    """Say which matrices are not those that the manifests of their runs name, by the digests of their problems."""
    wrong: dict[str, str] = {}
    reader = Reader(store, found)
    for plan in plans:
        known: set[int] = set()
        for digest, number in zip(plan.runs["digest"].to_pylist(), plan.runs["problem"].to_pylist(), strict=True):
            if number in known or digest not in found.done:
                continue
            with suppress(InputError):
                matrix = reader.run(digest).group["matrix_sha256"]
                problem = plan.about["problems"][number]["digest"]
                why = wrong_with_problem(store.problem_path(problem), matrix)
                wrong |= {problem: why} if why else {}
                known.add(number)
    return wrong


def _repeat(reader: Reader, plan: Plan, wanted: Collection[str]) -> Iterator[tuple[str, str]]:
    """Do some runs of a plan again: yield of each its digest, and what is wrong, or nothing."""
    left = set(wanted)
    for run in plan:
        if run.digest not in left:
            continue
        left.discard(run.digest)
        outcome = execute(plan.task(run))
        why = ""
        if outcome.error:
            why = f"{run.digest}: failed this time ({outcome.error})"
        elif not same_run(outcome.data, reader.run(run.digest).data):
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
    return Plan(file, build_problems(file, jobs=jobs), stored.labels)


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
        again = {run.digest for run in plan} - set(report.failed)
        found = store.scan()
        wrong = wrong_with_runs(store, found, runs & again & found.done.keys())
        mended |= {digest for digest, why in wrong.items() if not why}
        mended |= problems.intersection(problem.digest for problem in plan.problems)
    return mended, refused
