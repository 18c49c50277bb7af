"""``ltr-duel logs``: describe, check and compare click logs of real or simulated searches."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ltr_duel import logs, preferences
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import OUT_FILE, OUTCOMES, LogOptions, log_options, option, skip_bad
from ltr_duel.cli._output import echo_lines, is_set, print_answer, print_at_end, print_table
from ltr_duel.cli._words import Commands
from ltr_duel.core import InputError

_MARGIN = 0.01  # default margin of a guardrail
_ROWS = 10  # number of pairs that a table of parts lists


@click.group(cls=Commands)
def command() -> None:
    """Read click logs of interleaving: describe and check them, compare rankers, decide when to stop.

    A LOG is a file of JSON lines, CSV or Parquet, as its suffix tells. Use 'ltr-duel logs columns' to list its columns.
    """


@command.command()
def columns() -> None:
    """List the columns that a click log can have."""
    width = max(map(len, logs.LOG_COLUMNS))
    for name, column in logs.LOG_COLUMNS.items():
        click.echo(f"{name.ljust(width)}  {'required' if column.needed else 'optional'}  {column.meaning}")


@command.command()
@log_options
@option("--outcome", default="click", help=f"{OUTCOMES}.")
@click.option("--planned", type=click.Choice(["even"]), help="Check that all pairs were shown equally often.")
@options.plugin
def check(log: LogOptions, outcome: str, planned: str | None) -> None:
    """Describe LOG, name the lines with errors, and check whether the experiment is sound.

    The exit code is 1 if a line cannot be used or a check fails.
    """
    click_log = log.open(outcome, skip_bad=None)
    facts = logs.describe_log(click_log)
    findings = logs.check_log(click_log, planned=planned or "")
    echo_lines([*facts.lines, *(f"  {line}" for line in logs.finding_lines(findings))])
    if facts.bad or any(finding.verdict == "fails" for finding in findings):
        sys.exit(1)


@command.command()
@log_options
@skip_bad
@click.option("--cluster", default="", help="user, query or impression.  [default: user, else query]")
@option("--confidence", type=float, default=0.95, help="Confidence of the intervals; --stop-at replaces it.")
@click.option("--stop-at", type=float, help="Report whether to stop; this confidence holds for all looks together.")
@click.option("--margin", type=float, default=0.0, help="With --stop-at: largest mean outcome that is negligible.")
@click.option("--ranker", "rankers", multiple=True, help="A ranker; rows with others are bad lines. Repeatable.")
@option("--outcome", "outcomes", multiple=True, default=("click",), help=f"{OUTCOMES}, a/b; the first decides.")
@click.option("--guardrail", "guards", multiple=True, metavar="NAME[:MARGIN]", help="Must not get worse.")
@click.option("--by", "divisions", multiple=True, help="Also compare parts of the log: a column, day or week.")
@click.option("--no-checks", is_flag=True, help="Decide without the checks of 'logs check'.")
@click.option("-o", "--out", type=OUT_FILE, help="Preference matrix to write (.parquet, .csv).")
@click.option("--report", type=OUT_FILE, help="One-page report to write (.html).")
@options.plugin
@options.explain
def compare(
    log: LogOptions, skip_bad: int, cluster: str, confidence: float, stop_at: float | None, margin: float,
    rankers: tuple[str, ...], outcomes: tuple[str, ...], guards: tuple[str, ...], divisions: tuple[str, ...],
    no_checks: bool, out: Path | None, report: Path | None,
) -> None:  # fmt: skip
    """Tell which ranker of LOG users prefer, and how sure this is. With --stop-at, tell whether to stop.

    With --explain, all pairs of rankers, the data and the settings are listed.
    """
    if margin and stop_at is None:
        raise InputError("--margin requires --stop-at")
    if out is not None:
        preferences.require_suffix(out)
    margins = dict(map(_guardrail, guards))
    click_log = log.open(logs.single_outcomes([*outcomes, *margins]), context=divisions, skip_bad=skip_bad)
    comparison = logs.compare_log(
        click_log, outcomes, margins, cluster=cluster, confidence=confidence if stop_at is None else stop_at,
        rankers=rankers,
    )  # fmt: skip
    decision = logs.decide(comparison, stop_at, margin=margin, checks=not no_checks)
    about = comparison.provenance
    usual = logs.usual_subgroups(about["first"], about["last"]) if report is not None else []
    parts = [logs.secondary_outcomes(comparison, stop_at=stop_at)] if comparison.secondary else []
    undivided, names = list[str](), list(dict.fromkeys((*usual, *divisions)))
    for name in names:
        part = logs.subgroups(click_log, comparison, name, stop_at=stop_at, rankers=rankers)
        parts += [part] if part is not None else []
        undivided += [f"--by {name}: the log has only one part"] if part is None and name in divisions else []
    if out is not None:
        preferences.save_preferences(comparison.preferences, out)
    if report is not None:
        logs.save_comparison(comparison, decision, report, parts=parts)
    print_at_end(path for path in (out, report) if path is not None)
    failures = logs.finding_lines(decision.findings or (), only_failures=True)
    facts = [line.removeprefix("note: ") for line in logs.comparison_lines(comparison, decision.findings or ())]
    notes = [*undivided, *failures, *decision.notes, *facts, *logs.column_notes(comparison, decision)]
    standing = "\n".join(filter(None, logs.standing_lines(comparison, decision)))
    print_answer(decision.sentence, standing, dict.fromkeys(notes))
    echo_lines(decision.guardrails)
    if is_set("explain"):
        print_table(logs.comparison_table(comparison, decision, len(comparison.pairs)))
    asked = [part for part in parts if part.by in ("outcome", *divisions)]  # the report has all parts
    for part in asked:
        print_table(logs.subgroup_table(part, _ROWS))
        echo_lines(part.lines(_ROWS))
    if asked:
        click.echo(logs.subgroup_note(decision.confidence))


def _guardrail(words: str) -> tuple[str, float]:
    name, _, margin = words.partition(":")
    return name, click.FLOAT(margin or _MARGIN)
