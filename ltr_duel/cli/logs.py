"""``ltr-duel logs``: describe, check and compare click logs of real or simulated searches."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from ltr_duel import analysis, logs, preferences
from ltr_duel.cli import _options as options
from ltr_duel.cli._logs_compare import compare
from ltr_duel.cli._options import COUNT, OUT_FIGURE, OUTCOMES, PATH, format_option, opened, skip_option, sources
from ltr_duel.cli._output import echo_lines, print_table
from ltr_duel.cli._reading import Corpus, corpus_options
from ltr_duel.cli._words import Commands
from ltr_duel.core import InputError

_MORE = 1.5  # the output explains a plan above this multiple of the normal approximation


@click.group(cls=Commands)
def command() -> None:
    """Read click logs of interleaving: describe and check them, compare rankers, decide when to stop, plan impressions.

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
@click.option("--planned", default="", help="even: check that all pairs were shown equally often.  [default: no check]")
@options.checked_plugin
def check(kind: str, outcome: str, planned: str, **given: Any) -> None:
    """Describe LOG, report its errors by line, and check whether the experiment is sound.

    Exit code 1 if a line cannot be used or a check fails.
    """
    log = opened(outcome, given | {"kind": kind, "skip_bad": None})
    facts = logs.describe_log(log)
    echo_lines(logs.log_lines(facts))
    found = logs.check_log(log, planned=planned) if facts.rankers else []
    if found:
        click.echo("is the experiment sound?")
    for line in logs.finding_lines(found):
        click.echo(f"  {line}")
    if facts.bad or any(one.verdict == "fails" for one in found):
        sys.exit(1)


@command.command()
@sources
@format_option
@skip_option
@click.option(
    "--cluster", default="",
    help="Clusters of standard errors: user, query, both or impression.  [default: user, else query]",
)  # fmt: skip
@click.option("--live", type=PATH, help="Corpus for simulated users, instead of a LOG.")
@corpus_options
@options.clicks("Click model of simulated users.")
@options.method("Method of comparing rankers.", default="team_draft")
@click.option("--outcome", default="", help=f"In a LOG: {OUTCOMES}. With --live: rule that decides the winner.")
@click.option("--top", type=COUNT, default=10, show_default=True, help="Number of shown documents.")
@click.option("--comparisons", type=COUNT, default=20_000, show_default=True, help="Simulated comparisons per pair.")
@click.option("--visits", type=click.FloatRange(1), default=1.0, show_default=True, help="Visits per simulated user.")
@click.option("--heavy", type=float, default=0.5, show_default=True, help="Share of visits by the top 5 % of users.")
@click.option("--correlation", type=float, default=0.1, show_default=True, help="Correlation of a user's outcomes.")
@click.option("--effect", "effects", type=float, multiple=True, help="Mean outcome to detect; repeatable.")
@click.option("--power", type=float, default=0.8, show_default=True, help="Probability of detecting the effect.")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Confidence of the test.")
@click.option("--pair", nargs=2, default=("", ""), help="Two rankers.  [default: those with the largest shrunk effect]")
@click.option("--per-day", type=click.FloatRange(1), help="Impressions per day; looks are then daily.")
@click.option(
    "--days", type=click.FloatRange(1), help="With --per-day: print the effects that this number of days detects."
)
@click.option("--plot", type=OUT_FIGURE, help="Curve to write (.png, .svg, .pdf).")
@options.checked_plugin
@options.seed
@options.jobs
@options.wide
def power(
    kind: str, skip_bad: int, cluster: str, live: Path | None, corpus: Corpus, clicks: str, method: str, outcome: str,
    top: int, comparisons: int, visits: float, heavy: float, correlation: float, effects: tuple[float, ...],
    power: float, confidence: float, pair: tuple[str, str], per_day: float | None, days: float | None,
    plot: Path | None, seed: int, jobs: int, **given: Any,
) -> None:  # fmt: skip
    """Plan how many impressions detect an effect, by a fixed test and by a test that allows looks at any time.

    Numbers are impressions of the whole experiment, and the error probability is divided among all pairs of rankers.
    The variance of outcomes is estimated from one pair of LOG, or from simulated users of the rankers of a corpus.
    """
    source = given["source"] if given["file"] is None else None  # maps the columns of a LOG
    if [given["file"], given["exposures"] or source, live].count(None) != 2:
        raise InputError("give either a LOG, or --live with a corpus, or --exposures with --events, or --source")
    if live is None and (visits, heavy, correlation) != (1.0, 0.5, 0.1):
        raise InputError("--visits, --heavy and --correlation require --live: a LOG contains the visits of users")
    if days is not None and per_day is None:
        raise InputError("--days requires --per-day")
    if live is None:
        log = opened(outcome or "click", given | {"kind": kind, "skip_bad": skip_bad})
        found = logs.compare_log(log, cluster=cluster, looks=False)
        spreads, rankers = logs.spreads_in_log(found), len(found.names)
        of = f"{found.impressions:,} impressions of {log.path}"
    else:
        rankings = corpus.rankings(live, jobs)
        matrix = preferences.estimate_preferences(
            rankings,
            clicks=clicks,
            method=method,
            outcome=outcome,
            comparisons=comparisons,
            variance_reduction="none",
            top=top,
            seed=seed,
            jobs=jobs,
        )
        spreads = logs.spreads_in_matrix(matrix, visits, heavy=heavy, correlation=correlation)
        rankers = len(matrix)
        of = f"simulated users ({clicks}), {method}, {top} documents"
    spread, tests = logs.spread_of(spreads, pair), rankers * (rankers - 1) // 2
    usual = {0.01, 0.02, 0.05, 0.1, *([abs(spread.effect)] if abs(spread.effect) >= 0.001 else [])}
    possible = sorted(one for one in usual if one <= max(spread.largest, abs(spread.effect)))
    wanted = effects or possible or [spread.largest]
    settings: dict[str, Any] = {"power": power, "confidence": confidence, "tests": tests, "seed": seed}
    settings["every"] = per_day or 0.0
    plans = logs.plan_impressions(spread, wanted, **settings)
    shared, one_pair = (f", shared by {tests} pairs", " of one pair") if tests > 1 else ("", "")
    looks = "a look a day" if per_day else "looks at any time"
    plan = next((one for one in plans if one.effect == abs(spread.effect)), plans[-1])
    ahead, behind = (spread.first, spread.second)[:: 1 if spread.effect >= 0 else -1]
    amounts = logs.plans_table([plan])
    leads = f"{ahead} is ahead of {behind} with a mean outcome of {abs(spread.effect):.4f} (shrunk towards 0)"
    if abs(spread.effect) < 0.00005:  # printed as 0
        leads = "no ranker is clearly ahead (the estimate shrinks to 0)"
        if not effects:
            leads += f", so the plan is for an effect of {plan.effect:g}; name yours with --effect"
    click.echo(
        f"To find a mean outcome of {plan.effect:.4g}{one_pair} with power {power:g} at confidence"
        f" {confidence:g}{shared}, plan for {amounts['fixed test'].item()} impressions and one look at the end,\nor for"
        f" {amounts['sequential, requested power'].item()} with {looks}"
        f" ({amounts['sequential, mean'].item()} on average, because this test may stop early).\n"
        f"According to {of}, {leads}.\n"
        f"Outcomes have a mean square of {spread.square:.4f}; clustering multiplies the variance by"
        f" {'at most ' * (live is None and spread.design > 1)}{spread.design:.3f}"
        + (f"; one impression in {spread.each:.4g} is of this pair.\n" if spread.each > 1 else ".\n")
    )
    who = "queries" if live is None and found.cluster == "query" else "users"
    if spread.returning and plan.fixed > _MORE * plan.by_factors:
        one = who.removesuffix("s") if who == "users" else "query"
        click.echo(
            f"By these factors alone, one look would need {plan.by_factors:,.0f} impressions. With so few {who}, most"
            f" of the plan comes from the one won and one lost {one} that the test adds as a caution.\n"
        )
    winners = []
    if tests > 1:  # with this power for each of the winner's pairs, all are found with ``power`` (union bound)
        winners = logs.plan_impressions(spread, wanted, **settings | {"power": 1 - (1 - power) / (rankers - 1)})
        amounts = logs.plans_table([one for one in winners if one.effect == plan.effect])
        click.echo(
            f"To find one ranker ahead of each of the {rankers - 1} others,"
            " if it beats each of them by this mean outcome:"
            f" {amounts['fixed test'].item()} impressions and one look,\nor"
            f" {amounts['sequential, requested power'].item()} with {looks}.\n"
        )
    if spread.returning:
        others = who + (" that" if who == "queries" else " who")
        click.echo(f"Plans are for other {others} come as often as these: {spread.how_often}.")
    for note in found.warnings if live is None else ():
        if note.startswith("the errors rest on few clusters"):
            click.echo(
                f"note: {note}. The factor by which clustering multiplies the variance is based on the same clusters."
                " The plan uses the upper end of the factor's 80% interval, so the plan is probably too long."
            )
    if winners:
        click.echo("One pair, named beforehand:")
    print_table(logs.plans_table(plans))
    if winners:
        click.echo(f"One ranker ahead of each of the {rankers - 1} others by this effect:")
        print_table(logs.plans_table(winners).drop(columns="sequential, mean"))  # which is for one pair only
    if live is None and found.cluster == "query" and spread.returning:
        least = logs.least_effect(spread, found.impressions, power=power, confidence=confidence, tests=tests)
        click.echo(
            f"No user is known, so errors are by query, and plans are for new queries with about {spread.visits:,.0f}"
            f" impressions of the pair each:\nfurther impressions of the queries in this log cannot detect a mean"
            f" outcome below {least:.2g}."
        )
    if per_day and days:
        fixed, sequential = logs.smallest_effects(spread, per_day * days, **settings)
        click.echo(
            f"{days:g} days of {per_day:,.0f} impressions detect a mean outcome of {fixed:.3g}{one_pair} by the fixed"
            f" test, of {sequential:.3g} by the sequential test, with power {power:g}"
        )
    if plot is not None:
        analysis.save_figure(logs.plot_plans(plans), plot)
        click.echo(f"{plot}")
