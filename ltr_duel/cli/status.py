"""``ltr-duel status``: report how far an experiment is."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from ltr_duel import experiment
from ltr_duel.cli._options import PATH
from ltr_duel.cli._output import echo_lines
from ltr_duel.cli._words import Command


@click.command(cls=Command)
@click.argument("folder", type=PATH)
@click.option("--traceback", is_flag=True, help="Print the whole traceback of each failed run.")
def command(folder: Path, traceback: bool) -> None:
    """Report how many runs of the experiments in FOLDER are done, running, failed or waiting, and the time left.

    The exit code is 1 if runs failed.
    """
    status = experiment.read_status(folder)
    failures, waiting = len(status.failures), status.left - status.running
    counts = f"{status.done:,} done, {status.running:,} running, {failures:,} failed, {waiting:,} waiting"
    echo_lines([f"{folder}: {', '.join(status.names)}", f"{status.planned:,} runs: {counts}"])
    if status.left:
        left = "unknown" if status.seconds_left is None else f"about {experiment.duration(status.seconds_left)}"
        stopped = " after a restart: no process is running it" * (not status.processes)
        click.echo(f"time left: {left}{stopped}")
    for claim in status.processes:
        since, process = experiment.duration(time.time() - claim["began"]), claim["process"]
        click.echo(f"running: process {process['pid']} on {process['host']} for {since} ({claim['backend']})")
    for failure in status.failures if traceback else status.failures[:10]:
        run = f"{failure['policy']} on {failure['problem']}, horizon {failure['horizon']:,}"
        click.echo(f"failed: {run}, repetition {failure['repetition']}: {failure['error']}")
        echo_lines([failure["traceback"]] * traceback)
    if failures > 10 and not traceback:
        click.echo(f"... and {failures - 10} more (--traceback prints all)")
    echo_lines(f"{path}: damaged, so its runs count as missing; it can be removed" for path in status.damaged)
    echo_lines(f"{path}: missing; 'ltr-duel run' with the experiment's file writes it again" for path in status.lost)
    if failures:
        sys.exit(1)
