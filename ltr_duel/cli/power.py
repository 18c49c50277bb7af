"""``ltr-duel power``: how many impressions an experiment needs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ltr_duel import logs, preferences
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import OUTCOMES, PATH, format_option, opened, skip_option, sources
from ltr_duel.cli._output import print_table
from ltr_duel.cli._reading import Corpus, corpus_options
from ltr_duel.cli._words import Command
from ltr_duel.core import InputError

if TYPE_CHECKING:
    import pandas as pd

_COMPARISONS, _METHOD, _TOP = 20_000, "team_draft", 10  # of simulated users
_DECIDED = (0.1, 0.3, 0.6, 1.0)  # shares of impressions with a winner, if nothing is known
_USUAL = (0.01, 0.02, 0.05, 0.1)  # effects in the table


@click.command(cls=Command)
@sources
@format_option
@skip_option
@click.option("--outcome", default="click", show_default=True, help=f"In a LOG: {OUTCOMES}.")
@click.option("--users", type=PATH, help="Corpus for simulated users, instead of a LOG.")
@options.clicks("With --users: click model of the simulated users.")
@corpus_options
@click.option("--effect", "effects", type=float, multiple=True, help="Mean outcome to detect; repeatable.")
@click.option("--power", type=float, default=0.8, show_default=True, help="Probability of detecting the effect.")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Confidence of the test.")
@click.option("--pair", nargs=2, default=("", ""), help="Two rankers.  [default: those with the largest shrunk effect]")
@click.option("--per-day", type=click.FloatRange(1), help="Impressions per day: also print days.")
@options.checked_plugin
@options.wide
def command(
    kind: str, skip_bad: int, outcome: str, users: Path | None, clicks: str, corpus: Corpus, effects: tuple[float, ...],
    power: float, confidence: float, pair: tuple[str, str], per_day: float | None, **given: Any,
) -> None:  # fmt: skip
    """Plan how many impressions detect an effect: with one look at the end, and with looks at any time.

    Numbers are impressions of the whole experiment, and the error probability is divided among all pairs of rankers.
    How much outcomes vary is taken from a LOG, or from simulated users of the rankers of a corpus (--users), or assumed
    (only --effect).
    """
    a_log = bool(given["file"] or given["exposures"] or given["source"])
    if a_log and users is not None:
        raise InputError("give either a LOG, or --users with a corpus")
    settings: dict[str, Any] = {"power": power, "confidence": confidence}
    if not a_log and users is None:
        _print_assumed(effects, per_day, settings)
        return
    comparison = None
    if users is None:
        if len(logs.single_outcomes([outcome])) > 1:
            raise InputError(f"--outcome {outcome}: no plan for a ratio; give one of its two outcomes")
        log = opened(outcome, given | {"kind": kind, "skip_bad": skip_bad})
        comparison = logs.compare_log(log, looks=False)
        pairs, rankers = logs.pairs_in_log(comparison), len(comparison.names)
        basis = f"{comparison.impressions:,} impressions of {log.path}"
    else:
        matrix = preferences.estimate_preferences(
            corpus.rankings(users, -1), clicks=clicks, method=_METHOD, comparisons=_COMPARISONS,
            variance_reduction="none", top=_TOP,
        )  # fmt: skip
        pairs, rankers = logs.pairs_in_matrix(matrix), len(matrix)
        basis = f"simulated users ({clicks}), {_METHOD}, {_TOP} documents"
    chosen, tests = _chosen_pair(pairs, pair), rankers * (rankers - 1) // 2
    settings["tests"] = tests
    usual = sorted({x for x in (*_USUAL, round(abs(chosen.effect), 4)) if 1e-3 <= x <= chosen.largest})
    wanted = list(effects) or usual or [chosen.largest]
    plans = logs.plan_impressions(chosen, wanted, **settings)
    winners = []
    if tests > 1:  # with this power for each of the winner's pairs, all are found with ``power`` (union bound)
        winners = logs.plan_impressions(chosen, wanted, **settings | {"power": 1 - (1 - power) / (rankers - 1)})
    _print_answer(chosen, plans, winners, rankers, settings, asked=bool(effects))
    _print_basis(chosen, basis, measured=comparison is not None)
    print_table(_table(plans, winners, per_day))
    if any(plan.few_users for plan in plans):
        click.echo("at least: more may be needed, because the plan has fewer than 40 effective users.")
    if comparison is not None and chosen.size > 1:
        who = "queries" if comparison.cluster == "query" else "users"
        often = f"about {chosen.size:,.0f} impressions of the pair each"
        click.echo(f"Plans are for other {who} as frequent as these: {often}.")
    for note in comparison.warnings if comparison is not None else ():
        if note.startswith("the errors rest on few clusters"):
            click.echo(f"note: {note}. The plan uses the upper end of the 80% interval of the factor of clustering.")


def _print_assumed(effects: Sequence[float], per_day: float | None, settings: dict[str, Any]) -> None:
    """Print plans for two rankers about which nothing is known but the effect."""
    import pandas as pd

    if not effects:
        raise InputError("give a LOG, or --users with a corpus, or --exposures with --events, or an --effect")
    tables = []
    for decided in _DECIDED:
        possible = [effect for effect in effects if effect <= decided]
        if possible:
            plans = logs.plan_impressions(logs.PairVariance("a", "b", 0.0, decided), possible, **settings)
            table = _table(plans, (), per_day)
            table.insert(0, "decided", f"{decided:.0%}")
            tables.append(table)
    if not tables:
        raise InputError("an effect is a mean outcome: above 0, and at most 1")
    click.echo(
        "Impressions that show which of two rankers is better, if users come once. The answer depends on the share of"
        " impressions\nthat are decided (not tied), which a LOG or --users CORPUS can tell:\n"
    )
    print_table(pd.concat(tables))


def _print_answer(
    pair: logs.PairVariance, plans: list[logs.ImpressionPlan], winners: list[logs.ImpressionPlan], rankers: int,
    settings: dict[str, Any], *, asked: bool,
) -> None:  # fmt: skip
    """Print in words the plan of the estimated effect, else of the last effect that was asked for."""
    own = [plan for plan in plans if plan.effect == round(abs(pair.effect), 4)]
    plan = (own or plans)[-1]
    if not (own or asked):
        return
    row = _table([plan]).iloc[0]
    tests = settings["tests"]
    shared, which = (f", shared by {tests} pairs", " of one pair") if tests > 1 else ("", "")
    click.echo(
        f"{row['one look']} impressions and one look at the end, or {row['looks at any time']} with looks at any time,"
        f" find a mean outcome of {plan.effect:.4g}{which} with power {settings['power']:g} at confidence"
        f" {settings['confidence']:g}{shared}."
    )
    if winners:
        row = _table([winners[plans.index(plan)]]).iloc[0]
        click.echo(
            f"{row['one look']} impressions and one look, or {row['looks at any time']} with looks at any time, find"
            f" one ranker ahead of each of the {rankers - 1} others, if it beats each of them by this mean outcome."
        )


def _print_basis(pair: logs.PairVariance, basis: str, *, measured: bool) -> None:
    ahead, behind = (pair.first, pair.second)[:: 1 if pair.effect >= 0 else -1]
    leads = f"{ahead} is ahead of {behind} with a mean outcome of {abs(pair.effect):.4f} (shrunk towards 0)"
    if abs(pair.effect) < 0.00005:  # printed as 0
        leads = "no ranker is clearly ahead (the estimate shrinks to 0)"
    often = f"; one impression in {pair.each:.4g} is of this pair" if pair.each > 1 else ""
    most = "at most " * (measured and pair.design > 1)
    click.echo(
        f"According to {basis}, {leads}.\nOutcomes have a mean square of {pair.square:.4f}; clustering multiplies the"
        f" variance by {most}{pair.design:.3f}{often}.\n"
    )


def _chosen_pair(pairs: Sequence[logs.PairVariance], names: tuple[str, str]) -> logs.PairVariance:
    """Return the pair of two rankers, in either order; the first pair if the names are empty."""
    for pair in pairs:
        if set(names) in ({""}, {pair.first, pair.second}):
            return pair
    some = ", ".join(f"{pair.first} {pair.second}" for pair in pairs[:10])
    raise InputError(f"{names[0]} against {names[1]}: no such pair with outcomes (there are {some})")


def _table(
    plans: Sequence[logs.ImpressionPlan], winners: Sequence[logs.ImpressionPlan] = (), per_day: float | None = None
) -> pd.DataFrame:
    """Return the plans of one pair and of a winner against all others as a table of formatted strings."""

    def words(plan: logs.ImpressionPlan, number: float) -> str:
        if math.isinf(number):
            return "too many"
        days = "" if per_day is None else f" ({math.ceil(number / per_day):,} days)"
        return f"{'at least ' * plan.few_users}{math.ceil(number - 1e-6):,}{days}"

    import pandas as pd

    rows = []
    for k, plan in enumerate(plans):
        row = {"effect": f"{plan.effect:.4g}", "one look": words(plan, plan.fixed)}
        row["looks at any time"] = words(plan, plan.sequential)
        if winners:
            row["a winner, one look"] = words(winners[k], winners[k].fixed)
            row["a winner, any time"] = words(winners[k], winners[k].sequential)
        rows.append(row)
    return pd.DataFrame(rows)
