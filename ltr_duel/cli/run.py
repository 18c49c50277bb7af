"""``ltr-duel run``: run an experiment from a TOML file, with results in a folder."""

from __future__ import annotations

import re
from pathlib import Path

import click

from ltr_duel import core, experiment
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import CONTINUED_FOLDER, COUNT, PATH, option
from ltr_duel.cli._output import echo_lines, end, print_note
from ltr_duel.cli._signals import interruption
from ltr_duel.cli._words import Command
from ltr_duel.core import InputError


def _shard(context: click.Context, param: click.Parameter, text: str | None) -> experiment.Shard | None:
    match = re.fullmatch(r"(\d{1,9})/(\d{1,9})", text or "")
    if match and 1 <= int(match[1]) <= int(match[2]):
        return experiment.Shard(int(match[1]), int(match[2]))
    if text is not None:
        raise InputError(f"--shard must be i/n with 1 <= i <= n, for example 1/8, not '{text}'")
    return None


@click.command(cls=Command)
@click.argument("spec", type=PATH)
@click.option("-o", "--out", type=CONTINUED_FOLDER, help="Folder of results, which are continued.")
@click.option("--dry-run", is_flag=True, help="Only print the schedule: runs, duels, estimated time.")
@click.option("--check", type=COUNT, help="Only repeat this many finished runs, and compare them with the stored ones.")
@option("--backend", default="threads", help="threads, loky (processes) or dask (a cluster).")
@options.jobs
@click.option("--scheduler", help="Address of a dask scheduler, tcp://host:port; by default a new one is started.")
@click.option("--shard", callback=_shard, help="Run only part i of n of the schedule, written i/n, for array jobs.")
@click.option("--retry", is_flag=True, help="Repeat failed runs.")
@options.plugins
def command(
    spec: Path, out: Path | None, dry_run: bool, check: int | None, backend: str, jobs: int, scheduler: str | None,
    shard: experiment.Shard | None, retry: bool, plugins: list[core.plugins.Plugin],
) -> None:  # fmt: skip
    """Run the experiment that the file SPEC describes, except for runs whose results exist already.

    Exit code: 0 if all runs are done, 1 if some failed or differ (--check), 2 for invalid input, 130 or 143 if stopped.
    """
    executor = experiment.Backend(backend, jobs, scheduler)
    experiment.check_backend(executor)
    if out is None and not dry_run:
        raise InputError("give --out DIR, the folder of results (or --dry-run)")
    file = experiment.read_spec(spec, plugins=[plugin.path for plugin in plugins])
    schedule = experiment.make_schedule(file, jobs=jobs, estimate=not dry_run)
    if dry_run or out is None:
        echo_lines(experiment.print_estimate(schedule, shard, out, executor))
        return
    options.check_plugins(file.plugins)
    try:
        if check is not None:
            repeated, different = experiment.check_runs(schedule, out, check, executor)
            result = f"{len(different):,} different" if different else "all the same"
            echo_lines([*different, f"{repeated:,} runs repeated: {result}"])
            code = 1 if different else 0
        else:
            code = _print(
                experiment.run_experiment(schedule, str(out), backend=executor, shard=shard, retry=retry), out
            )
    except InputError as error:
        click.echo(f"ltr-duel: {error}", err=True)
        code = 2
    end(code, at_once=backend == "dask")  # the threads of the dask client would delay the end


def _print(report: experiment.Report, out: Path) -> int:
    """Print how many runs are done and left, and how to continue; return the exit code."""
    counts = f"{report.planned:,} runs planned: {report.done:,} done now, {report.already_done:,} already done"
    failed = f", {report.failed:,} failed" * bool(report.failed)
    click.echo(counts + failed + f", {report.left:,} to do" * bool(report.left))
    for path in report.damaged:
        print_note(f"{path}: damaged, so its runs count as missing; it can be removed")
    if report.failed:
        print_note(f"for the errors: ltr-duel status {out}; --retry repeats the failed runs")
    if report.left:
        print_note("the same command resumes from here")
    if not report.interrupted:
        return 1 if report.failed else 0
    code, word = interruption()
    click.echo(f"ltr-duel: {word}", err=True)
    return code
