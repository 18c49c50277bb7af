"""``ltr-duel logs compare``: report the winner of each pair of rankers, its certainty, and whether to stop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ltr_duel import analysis, logs, preferences
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import (
    OUT_FIGURE,
    OUT_FILE,
    OUTCOMES,
    ROWS,
    format_option,
    opened,
    skip_option,
    sources,
)
from ltr_duel.cli._output import echo_lines, print_rest, print_table
from ltr_duel.cli._words import Command
from ltr_duel.core import InputError, errors


@click.command(cls=Command)
@sources
@format_option
@skip_option
@click.option(
    "--cluster", default="",
    help="Clusters of standard errors: user, query, both or impression.  [default: user, else query]",
)  # fmt: skip
@click.option(
    "--confidence", type=float, default=0.95, show_default=True,
    help="Confidence of the intervals; --stop-at replaces it.",
)  # fmt: skip
@click.option("--stop-at", type=float, help="Report whether to stop; this confidence holds for all looks together.")
@click.option("--margin", type=float, default=0.0, help="With --stop-at: largest mean outcome that is negligible.")
@click.option(
    "--any-time", is_flag=True,
    help="With --stop-at: allow decisions on any day.  [default: from two weeks on, only at whole weeks]",
)  # fmt: skip
@click.option(
    "--ranker", "rankers", multiple=True,
    help="A ranker of the experiment; rows with other rankers count as bad lines. Repeatable.",
)  # fmt: skip
@click.option(
    "--per", type=click.Choice(["impression", "user"]), default="impression", show_default=True,
    help="Unit that counts once; with user, the mean is the share of users won minus the share lost.",
)  # fmt: skip
@click.option(
    "--outcome", "outcomes", multiple=True, default=("click",), show_default=True, help=f"{OUTCOMES}; repeatable."
)
@click.option("--primary", default="", help="The outcome that decides.  [default: the first; others are secondary]")
@click.option("--guardrail", "guards", multiple=True, help="Another outcome that must not get worse; repeatable.")
@click.option(
    "--guardrail-margin", type=float, default=0.01, show_default=True, help="Largest accepted loss of a guardrail."
)
@click.option("--checks/--no-checks", default=True, show_default=True, help="Report failed checks of 'logs check'.")
@click.option(
    "--by", "ways", multiple=True,
    help="Also compare within parts of the log: day, week, new, heavy or a column; repeatable.",
)  # fmt: skip
@click.option("--rows", type=ROWS, default=10, show_default=True, help="Number of pairs to list.")
@click.option("--out", type=OUT_FILE, help="Preference matrix to write (.parquet, .csv).")
@click.option("--report", type=OUT_FILE, help="One-page report to write (.html).")
@click.option("--plot", type=OUT_FIGURE, help="Figure over time to write (.png, .svg, .pdf).")
@options.plugin
@options.wide
def compare(
    kind: str, skip_bad: int, cluster: str, confidence: float, stop_at: float | None, margin: float, any_time: bool,
    rankers: tuple[str, ...], outcomes: tuple[str, ...], primary: str, guards: tuple[str, ...], guardrail_margin: float,
    checks: bool, ways: tuple[str, ...], per: str, rows: int, out: Path | None, report: Path | None, plot: Path | None,
    **given: Any,
) -> None:  # fmt: skip
    """For each pair of rankers in LOG, report the winner, its certainty and, with --stop-at, whether to stop."""
    always = stop_at is not None
    if per == "user" and (always or report or plot or guards or ways or len(outcomes) > 1):
        raise InputError(
            "--per user applies to one outcome at one look, and cannot be combined with --stop-at, --report, --plot,"
            " --guardrail, --by or further outcomes"
        )
    if primary:
        errors.require_one_of("--outcome", primary, outcomes)
    primary = primary or outcomes[0]
    given |= {"context": [way for way in ways if way not in logs.USUAL], "kind": kind, "skip_bad": skip_bad}
    log = opened(primary, given)
    level = confidence if stop_at is None else stop_at
    found = logs.compare_log(
        log,
        cluster=cluster,
        confidence=level,
        rankers=rankers,
        looks=report is not None or plot is not None or always,
        per=per,
    )
    others = {
        name: logs.compare_log(opened(name, given), cluster=found.cluster, rankers=found.names, looks=False)
        for name in dict.fromkeys((*outcomes, *guards))
        if name != primary
    }
    beside = {name: others[name] for name in outcomes if name in others}
    evidence = logs.Evidence(
        found,
        level,
        logs.stopping_decisions(found, level, margin=margin) if always else None,
        margin,
        any_time,
        logs.check_log(log, rankers) if checks else None,
        _guarded(found, others, guards, guardrail_margin, always),
        [
            *([logs.secondary(found, beside, confidence=found.confidence, any_time=always)] if beside else []),
            *_parts(log, found, ways, rankers, always, report is not None),
        ],
    )
    written = _written(evidence, out, report, plot, stop_at, margin)  # first, because printing may end early
    echo_lines(logs.comparison_lines(found))
    if not found.provenance["users"] and (hint := logs.user_hint(log.other_columns)):
        click.echo(f"note: {hint}")
    _print_evidence(evidence, rows)
    for path in written:
        click.echo(f"{path}")


def _written(
    evidence: logs.Evidence, out: Path | None, report: Path | None, plot: Path | None, stop_at: float | None,
    margin: float,
) -> list[Path]:  # fmt: skip
    """Write the requested files: matrix, report and plot; return their paths."""
    if out is not None:
        preferences.save_preferences(evidence.found.preferences, out)
    if report is not None:
        logs.save_comparison(evidence, report)
    if plot is not None:
        analysis.save_figure(logs.plot_comparison(evidence.found, confidence=stop_at, margin=margin), plot)
    return [path for path in (out, report, plot) if path is not None]


def _guarded(
    found: logs.LogComparison, others: dict[str, logs.LogComparison], guards: tuple[str, ...], margin: float,
    any_time: bool,
) -> list[logs.Guardrail]:  # fmt: skip
    """Return the guardrails of all pairs; the primary outcome may also be a guardrail."""
    settings: dict[str, Any] = {"margin": margin, "confidence": found.confidence, "any_time": any_time}
    return [one for name in guards for one in logs.guardrails(found, others.get(name, found), name, **settings)]


def _parts(
    log: logs.ClickLog, found: logs.LogComparison, ways: tuple[str, ...], rankers: tuple[str, ...], any_time: bool,
    page: bool,
) -> list[logs.Beside]:  # fmt: skip
    """Return the comparisons within parts of the log: the parts of --by and, for a report, the usual parts."""
    usual = logs.usual_parts(found.provenance["first"], found.provenance["last"]) if page else []
    parts = []
    for way in dict.fromkeys((*usual, *ways)):
        part = logs.sliced(log, found, way, rankers=rankers, confidence=found.confidence, any_time=any_time)
        if part is not None:
            parts.append(part)
        elif way in ways:
            click.echo(f"--by {way}: the log has only one part")
    return parts


def _print_evidence(evidence: logs.Evidence, rows: int) -> None:
    """Print the evidence for a decision, and then the decision."""
    echo_lines(logs.finding_lines(list(evidence.findings or ()), only_failures=True))
    click.echo()
    print_table(logs.comparison_table(evidence, rows))
    print_rest(rows, len(evidence.found.pairs), "pairs")
    echo_lines([*logs.column_notes(evidence), *logs.guardrail_lines(list(evidence.guards))])
    for one in evidence.beside:
        click.echo()
        print_table(logs.beside_table(one, rows))
        echo_lines(one.lines(rows))
    if evidence.beside:
        click.echo(logs.beside_note(evidence.confidence))
    click.echo()
    echo_lines(logs.decision_of(evidence).lines)
