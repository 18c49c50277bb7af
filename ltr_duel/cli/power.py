"""``ltr-duel power``: how many impressions an experiment needs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ltr_duel import analysis, logs, preferences
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import OUT_FIGURE, OUTCOMES, PATH, format_option, opened, skip_option, sources
from ltr_duel.cli._output import print_table
from ltr_duel.cli._reading import Corpus, corpus_options
from ltr_duel.cli._words import Command
from ltr_duel.core import InputError

_COMPARISONS, _METHOD, _TOP = 20_000, "team_draft", 10  # of simulated users
_DECIDED = (0.1, 0.3, 0.6, 1.0)  # shares of impressions with a winner, if nothing is known
_USUAL = (0.01, 0.02, 0.05, 0.1)  # effects in the table


@click.command(cls=Command)
@sources
@format_option
@skip_option
@click.option("--outcome", default="click", show_default=True, help=f"In a LOG: {OUTCOMES}.")
@click.option("--live", type=PATH, help="Corpus for simulated users, instead of a LOG.")
@options.clicks("With --live: click model of the simulated users.")
@corpus_options
@click.option("--effect", "effects", type=float, multiple=True, help="Mean outcome to detect; repeatable.")
@click.option("--power", type=float, default=0.8, show_default=True, help="Probability of detecting the effect.")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Confidence of the test.")
@click.option("--pair", nargs=2, default=("", ""), help="Two rankers.  [default: those with the largest shrunk effect]")
@click.option("--per-day", type=click.FloatRange(1), help="Impressions per day: also print days.")
@click.option("--days", type=click.FloatRange(1), help="With --per-day: print the effects that these days detect.")
@click.option("--plot", type=OUT_FIGURE, help="Curve to write (.png, .svg, .pdf).")
@options.checked_plugin
@options.wide
def command(
    kind: str, skip_bad: int, outcome: str, live: Path | None, clicks: str, corpus: Corpus, effects: tuple[float, ...],
    power: float, confidence: float, pair: tuple[str, str], per_day: float | None, days: float | None,
    plot: Path | None, **given: Any,
) -> None:  # fmt: skip
    """Plan how many impressions detect an effect: with one look at the end, and with looks at any time.

    Numbers are impressions of the whole experiment, and the error probability is divided among all pairs of rankers.
    How much outcomes vary is taken from a LOG, or from simulated users of the rankers of a corpus (--live), or assumed
    (only --effect).
    """
    if days is not None and per_day is None:
        raise InputError("--days requires --per-day")
    a_log = bool(given["file"] or given["exposures"] or given["source"])
    if a_log and live is not None:
        raise InputError("give either a LOG, or --live with a corpus")
    settings: dict[str, Any] = {"power": power, "confidence": confidence}
    if not a_log and live is None:
        if plot is not None or days is not None:
            raise InputError("--plot and --days require a LOG, or --live with a corpus")
        _print_assumed(effects, per_day, settings)
        return
    found = None
    if live is None:
        log = opened(outcome, given | {"kind": kind, "skip_bad": skip_bad})
        found = logs.compare_log(log, looks=False)
        pairs, rankers, of = (
            logs.pairs_in_log(found),
            len(found.names),
            f"{found.impressions:,} impressions of {log.path}",
        )
    else:
        matrix = preferences.estimate_preferences(
            corpus.rankings(live, -1), clicks=clicks, method=_METHOD, comparisons=_COMPARISONS,
            variance_reduction="none", top=_TOP,
        )  # fmt: skip
        pairs, rankers = logs.pairs_in_matrix(matrix), len(matrix)
        of = f"simulated users ({clicks}), {_METHOD}, {_TOP} documents"
    one, tests = logs.chosen_pair(pairs, pair), rankers * (rankers - 1) // 2
    settings["tests"] = tests
    wanted = list(effects) or sorted({x for x in (*_USUAL, round(abs(one.effect), 4)) if 1e-3 <= x <= one.largest})
    wanted = wanted or [one.largest]
    plans = logs.plan_impressions(one, wanted, **settings)
    winners = []
    if tests > 1:  # with this power for each of the winner's pairs, all are found with ``power`` (union bound)
        winners = logs.plan_impressions(one, wanted, **settings | {"power": 1 - (1 - power) / (rankers - 1)})
    _print_answer(one, plans, winners, rankers, settings)
    _print_basis(one, of, found)
    print_table(logs.plans_table(plans, winners, per_day))
    _print_limits(one, plans, found, settings)
    if per_day and days:
        fixed, always = logs.smallest_effects(one, per_day * days, **settings)
        click.echo(
            f"{days:g} days of {per_day:,.0f} impressions detect a mean outcome of {fixed:.3g} with one look, and of"
            f" {always:.3g} with looks at any time, with power {power:g}."
        )
    if plot is not None:
        analysis.save_figure(logs.plot_plans(plans), plot)
        click.echo(f"{plot}")


def _print_assumed(effects: Sequence[float], per_day: float | None, settings: dict[str, Any]) -> None:
    """Print plans for two rankers about which nothing is known but the effect."""
    import pandas as pd

    if not effects:
        raise InputError("give a LOG, or --live with a corpus, or --exposures with --events, or an --effect")
    tables = []
    for decided in _DECIDED:
        possible = [one for one in effects if one <= decided]
        if possible:
            plans = logs.plan_impressions(logs.PairVariance("a", "b", 0.0, decided), possible, **settings)
            table = logs.plans_table(plans, (), per_day)
            table.insert(0, "decided", f"{decided:.0%}")
            tables.append(table)
    if not tables:
        raise InputError("an effect is a mean outcome: above 0, and at most 1")
    click.echo(
        "Impressions that show which of two rankers is better, if users come once. The answer depends on the share of"
        " impressions\nthat are decided (not tied), which a LOG or --live CORPUS can tell:\n"
    )
    print_table(pd.concat(tables))


def _print_answer(
    one: logs.PairVariance, plans: list[logs.ImpressionPlan], winners: list[logs.ImpressionPlan], rankers: int,
    settings: dict[str, Any],
) -> None:  # fmt: skip
    plan = next((plan for plan in plans if plan.effect == round(abs(one.effect), 4)), plans[-1])
    row = logs.plans_table([plan]).iloc[0]
    tests = settings["tests"]
    shared, of_pair = (f", shared by {tests} pairs", " of one pair") if tests > 1 else ("", "")
    click.echo(
        f"{row['one look']} impressions and one look at the end, or {row['looks at any time']} with looks at any time,"
        f" find a mean outcome of {plan.effect:.4g}{of_pair} with power {settings['power']:g} at confidence"
        f" {settings['confidence']:g}{shared}."
    )
    if winners:
        row = logs.plans_table([winners[plans.index(plan)]]).iloc[0]
        click.echo(
            f"{row['one look']} impressions and one look, or {row['looks at any time']} with looks at any time, find"
            f" one ranker ahead of each of the {rankers - 1} others, if it beats each of them by this mean outcome."
        )


def _print_basis(one: logs.PairVariance, of: str, found: logs.Comparison | None) -> None:
    ahead, behind = (one.first, one.second)[:: 1 if one.effect >= 0 else -1]
    leads = f"{ahead} is ahead of {behind} with a mean outcome of {abs(one.effect):.4f} (shrunk towards 0)"
    if abs(one.effect) < 0.00005:  # printed as 0
        leads = "no ranker is clearly ahead (the estimate shrinks to 0)"
    often = f"; one impression in {one.each:.4g} is of this pair" if one.each > 1 else ""
    click.echo(
        f"According to {of}, {leads}.\nOutcomes have a mean square of {one.square:.4f}; clustering multiplies the"
        f" variance by {'at most ' * (found is not None and one.design > 1)}{one.design:.3f}{often}.\n"
    )


def _print_limits(
    one: logs.PairVariance, plans: list[logs.ImpressionPlan], found: logs.Comparison | None, settings: dict[str, Any]
) -> None:
    """Print for which users a plan is, and when it may be too short or too long."""
    if any(plan.few_users for plan in plans):
        click.echo("at least: the plan has fewer than 25 effective users; more may be needed.")
    if found is None:
        return
    who = "queries" if found.cluster == "query" else "users"
    if one.size > 1:
        click.echo(
            f"Plans are for other {who} as frequent as these: about {one.size:,.0f} impressions of the pair each."
        )
    for note in found.warnings:
        if note.startswith("the errors rest on few clusters"):
            click.echo(f"note: {note}. The plan uses the upper end of the 80% interval of the factor of clustering.")
    if found.cluster == "query" and one.size > 1:
        least = logs.least_effect(one, found.impressions, **settings)
        click.echo(
            f"No user is known, so errors are by query: further impressions of the queries in this log cannot detect a"
            f" mean outcome below {least:.2g}."
        )
