"""``ltr-duel run``: run an experiment from a TOML file, with results in a folder."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click

from ltr_duel import core, experiment
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import CONTINUED_FOLDER, COUNT, PATH
from ltr_duel.cli._output import echo_lines, end
from ltr_duel.cli._signals import interrupted
from ltr_duel.cli._words import Command
from ltr_duel.core import InputError


@click.command(cls=Command)
@click.argument("spec", type=PATH)
@click.option(
    "-o", "--out", type=CONTINUED_FOLDER, help="Folder of results; those of the same experiment are continued."
)
@click.option("--dry-run", is_flag=True, help="Only print the schedule: runs, duels, estimated time.")
@click.option("--check", type=COUNT, help="Only repeat this many finished runs, and compare them with the stored ones.")
@click.option("--backend", default="threads", show_default=True, help="threads, loky (processes) or dask (a cluster).")
@options.jobs
@click.option("--scheduler", help="Address of a dask scheduler, tcp://host:port; by default a new one is started.")
@click.option("--shard", help="Run only part i of n of the schedule, written i/n, for array jobs of a batch system.")
@click.option("--retry", is_flag=True, help="Repeat failed runs.")
@options.plugins
def command(
    spec: Path, out: Path | None, dry_run: bool, check: int | None, backend: str, jobs: int, scheduler: str | None,
    shard: str | None, retry: bool, plugins: tuple[core.plugins.Plugin, ...],
) -> None:  # fmt: skip
    """Run the experiment in the file SPEC, except for runs whose results exist.

    Exit code: 0 all runs are done; 1 runs failed, or --check finds a difference; 2 bad input; 130 or 143 interrupted.
    """
    part = _shard(shard) if shard else None
    where = experiment.Backend(backend, jobs, scheduler)
    experiment.check_backend(where)
    if out is None and not dry_run:
        raise click.UsageError("give --out DIR, the folder of results (or --dry-run)")
    file = experiment.read_spec(spec, plugins=[plugin.path for plugin in plugins])
    if out is not None:
        _require_own(file, out)
    schedule = experiment.make_schedule(file, jobs=jobs, estimate=not dry_run)
    if dry_run:
        echo_lines(experiment.print_estimate(schedule, part, out, where))
        return
    options.check_once(file.plugins)
    at_once = backend == "dask"  # exits without waiting for the threads of the dask client
    try:
        if check is not None:
            end(_check(schedule, Path(str(out)), check, where), at_once=at_once)
        report = experiment.run_experiment(schedule, str(out), backend=where, shard=part, retry=retry)
    except InputError as error:
        click.echo(f"ltr-duel: {error}", err=True)
        end(2, at_once=at_once)
    _print(report, Path(str(out)))
    if report.interrupted:
        code, word = interrupted()
        click.echo(f"ltr-duel: {word}", err=True)
        end(code, at_once=at_once)
    end(1 if report.failed else 0, at_once=at_once)


def _require_own(file: experiment.SpecFile, folder: Path) -> None:
    """Raise `InputError` if a folder contains the results of other experiments, and none of this one."""
    own, names = file.spec.name or file.path.stem, list[str]()
    with suppress(InputError):  # it is no store, or a file is damaged and will be written again
        names = experiment.read_status(folder).names
    if names and own not in names:
        there = f"the results of the experiment {core.errors.listed(sorted(set(names)))}, not of {own}"
        raise InputError(f"{folder}: contains {there}; give another folder")


def _shard(text: str) -> experiment.Shard:
    """Read ``i/n``."""
    number, _, parts = text.partition("/")
    if all(word.isdecimal() and len(word) < 10 for word in (number, parts)) and 1 <= int(number) <= int(parts):
        return experiment.Shard(int(number), int(parts))
    raise InputError(f"--shard must be i/n with 1 <= i <= n, for example 1/8, not '{text}'")


def _check(schedule: experiment.Schedule, out: Path, count: int, backend: experiment.Backend) -> int:
    """Repeat some runs and print the differences; return the exit code."""
    repeated, different = experiment.check_runs(schedule, out, count, backend)
    echo_lines(different)
    click.echo(f"{repeated:,} runs repeated: {f'{len(different):,} different' if different else 'all the same'}")
    return 1 if different else 0


def _print(report: experiment.Report, out: Path) -> None:
    """Print the numbers of runs done and left, and how to resume."""
    click.echo(
        f"{report.planned:,} runs planned: {report.done:,} done now, {report.already_done:,} already done"
        + (f", {report.failed:,} failed" if report.failed else "")
        + (f", {report.left:,} to do" if report.left else "")
    )
    for path in report.damaged:
        click.echo(f"{path}: damaged, so its runs count as missing; it can be removed", err=True)
    if report.failed:
        click.echo(f"for the errors: ltr-duel status {out}", err=True)
        click.echo("--retry repeats the failed runs", err=True)
    if report.left:
        click.echo("the same command resumes from here", err=True)
    elif not report.done and not report.failed:
        click.echo("nothing to do")
