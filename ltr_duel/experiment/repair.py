"""Do runs of a store again, from the plans that lie in it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from ltr_duel.core import InputError
from ltr_duel.core import plugins as core_plugins
from ltr_duel.experiment.backends.backend import Backend
from ltr_duel.experiment.examine import wrong_with_runs
from ltr_duel.experiment.plan import Plan
from ltr_duel.experiment.plan_file import StoredPlan
from ltr_duel.experiment.problems import build_problems
from ltr_duel.experiment.scheduler import Scheduler
from ltr_duel.experiment.spec import read_spec
from ltr_duel.experiment.store import Store


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

    Raises
    ------
    InputError
        If something that it names is missing here, or is not legal, or a plug-in that it records is not given.
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

    Parameters
    ----------
    store : Store
    plans : sequence of StoredPlan
    digests : collection of str
        Of runs, and of problems whose matrices are wrong.
    plugins : sequence of path
    jobs : int

    Returns
    -------
    tuple of (set of str, list of str)
        The digests of what is sound now, and sentences that say why others could not be made again.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C; what was done by then is kept.
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
