"""``ltr-duel logs``: click logs of real searches, or simulated ones."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ltr_duel.cli._options import (
    COUNT,
    OUT_FILE,
    ROWS,
    corpus_at,
    jobs_option,
    plugin_option,
    print_table,
    rankers_option,
    rankings_of,
    seed_option,
)
from ltr_duel.cli._reading import Reading, reading_options
from ltr_duel.cli._words import click_model_names, method_names

if TYPE_CHECKING:
    from ltr_duel.logs import ClickLog, LogComparison

_log = click.argument("file", metavar="LOG", type=click.Path(path_type=Path))
_format = click.option(
    "--format", "kind", default="", help="jsonl, csv, parquet, yandex or ubi, if the name does not say."
)
_skip = click.option("--skip-bad", type=ROWS, default=0, show_default=True, help="Bad lines to pass over, and count.")
_SOURCES = (
    click.argument("file", metavar="[LOG]", required=False),
    click.option("--exposures", help="Instead of a LOG: file, folder, glob or table of the lists that were shown."),
    click.option("--events", help="File, folder, glob or table of what users did with their items."),
    click.option("--source", type=click.Path(path_type=Path), help="TOML file that maps the columns of both."),
    click.option("--connect", default="", help="URL of the engine that holds the tables, as Ibis takes it."),
    click.option(
        "--outcome", default="click", show_default=True, help="click, another kind of event, value, dwell>=30."
    ),
    click.option("--within", default="", help="Such as 7d: so late events count without the id of an exposure."),
    click.option(
        "--attribute", default="last", show_default=True, help="Late events to the last, first or all exposures."
    ),
)


def _sources(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that say where a log is."""
    for option in reversed(_SOURCES):
        command = option(command)
    return command


def _opened(kind: str, skip_bad: int | None, given: dict[str, Any]) -> ClickLog:
    """Return the log that the options mean."""
    from ltr_duel.core import InputError
    from ltr_duel.logs import ClickLog

    file, exposures = given["file"], given["exposures"]
    if (file is None) == (exposures is None):
        raise InputError("give either a LOG, or --exposures with --events")
    return ClickLog(
        file or exposures,
        format=kind,
        skip_bad=skip_bad,
        events=given["events"],
        source=given["source"],
        connect=given["connect"],
        outcome=given["outcome"],
        within=given["within"],
        which=given["attribute"],
    )


@click.group()
def command() -> None:
    """Read click logs of interleaving: what is in them, who won, whether to stop, how many impressions it takes.

    A LOG is JSON lines, CSV or Parquet, by its suffix; 'logs columns' says what it holds.
    """


@command.command()
def columns() -> None:
    """List the columns of a click log."""
    from ltr_duel.logs import LOG_COLUMNS

    width = max(map(len, LOG_COLUMNS))
    for name, column in LOG_COLUMNS.items():
        click.echo(f"{name.ljust(width)}  {'needed  ' if column.needed else 'optional'}  {column.meaning}")


@command.command()
@_sources
@_format
@click.option("--planned", default="", help="even: all pairs were to be shown alike.  [default: not checked]")
@plugin_option
def check(kind: str, planned: str, **given: Any) -> None:
    """Say what is in a LOG, what is wrong, by line, and whether the experiment is sound.

    Exit code 1 if a line cannot be used or a check fails.
    """
    from ltr_duel.logs import check_log, describe_log, finding_lines, log_lines

    log = _opened(kind, None, given)
    facts = describe_log(log)
    for line in log_lines(facts):
        click.echo(line)
    found = check_log(log, planned=planned) if facts.rankers else []
    if found:
        click.echo("is the experiment sound?")
    for line in finding_lines(found):
        click.echo(f"  {line}")
    if facts.bad or any(one.verdict == "fails" for one in found):
        sys.exit(1)


@command.command()
@_sources
@_format
@_skip
@click.option("--cluster", default="", help="user, query, both or impression.  [default: user, or query without users]")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Of the intervals.")
@click.option("--stop-at", type=float, help="Say whether to stop, with this confidence however often one looks.")
@click.option("--margin", type=float, default=0.0, help="With --stop-at: a mean outcome that would not matter.")
@click.option("--any-time", is_flag=True, help="With --stop-at: decide within a week, too, after two weeks of data.")
@click.option("--looks", "named", help="With --stop-at: days of the only looks, named beforehand, such as 7,14,28.")
@click.option("--ranker", "rankers", multiple=True, help="A ranker of the experiment, others are bad; repeatable.")
@click.option("--bootstrap", type=ROWS, default=1000, show_default=True, help="Draws of clusters; 0 for none.")
@click.option("--guardrail", "guards", multiple=True, help="Another outcome that must not get worse; repeatable.")
@click.option("--guardrail-margin", type=float, default=0.01, show_default=True, help="By how much it may be worse.")
@click.option(
    "--checks/--no-checks", default=True, show_default=True, help="Name the checks of 'logs check' that fail."
)
@click.option("--rows", type=ROWS, default=10, show_default=True, help="Pairs to list.")
@click.option("--out", type=OUT_FILE, help="Preference matrix to write (.parquet, .csv).")
@click.option("--report", type=OUT_FILE, help="One-page report to write (.html).")
@click.option("--plot", type=OUT_FILE, help="Picture over time to write (.png, .svg, .pdf).")
@plugin_option
@seed_option
def compare(
    kind: str,
    skip_bad: int,
    cluster: str,
    confidence: float,
    stop_at: float | None,
    margin: float,
    any_time: bool,
    named: str | None,
    rankers: tuple[str, ...],
    bootstrap: int,
    guards: tuple[str, ...],
    guardrail_margin: float,
    checks: bool,
    rows: int,
    out: Path | None,
    report: Path | None,
    plot: Path | None,
    seed: int,
    **given: Any,
) -> None:
    """Say of each pair of rankers in LOG who won, how sure that is, and, with --stop-at, whether to stop."""
    from ltr_duel.analysis import save_figure
    from ltr_duel.logs import (
        check_log,
        compare_log,
        comparison_lines,
        comparison_table,
        finding_lines,
        guardrail_lines,
        guardrails,
        look_at_days,
        named_looks_sentence,
        named_looks_table,
        plot_comparison,
        save_comparison,
        stopping_decisions,
        stopping_sentence,
        stopping_table,
    )
    from ltr_duel.preferences import save_preferences

    log = _opened(kind, skip_bad, given)
    looks = report is not None or plot is not None or stop_at is not None
    found = compare_log(
        log, cluster=cluster, confidence=confidence, rankers=rankers, bootstrap=bootstrap, seed=seed, looks=looks
    )
    always = stop_at if stop_at is not None else confidence
    decisions = stopping_decisions(found, always, margin=margin)
    failures = finding_lines(check_log(log, rankers), only_failures=True) if checks else []
    for line in (*comparison_lines(found), *failures):
        click.echo(line)
    click.echo()
    print_table(comparison_table(found, rows))
    for guard in guards:
        other = compare_log(
            _opened(kind, skip_bad, given | {"outcome": guard}),
            cluster=found.cluster,
            rankers=found.names,
            bootstrap=0,
            looks=False,
        )
        for line in guardrail_lines(guardrails(found, other, guard, margin=guardrail_margin, confidence=confidence)):
            click.echo(line)
    if named is not None:
        days = _days(named, stop_at, found)
        planned = look_at_days(log, days, always, cluster=found.cluster, rankers=rankers)
        click.echo()
        print_table(named_looks_table(planned))
        click.echo(named_looks_sentence(planned, days, found.names))
    elif stop_at is not None:
        click.echo()
        print_table(stopping_table(decisions, rows))
        click.echo(stopping_sentence(found, decisions, margin, any_time=any_time))
    if out is not None:
        save_preferences(found.preferences, out)
        click.echo(f"{out}")
    if report is not None:
        save_comparison(found, report, confidence=always, margin=margin, any_time=any_time)
        click.echo(f"{report}")
    if plot is not None:
        save_figure(plot_comparison(found, confidence=always, margin=margin), plot)
        click.echo(f"{plot}")


def _days(words: str, stop_at: float | None, found: LogComparison) -> list[float]:
    """Return the days of the looks that a team named."""
    from ltr_duel.core import InputError

    if stop_at is None:
        raise InputError("--looks goes with --stop-at")
    if "policies" in found.provenance:
        raise InputError("--looks is for rankers that outcomes did not choose; --stop-at alone holds for this log")
    try:
        return [float(word) for word in words.split(",")]
    except ValueError:
        raise InputError(f"--looks takes days such as 7,14,28, not '{words}'") from None


@command.command()
@click.argument("file", metavar="[LOG]", type=click.Path(path_type=Path), required=False)
@_format
@_skip
@click.option("--cluster", default="", help="user, query, both or impression.  [default: user, or query without users]")
@click.option("--live", type=click.Path(path_type=Path), help="Instead of a LOG: simulated users of this corpus.")
@reading_options
@rankers_option
@click.option(
    "--clicks", default="navigational", show_default=True, shell_complete=click_model_names, help="Of simulated users."
)
@click.option(
    "--method", default="team_draft", show_default=True, shell_complete=method_names, help="How rankers are compared."
)
@click.option("--outcome", default="", show_default="of the method", help="Rule by which clicks name a winner.")
@click.option("--top", type=COUNT, default=10, show_default=True, help="Documents shown to them.")
@click.option("--comparisons", type=COUNT, default=20_000, show_default=True, help="Simulated, of each pair.")
@click.option("--effect", "effects", type=float, multiple=True, help="Mean outcome to find; repeatable.")
@click.option("--power", type=float, default=0.8, show_default=True, help="Chance to find it.")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Of the test; the error is the rest.")
@click.option("--pair", nargs=2, default=("", ""), help="Two rankers.  [default: the largest effect, shrunk]")
@click.option("--per-day", type=click.FloatRange(1), help="Impressions of a day: the sequential test looks daily.")
@click.option("--days", type=click.FloatRange(1), help="With --per-day: say what so many days would find.")
@click.option("--plot", type=OUT_FILE, help="Curve to write (.png, .svg, .pdf).")
@plugin_option
@seed_option
@jobs_option
def power(
    file: Path | None,
    kind: str,
    skip_bad: int,
    cluster: str,
    live: Path | None,
    words: tuple[str, ...],
    reading: Reading,
    clicks: str,
    method: str,
    outcome: str,
    top: int,
    comparisons: int,
    effects: tuple[float, ...],
    power: float,
    confidence: float,
    pair: tuple[str, str],
    per_day: float | None,
    days: float | None,
    plot: Path | None,
    seed: int,
    jobs: int,
) -> None:
    """Say how many impressions it takes to find an effect, by a fixed test and by one that may be looked at always.

    Impressions are those of the whole experiment, and all pairs of its rankers share the error. How much outcomes vary
    is taken from one pair of LOG, or from simulated users of the rankers of a corpus.
    """
    from ltr_duel.analysis import save_figure
    from ltr_duel.core import InputError
    from ltr_duel.interleaving import METHODS
    from ltr_duel.logs import (
        ClickLog,
        compare_log,
        plan_impressions,
        plans_table,
        plot_plans,
        smallest_effects,
        spread_of,
        spreads_in_log,
        spreads_in_matrix,
    )
    from ltr_duel.preferences import estimate_preferences

    if (file is None) == (live is None):
        raise InputError("give either a LOG, or --live with a corpus")
    if days is not None and per_day is None:
        raise InputError("--days goes with --per-day")
    if live is None:
        log = ClickLog(str(file), format=kind, skip_bad=skip_bad)
        found = compare_log(log, cluster=cluster, bootstrap=0, looks=False)
        spreads, rankers = spreads_in_log(found), len(found.names)
        of = f"{found.impressions:,} impressions of {file}"
    else:
        rankings = rankings_of(corpus_at(live, words, reading), words, seed=seed, drop_constant=True, jobs=jobs)
        matrix = estimate_preferences(
            rankings,
            clicks=clicks,
            method=method,
            outcome=outcome or METHODS.configure(method).component.outcomes[0],  # the rule of logs
            comparisons=comparisons,
            variance_reduction="none",
            top=top,
            seed=seed,
            jobs=jobs,
        )
        spreads, rankers = spreads_in_matrix(matrix), len(matrix)
        of = f"simulated users ({clicks}), {method}, {top} documents"
    spread, tests = spread_of(spreads, pair), rankers * (rankers - 1) // 2
    click.echo(f"from {of}: {spread.first} against {spread.second}, mean outcome {spread.effect:+.4f} (shrunk),")
    click.echo(
        f"mean square {spread.square:.4f}, clustering multiplies the variance by {spread.design:.3f},"
        f" {spread.each:.2f} impressions of all pairs for one of this pair"
    )
    wanted = effects or sorted({0.01, 0.02, 0.05, 0.1, *([abs(spread.effect)] if abs(spread.effect) >= 0.001 else [])})
    settings: dict[str, Any] = {"power": power, "confidence": confidence, "tests": tests, "seed": seed}
    settings["every"] = per_day or 0.0
    plans = plan_impressions(spread, wanted, **settings)
    shared = f", shared by {tests} pairs" if tests > 1 else ""
    looks = "a look a day" if per_day else "a look at any time"
    click.echo(f"impressions of the experiment for power {power:g} at confidence {confidence:g}{shared}; {looks}:")
    print_table(plans_table(plans))
    if per_day and days:
        fixed, sequential = smallest_effects(spread, per_day * days, **settings)
        click.echo(
            f"{days:g} days of {per_day:,.0f} impressions find a mean outcome of {fixed:.3g} by the fixed test,"
            f" of {sequential:.3g} by the sequential one"
        )
    if plot is not None:
        save_figure(plot_plans(plans), plot)
        click.echo(f"{plot}")


@command.command()
@_log
@click.argument("first")
@click.argument("second")
@_format
@_skip
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Of the interval.")
@click.option("--doubly-robust", "model", metavar="MODEL", default="", help="With this click model, fitted to LOG.")
def weigh(file: Path, first: str, second: str, kind: str, skip_bad: int, confidence: float, model: str) -> None:
    """Compare rankers FIRST and SECOND by importance weights, though LOG may never have shown them together.

    LOG must be of probabilistic interleaving, with rankings or page tokens. Exit code 1 if the weights say nothing.
    """
    from ltr_duel.logs import ClickLog, weigh_outcomes, weighted_lines

    log = ClickLog(file, format=kind, skip_bad=skip_bad)
    found = weigh_outcomes(log, first, second, confidence=confidence, click_model=model)
    for line in weighted_lines(found):
        click.echo(line)
    if found.refused:
        sys.exit(1)
