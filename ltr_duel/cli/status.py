"""``ltr-duel status``: report the progress of an experiment."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from ltr_duel import experiment
from ltr_duel.cli._options import PATH
from ltr_duel.cli._words import Command

_MOST = 10


@click.command(cls=Command)
@click.argument("folder", type=PATH)
@click.option("--traceback", is_flag=True, help="Print the whole traceback of each failed run.")
def command(folder: Path, traceback: bool) -> None:
    """Report how many runs of the experiments in FOLDER are done, running, failed or waiting, and the time left.

    Exit code 1 if runs failed.
    """
    status = experiment.read_status(folder)
    click.echo(f"{folder}: {', '.join(status.names)}")
    waiting = status.left - status.running
    click.echo(
        f"{status.planned:,} runs: {status.done:,} done, {status.running:,} running, {len(status.failures):,} failed,"
        f" {waiting:,} waiting"
    )
    if status.left:
        left = "unknown" if status.seconds_left is None else f"about {experiment.duration(status.seconds_left)}"
        if not status.processes:
            left += " after a restart: no process is running it"
        click.echo(f"time left: {left}")
    for claim in status.processes:
        since, process = experiment.duration(time.time() - claim["began"]), claim["process"]
        click.echo(f"running: process {process['pid']} on {process['host']} for {since} ({claim['backend']})")
    for failure in status.failures if traceback else status.failures[:_MOST]:
        where = f"{failure['policy']} on {failure['problem']}, horizon {failure['horizon']:,}"
        click.echo(f"failed: {where}, repetition {failure['repetition']}: {failure['error']}")
        if traceback and failure["traceback"]:
            click.echo(failure["traceback"])
    if len(status.failures) > _MOST and not traceback:
        click.echo(f"... and {len(status.failures) - _MOST} more (--traceback prints all)")
    for path in status.damaged:
        click.echo(f"{path}: damaged, so its runs count as missing; it can be removed")
    for path in status.lost:
        click.echo(f"{path}: missing or damaged; 'ltr-duel run' with the experiment's file writes it again")
    if status.failures:
        sys.exit(1)
