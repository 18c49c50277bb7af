"""``ltr-duel logs compare``: report the winner of each pair of rankers, its certainty, and whether to stop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ltr_duel import logs, preferences
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import OUT_FILE, OUTCOMES, format_option, opened, skip_option, sources
from ltr_duel.cli._output import echo_lines, print_table
from ltr_duel.cli._words import Command
from ltr_duel.core import InputError, progress

_MARGIN = 0.01  # of a guardrail
_ROWS = 10  # number of pairs in a printed table


@click.command(cls=Command)
@sources
@format_option
@skip_option
@click.option(
    "--cluster", default="",
    help="Clusters of standard errors: user, query or impression.  [default: user, else query]",
)  # fmt: skip
@click.option(
    "--confidence", type=float, default=0.95, show_default=True,
    help="Confidence of the intervals; --stop-at replaces it.",
)  # fmt: skip
@click.option("--stop-at", type=float, help="Report whether to stop; this confidence holds for all looks together.")
@click.option("--margin", type=float, default=0.0, help="With --stop-at: largest mean outcome that is negligible.")
@click.option(
    "--ranker", "rankers", multiple=True,
    help="A ranker of the experiment; rows with other rankers count as bad lines. Repeatable.",
)  # fmt: skip
@click.option(
    "--outcome", "outcomes", multiple=True, default=("click",), show_default=True,
    help=f"{OUTCOMES}, or a ratio such as purchase/click; repeatable: the first decides, the others are secondary.",
)  # fmt: skip
@click.option(
    "--guardrail", "guards", multiple=True, metavar="NAME[:MARGIN]",
    help=f"Another outcome that must not get worse, and the largest accepted loss ({_MARGIN}); repeatable.",
)  # fmt: skip
@click.option(
    "--by", "ways", multiple=True,
    help="Also compare within parts of the log: a column, or day or week; repeatable.",
)  # fmt: skip
@click.option("--no-checks", is_flag=True, help="Decide without the checks of 'logs check'.")
@click.option("-o", "--out", type=OUT_FILE, help="Preference matrix to write (.parquet, .csv).")
@click.option("--report", type=OUT_FILE, help="One-page report to write (.html).")
@options.plugin
@options.wide
def compare(
    kind: str, skip_bad: int, cluster: str, confidence: float, stop_at: float | None, margin: float,
    rankers: tuple[str, ...], outcomes: tuple[str, ...], guards: tuple[str, ...], ways: tuple[str, ...],
    no_checks: bool, out: Path | None, report: Path | None, **given: Any,
) -> None:  # fmt: skip
    """For each pair of rankers in LOG, report the winner, its certainty and, with --stop-at, whether to stop."""
    if margin and stop_at is None:
        raise InputError("--margin requires --stop-at")
    if out is not None:
        preferences.require_suffix(out)
    margins = dict(map(_guardrail, guards))
    singles = logs.single_outcomes([*outcomes, *margins])
    log = opened(singles, given | {"context": ways, "kind": kind, "skip_bad": skip_bad})
    comparison = logs.compare_log(
        log, outcomes, margins, cluster=cluster, confidence=confidence if stop_at is None else stop_at,
        rankers=rankers, looks=report is not None or stop_at is not None,
    )  # fmt: skip
    decision = logs.decide(comparison, stop_at, margin=margin, checks=not no_checks)
    about = comparison.provenance
    usual = logs.usual_subgroups(about["first"], about["last"]) if report is not None else []
    parts = [logs.secondary_outcomes(comparison, stop_at=stop_at)] if comparison.secondary else []
    lines = []
    chosen = list(dict.fromkeys((*usual, *ways)))
    with progress.progress_bar(iterable=chosen, desc="parts", delay=progress.QUICK, leave=False) as bar:
        for way in chosen:
            part = logs.subgroups(log, comparison, way, stop_at=stop_at, rankers=rankers)
            parts += [part] if part is not None else []
            lines += [f"--by {way}: the log has only one part"] if part is None and way in ways else []
            bar.update()
    if out is not None:  # files first, because printing may end early
        preferences.save_preferences(comparison.preferences, out)
    if report is not None:
        logs.save_comparison(comparison, decision, report, parts=parts)
    lines += logs.comparison_lines(comparison)
    echo_lines([*lines, *logs.finding_lines(decision.findings or (), only_failures=True), ""])
    print_table(logs.comparison_table(comparison, decision, _ROWS))
    more = len(comparison.pairs) - _ROWS
    rest = [f"{more:,} more pairs; --report and --out list them"] if more > 0 else []
    echo_lines([*rest, *logs.column_notes(comparison, decision), *decision.guardrails])
    printed = [part for part in parts if part.by in ("outcome", *ways)]  # the others are on the page
    for part in printed:
        click.echo()
        print_table(logs.subgroup_table(part, _ROWS))
        echo_lines(part.lines(_ROWS))
    if printed:
        click.echo(logs.subgroup_note(decision.confidence))
    echo_lines(["", *decision.notes, decision.sentence, *(path for path in (out, report) if path is not None)])


def _guardrail(words: str) -> tuple[str, float]:
    """Return the outcome and the margin of ``NAME[:MARGIN]``."""
    name, colon, margin = words.rpartition(":")
    if not colon:
        return words, _MARGIN
    try:
        return name, float(margin)
    except ValueError:
        raise InputError(f"--guardrail {words}: '{margin}' is not a number, the largest accepted loss") from None
