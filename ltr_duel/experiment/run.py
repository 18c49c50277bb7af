"""Make a plan from the file of an experiment, and store the results of the plan in a folder."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ltr_duel.core import InputError, arguments, errors, schema
from ltr_duel.experiment.backends.backend import Backend, check_backend
from ltr_duel.experiment.plan import Plan, Shard
from ltr_duel.experiment.plan_file import MOST_RUNS, read_plan
from ltr_duel.experiment.problems import build_problems
from ltr_duel.experiment.scheduler import Report, Scheduler
from ltr_duel.experiment.spec import SpecFile, read_spec
from ltr_duel.experiment.store import Store
from ltr_duel.simulation import check_fits


def make_plan(
    spec: str | Path | SpecFile, *, plugins: Sequence[str | Path] = (), jobs: int = -1, estimate: bool = True
) -> Plan:
    r"""Read an experiment and build its problems.

    Parameters
    ----------
    spec : str, Path or SpecFile
        The TOML file, or the result of `read_spec`.
    plugins : sequence of path
        Plug-in files to load first, in addition to those named in the file.
    jobs : int
        Number of threads for estimating matrices; -1 for all cores.
    estimate : bool
        False for a plan that is only displayed: nothing is estimated, and placeholders replace the preference matrices
        that are still to be estimated.

    Returns
    -------
    Plan

    Raises
    ------
    InputError
        If a value is invalid, a file does not exist, or the plan has more than 10^7 runs.

    Examples
    --------
    >>> from ltr_duel.experiment import make_plan, read_spec
    >>> file = read_spec("one.toml", "policies = 'rucb'\nutilities = [{ set = '1good5poor' }]")
    >>> plan = make_plan(file)
    >>> len(plan), plan.problems[0].name
    (20, '1good5poor')
    """
    file = spec if isinstance(spec, SpecFile) else read_spec(spec, plugins=plugins)
    _check_size(Plan(file, [None]))  # type: ignore[list-item]  # as if there were one problem, before problems are built
    plan = Plan(file, build_problems(file, jobs=jobs, estimate=estimate))
    _check_size(plan)
    for problem in plan.problems:
        for policy in plan.policies:
            with schema.located(f"{file.path}: problem '{problem.name}'"):
                check_fits(policy, problem.oracle)
    return plan


def _check_size(plan: Plan) -> None:
    if len(plan) > MOST_RUNS:
        raise InputError(
            f"{plan.file.path}: {len(plan):,} runs; an experiment has at most {MOST_RUNS:,}: split it into several"
        )


def run_experiment(
    plan: Plan,
    folder: str | Path,
    *,
    backend: Backend | None = None,
    shard: Shard | None = None,
    retry: bool = False,
) -> Report:
    r"""Execute the runs of a plan that are not in the store yet.

    Several processes may use one store at the same time, because each run is claimed before it begins.

    Parameters
    ----------
    plan : Plan
    folder : str or Path
        The store.
    backend : Backend, optional
        Default: threads on all cores.
    shard : Shard, optional
        The part of the plan to execute; by default, the whole plan.
    retry : bool
        Repeat failed runs and damaged runs; to find damaged runs, all runs are compared with their checksums.

    Returns
    -------
    Report
        The report is also returned after Ctrl-C.

    Raises
    ------
    InputError
        If the store cannot be used or is full, or if the cluster is gone. Finished runs are kept.

    Examples
    --------
    >>> import tempfile
    >>> from ltr_duel.experiment import make_plan, read_spec
    >>> content = "policies = 'rucb'\nhorizon = 10\nrepetitions = 2\nutilities = [{ set = '1good5poor' }]"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = run_experiment(make_plan(read_spec("one.toml", content)), folder)
    >>> report.done, report.left
    (2, 0)
    """
    arguments.require_type("a plan, the result of make_plan,", plan, Plan)
    backend = backend or Backend()
    check_backend(backend)
    store = Store(folder)
    return Scheduler(plan, store, backend, shard, retry=retry).run()


def require_own(file: SpecFile, folder: str | Path) -> None:
    """Raise `InputError` if a folder contains the results of other experiments, and none of this one."""
    store, names = Store(folder), set[str]()
    for path in store.files(store.plans) if store.exists() else ():
        with suppress(InputError):  # a damaged plan is written again
            about = read_plan(path).about
            names.add(about["name"] or Path(about["spec_path"]).stem)
    own = file.spec.name or Path(file.path).stem
    if names and own not in names:
        raise InputError(
            f"{folder}: contains the results of the experiment {errors.listed(sorted(names))}, not of {own}; give"
            " another folder"
        )
