"""``ltr-duel advise``: recommend what to deploy for your rankers, with its reliability and its cost for users."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ltr_duel import advice
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import COUNT, PATH, Place
from ltr_duel.cli._output import echo_lines, only_writer, print_table
from ltr_duel.cli._reading import Corpus, corpus_options
from ltr_duel.cli._words import Command, click_model_names


@click.command(cls=Command)
@click.argument("path", type=PATH)
@corpus_options
@click.option(
    "--clicks", multiple=True, default=("perfect", "navigational", "informational"), show_default=True,
    shell_complete=click_model_names,
    help="A click model, or the file of a fitted model; may be repeated: the advice is for the worst model.",
)  # fmt: skip
@click.option("--budget", type=COUNT, required=True, help="Number of available impressions.")
@click.option("--per-day", type=click.FloatRange(1), help="Impressions per day: also print the number of days needed.")
@click.option(
    "--confidence", type=float, default=0.95, show_default=True, help="Required probability of a right answer."
)
@click.option("--margin", type=float, default=0.01, show_default=True, help="Largest negligible difference of NDCG@10.")
@click.option("--incumbent", metavar="RANKER", help="The ranker that users see today.  [default: the first]")
@click.option(
    "--candidate", "candidates", multiple=True, metavar="POLICY/METHOD",
    help="A candidate for deployment, for example rucb/team_draft; may be repeated.  [default: docs/own_rankers.md]",
)  # fmt: skip
@click.option("--top", type=COUNT, default=10, show_default=True, help="Number of shown documents.")
@click.option(
    "--simulations", type=COUNT, default=120, show_default=True,
    help="Runs of each of three finalists for each click model; the time grows with this number.",
)  # fmt: skip
@options.batch
@options.checked_plugin
@options.seed
@options.jobs
@click.option(
    "-o",
    "--out",
    type=Place(results=("advice.*", "live.toml")),
    help="A folder for advice.html, advice.json, advice.png and live.toml.",
)
@options.wide
def command(path: Path, corpus: Corpus, per_day: float | None, jobs: int, out: Path | None, **question: Any) -> None:
    """Recommend what to deploy for rankers, by default the features, of the corpus at PATH.

    Policies and comparison methods are tried on simulated users. The output names the policy and method to deploy, the
    probability that they find the best ranker within the budget, the impressions until the confidence is reached, and
    the loss for users until then. --out also writes a page, its numbers as JSON, and live.toml for 'ltr-duel serve'.
    """
    only_writer(out)
    found = advice.advise(corpus.rankings(path, jobs), jobs=jobs, **question)
    saved = found.save(out) if out is not None else []  # first, because printing may end early
    lines = found.lines()
    echo_lines(lines[: advice.ANSWER])
    if per_day:
        click.echo(_in_days(found, per_day))
    if found.deploy:
        click.echo()
        print_table(found.table())
        measure = found.settings["measure"]
        click.echo(
            f"with '{found.deploy.worst.users}' users; lost on the way: {measure} of the best ranker minus {measure} of"
            f" the lists that users see, per impression; lost after: the same with the ranker named at the end; loss:"
            " their sum\n"
        )
    echo_lines(lines[advice.ANSWER :])
    if saved:
        click.echo("\n" + ", ".join(map(str, saved)))


def _in_days(found: advice.Advice, per_day: float) -> str:
    """Return the days that the budget lasts, and the days until the confidence is reached."""

    def days(impressions: int) -> str:
        number = f"{impressions / per_day:,.1f}".removesuffix(".0")
        return f"{number if impressions > per_day / 20 else 'less than 0.1'} day{'s' * (number != '1')}"

    reached = found.deploy.worst.sure_at if found.deploy else None
    soon = ""
    if reached and reached.value:
        longer = " or longer" if reached.high is None else ""
        soon = f", and {100 * found.settings['confidence']:g}% confidence takes {days(reached.value)}{longer}"
    return f"At {per_day:,.0f} impressions a day the budget lasts {days(found.settings['budget'])}{soon}."
