"""``ltr-duel logs``: describe, check and compare click logs of real or simulated searches."""

from __future__ import annotations

import sys
from typing import Any

import click

from ltr_duel import logs
from ltr_duel.cli import _options as options
from ltr_duel.cli._logs_compare import compare
from ltr_duel.cli._options import OUTCOMES, format_option, opened, sources
from ltr_duel.cli._output import echo_lines
from ltr_duel.cli._words import Commands


@click.group(cls=Commands)
def command() -> None:
    """Read click logs of interleaving: describe and check them, compare rankers, decide when to stop.

    A LOG is JSON lines, CSV or Parquet, by its suffix; 'logs columns' lists its columns.
    """


command.add_command(compare)


@command.command()
def columns() -> None:
    """List the columns of a click log."""
    width = max(map(len, logs.LOG_COLUMNS))
    for name, column in logs.LOG_COLUMNS.items():
        click.echo(f"{name.ljust(width)}  {'required' if column.needed else 'optional'}  {column.meaning}")


@command.command()
@sources
@format_option
@click.option("--outcome", default="click", show_default=True, help=f"{OUTCOMES}.")
@click.option("--planned", type=click.Choice(["even"]), help="Check that all pairs were shown equally often.")
@options.checked_plugin
def check(kind: str, outcome: str, planned: str | None, **given: Any) -> None:
    """Describe LOG, report its errors by line, and check whether the experiment is sound.

    Exit code 1 if a line cannot be used or a check fails.
    """
    log = opened(outcome, given | {"kind": kind, "skip_bad": None})
    facts = logs.describe_log(log)
    echo_lines(facts.lines)
    findings = logs.check_log(log, planned=planned or "") if facts.rankers else []
    if findings:
        click.echo("is the experiment sound?")
    for line in logs.finding_lines(findings):
        click.echo(f"  {line}")
    if facts.bad or any(finding.verdict == "fails" for finding in findings):
        sys.exit(1)
