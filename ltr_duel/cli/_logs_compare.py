"""``ltr-duel logs compare``: report the winner of each pair of rankers, its certainty, and whether to stop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ltr_duel import analysis, logs, preferences
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import OUT_FIGURE, OUT_FILE, OUTCOMES, ROWS, format_option, opened, skip_option, sources
from ltr_duel.cli._output import echo_lines, print_rest, print_table
from ltr_duel.cli._words import Command
from ltr_duel.core import InputError

_MARGIN = 0.01  # of a guardrail


@click.command(cls=Command)
@sources
@format_option
@skip_option
@click.option(
    "--cluster", default="",
    help="Clusters of standard errors: user, query, both or impression.  [default: user, else query]",
)  # fmt: skip
@click.option(
    "--per", type=click.Choice(["impression", "user"]), default="impression", show_default=True,
    help="Unit that counts once; with user, the mean is the share of users won minus the share lost.",
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
    help=f"{OUTCOMES}; repeatable: the first decides, the others are secondary.",
)  # fmt: skip
@click.option(
    "--guardrail", "guards", multiple=True, metavar="NAME[:MARGIN]",
    help=f"Another outcome that must not get worse, and the largest accepted loss ({_MARGIN}); repeatable.",
)  # fmt: skip
@click.option(
    "--by", "ways", multiple=True,
    help="Also compare within parts of the log: a column, or day, week or new; repeatable.",
)  # fmt: skip
@click.option("--no-checks", is_flag=True, help="Decide without the checks of 'logs check'.")
@click.option("--rows", type=ROWS, default=10, show_default=True, help="Number of pairs to list.")
@click.option("--out", type=OUT_FILE, help="Preference matrix to write (.parquet, .csv).")
@click.option("--report", type=OUT_FILE, help="One-page report to write (.html).")
@click.option("--plot", type=OUT_FIGURE, help="Figure over time to write (.png, .svg, .pdf).")
@options.plugin
@options.wide
def compare(
    kind: str, skip_bad: int, cluster: str, per: str, confidence: float, stop_at: float | None, margin: float,
    rankers: tuple[str, ...], outcomes: tuple[str, ...], guards: tuple[str, ...], ways: tuple[str, ...],
    no_checks: bool, rows: int, out: Path | None, report: Path | None, plot: Path | None, **given: Any,
) -> None:  # fmt: skip
    """For each pair of rankers in LOG, report the winner, its certainty and, with --stop-at, whether to stop."""
    margins = dict(map(_guardrail, guards))
    given |= {"context": ways, "kind": kind, "skip_bad": skip_bad}
    settings: dict[str, Any] = {"confidence": confidence if stop_at is None else stop_at, "per": per}
    log = opened(outcomes[0], given)
    looks = report is not None or plot is not None or stop_at is not None
    found = logs.compare_log(log, cluster=cluster, rankers=rankers, looks=looks, **settings)
    others = {
        name: logs.compare_log(
            opened(name, given), cluster=found.cluster, rankers=found.names, looks=False, **settings
        )
        for name in dict.fromkeys((*outcomes, *margins))
        if name != outcomes[0]
    }  # fmt: skip
    decision = logs.decide(
        found,
        stop_at,
        margin=margin,
        guardrails=[
            one
            for name, lost in margins.items()
            for one in logs.guardrails(found, others.get(name, found), lost, stop_at=stop_at)
        ],
        checks=not no_checks,
    )
    beside = {name: others[name] for name in outcomes if name in others}
    parts = [logs.secondary(found, beside, stop_at=stop_at)] if beside else []
    usual = logs.usual_subgroups(found.provenance["first"], found.provenance["last"]) if report is not None else []
    single = []
    for way in dict.fromkeys((*usual, *ways)):
        part = logs.subgroups(log, found, way, stop_at=stop_at, rankers=rankers)
        parts += [part] if part is not None else []
        single += [way] if part is None and way in ways else []
    if out is not None:  # files first, because printing may end early
        preferences.save_preferences(found.preferences, out)
    if report is not None:
        logs.save_comparison(found, decision, report, parts=parts)
    if plot is not None:
        analysis.save_figure(logs.plot_comparison(found, stop_at=stop_at, margin=margin), plot)
    echo_lines([*(f"--by {way}: the log has only one part" for way in single), *logs.comparison_lines(found)])
    if not found.provenance["users"] and (hint := logs.user_hint(log.other_columns)):
        click.echo(f"note: {hint}")
    _print_evidence(found, decision, parts, rows)
    echo_lines([f"{path}" for path in (out, report, plot) if path is not None])


def _guardrail(words: str) -> tuple[str, float]:
    """Return the outcome and the margin of ``NAME[:MARGIN]``."""
    name, colon, margin = words.rpartition(":")
    if not colon:
        return words, _MARGIN
    try:
        return name, float(margin)
    except ValueError:
        raise InputError(f"--guardrail {words}: '{margin}' is not a number, the largest accepted loss") from None


def _print_evidence(
    found: logs.Comparison, decision: logs.Decision, parts: list[logs.SubgroupTable], rows: int
) -> None:
    """Print the evidence for a decision, and then the decision."""
    echo_lines(logs.finding_lines(decision.findings or (), only_failures=True))
    click.echo()
    print_table(logs.comparison_table(found, decision, rows))
    print_rest(rows, len(found.pairs), "pairs")
    echo_lines([*logs.column_notes(found, decision), *logs.guardrail_lines(decision.guardrails)])
    for one in parts:
        click.echo()
        print_table(logs.subgroup_table(one, rows))
        echo_lines(one.lines(rows))
    if parts:
        click.echo(logs.subgroup_note(decision.confidence))
    click.echo()
    echo_lines(logs.decision_lines(decision))
