"""``ltr-duel power``: how many impressions an experiment needs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ltr_duel import logs, preferences
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import OUTCOMES, PATH, LogOptions, log_options, option, skip_bad
from ltr_duel.cli._output import is_set, print_answer, print_table
from ltr_duel.cli._reading import Corpus, corpus_options
from ltr_duel.cli._words import Command
from ltr_duel.core import InputError

_ALL, _EACH, _METHOD = 1_000_000, 20_000, "team_draft"  # comparisons of simulated users, of each pair at least _EACH
_DECIDED = (0.1, 0.3, 0.6, 1.0)  # shares of impressions with a winner, assumed without a log and users
_EFFECTS = (0.01, 0.02, 0.05, 0.1)  # effects in the table, beside the estimated one


@click.command(cls=Command)
@log_options
@skip_bad
@option("--outcome", default="click", help=f"In a LOG: {OUTCOMES}.")
@click.option("--users", type=PATH, help="Corpus for simulated users, instead of a LOG.")
@options.clicks
@corpus_options
@click.option("--effect", "effects", type=float, multiple=True, help="Mean outcome to detect; repeatable.")
@option("--power", type=float, default=0.8, help="Probability of detecting the effect.")
@option("--confidence", type=float, default=0.95, help="Confidence of the test.")
@options.plugin
@options.seed
@options.jobs
@options.explain
def command(
    log: LogOptions, skip_bad: int, outcome: str, users: Path | None, clicks: str, corpus: Corpus,
    effects: tuple[float, ...], power: float, confidence: float, seed: int, jobs: int,
) -> None:  # fmt: skip
    """Plan how many impressions an experiment needs to show the better ranker.

    One number holds if you look at the results once, at the end. The other number holds for looks at any time. With
    more than two rankers, one ranker must win against all others; the effect is that against its strongest rival. How
    much outcomes vary is estimated from a LOG or from simulated users (--users). With --effect alone, it is assumed.
    """
    if log.is_given and users is not None:
        raise InputError("give either a LOG, or --users with a corpus")
    notes, errors_in = list[str](), f"with power {power:g} at confidence {confidence:g}"
    if users is not None:
        rankings = corpus.rankings(users, jobs)
        number = max(_ALL // max(math.comb(len(rankings.names), 2), 1), _EACH)
        matrix = preferences.estimate_preferences(
            rankings, clicks=clicks, method=_METHOD, comparisons=number, seed=seed, jobs=jobs, variance_reduction="none"
        )
        pairs, basis = logs.pairs_in_matrix(matrix), f"simulated users ({clicks}), {_METHOD}"
    elif log.is_given:
        if len(logs.single_outcomes([outcome])) > 1:
            raise InputError(f"--outcome {outcome}: not for a ratio; give one of its two outcomes")
        comparison = logs.compare_log(log.open(outcome, skip_bad=skip_bad))
        pairs = logs.pairs_in_log(comparison)
        basis = f"{comparison.impressions:,} impressions of {comparison.provenance['log']}"
        notes = [warning for warning in comparison.warnings if warning.startswith("the errors rest on few clusters")]
    else:
        _print_assumed(effects, power=power, confidence=confidence)
        return
    chosen, others = pairs[0], len(pairs)  # the pair with the strongest rival
    own = round(max(chosen.effect, 0.0), 4)
    largest = min(pair.largest for pair in pairs)
    usual = sorted(effect for effect in {*_EFFECTS, own} if 1e-3 <= effect <= largest)
    wanted = list(effects) or usual or [largest]
    sizes = logs.required_impressions(pairs, wanted, power=power, confidence=confidence)
    size = sizes[wanted.index(own)] if own in wanted else sizes[-1]
    goal, of_all, against = "which of two rankers is better", "", ""
    rival = chosen.second
    if others > 1:
        goal, of_all, against = f"one ranker ahead of {others} others", " of all others", " against the strongest"
        rival = f"its strongest rival, {rival},"
    leads = f"{chosen.first} is ahead of {rival} by {own:.4f} (shrunk towards 0)"
    nobody = f"no ranker is clearly ahead{of_all}" + " (the estimate shrinks to 0)" * (chosen.effect == 0)
    print_answer(
        f"{_number(size, size.fixed)} impressions with one look at the end, or {_number(size, size.sequential)} with"
        f" looks at any time, show {goal}, if the mean outcome{against} is {size.effect:.4g}, {errors_in}.",
        f"According to {basis}, {leads if own else nobody}.",
        [
            *["there are too few users or queries for a close number"] * size.few_users,
            *notes,
            f"outcomes have a mean square of {chosen.square:.4f}"
            + f"; clustering multiplies the variance by {chosen.design:.3f}, because a user or query has about"
            f" {chosen.size:,.0f} impressions of a pair" * (chosen.size > 1),
        ],
    )
    if is_set("explain") or len(effects) > 1:
        _print_table([("", size) for size in sizes])


def _print_assumed(effects: Sequence[float], **settings: Any) -> None:
    rows = []
    for decided in _DECIDED:
        if possible := [effect for effect in effects if effect <= decided]:
            sizes = logs.required_impressions(logs.PairVariance("a", "b", 0.0, decided), possible, **settings)
            rows += [(f"{decided:.0%}", size) for size in sizes]
    if not rows:
        raise InputError("give a LOG, or --users with a corpus, or an --effect, a mean outcome above 0 and at most 1")
    click.echo("Impressions that show which of two rankers is better, by the share that is decided (not tied).")
    click.echo("A LOG or --users CORPUS tells this share, and how often users return; here they come once.")
    _print_table(rows)


def _number(size: logs.SampleSize, impressions: float) -> str:
    at_least = "at least " * size.few_users
    return "too many" if math.isinf(impressions) else f"{at_least}{math.ceil(impressions - 1e-6):,}"


def _print_table(rows: Sequence[tuple[str, logs.SampleSize]]) -> None:
    import pandas as pd

    columns = {
        "decided": [decided for decided, _ in rows],
        "effect": [f"{size.effect:.4g}" for _, size in rows],
        "one look": [_number(size, size.fixed) for _, size in rows],
        "looks at any time": [_number(size, size.sequential) for _, size in rows],
    }
    print_table(pd.DataFrame({name: cells for name, cells in columns.items() if any(cells)}))
