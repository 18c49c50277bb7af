"""``ltr-duel run``: run an experiment from a TOML file, with results in a folder."""

from __future__ import annotations

from pathlib import Path

import click

from ltr_duel import core, experiment
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import CONTINUED_FOLDER, PATH
from ltr_duel.cli._output import echo_lines, end
from ltr_duel.cli._signals import interrupted
from ltr_duel.cli._words import Command
from ltr_duel.core import InputError

_MOST = 10  # number of runs to list


@click.command(cls=Command)
@click.argument("spec", type=PATH)
@click.option("--out", type=CONTINUED_FOLDER, help="The folder of results; those of the same experiment are continued.")
@click.option("--dry-run", is_flag=True, help="Only print the plan: runs, duels, estimated time and disk.")
@click.option("--backend", default="threads", show_default=True, help="threads, loky (processes) or dask (a cluster).")
@options.jobs
@click.option("--scheduler", help="Address of a dask scheduler, tcp://host:port; by default a new one is started.")
@click.option("--shard", help="Run only part i of n of the plan, written i/n, for array jobs of a batch system.")
@click.option("--retry", is_flag=True, help="Repeat failed and damaged runs; reads all existing results.")
@click.option("--time-limit", type=float, help="Seconds after which a run is killed and counts as failed.")
@options.plugins
def command(
    spec: Path, out: Path | None, dry_run: bool, backend: str, jobs: int, scheduler: str | None, shard: str | None,
    retry: bool, time_limit: float | None, plugins: tuple[core.plugins.Plugin, ...],
) -> None:  # fmt: skip
    """Run the experiment in the file SPEC, except for runs whose results exist.

    Exit code: 0 all runs are done; 1 some runs failed or some files are damaged; 2 bad input; 130 or 143 interrupted.
    """
    part = experiment.parse_shard(shard) if shard else None
    where = experiment.Backend(backend, jobs, scheduler, time_limit)
    experiment.check_backend(where)
    if out is None and not dry_run:
        raise click.UsageError("give --out DIR, the folder of results (or --dry-run)")
    file = experiment.read_spec(spec, plugins=[plugin.path for plugin in plugins])
    if out is not None:
        experiment.require_own(file, out)
    plan = experiment.make_plan(file, jobs=jobs, estimate=not dry_run)
    if dry_run:
        echo_lines(experiment.print_estimate(plan, part, out, where))
        return
    options.check_once(plan.plugins)
    at_once = backend == "dask"  # exits without waiting for the threads of the dask client
    try:
        report = experiment.run_experiment(plan, str(out), backend=where, shard=part, retry=retry)
    except InputError as error:
        click.echo(f"ltr-duel: {error}", err=True)
        end(2, at_once=at_once)
    _print(report, Path(str(out)))
    if report.interrupted:
        code, word = interrupted()
        click.echo(f"ltr-duel: {word}", err=True)
        end(code, at_once=at_once)
    end(1 if report.failed or report.damaged else 0, at_once=at_once)


def _print(report: experiment.Report, out: Path) -> None:
    """Print the numbers of runs done and left, and how to resume."""
    click.echo(
        f"{report.planned:,} runs planned: {report.done:,} done now, {report.already_done:,} already done"
        + (f", {len(report.failed):,} failed" if report.failed else "")
        + (f", {report.left:,} to do" if report.left else "")
    )
    for why in sorted(set(report.replaced.values()))[:_MOST]:
        click.echo(f"repeated: {why}", err=True)
    for why in sorted(report.damaged.values())[:_MOST]:
        click.echo(why, err=True)
    if report.failed:
        click.echo(f"for the errors: ltr-duel status {out}", err=True)
        click.echo("--retry repeats the failed runs", err=True)
    if report.damaged:
        click.echo(f"'ltr-duel verify --repair {out}' repairs these files", err=True)
    if report.left:
        click.echo("the same command resumes from here", err=True)
    elif not report.done and not report.failed and not report.damaged:
        click.echo("nothing to do")
