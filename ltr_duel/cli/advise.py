"""``ltr-duel advise``: what to deploy for your own rankers, how sure it is, and what it costs users."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ltr_duel import advice
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import COUNT, OUT_FOLDER, PATH
from ltr_duel.cli._output import echo_lines, only_writer, print_table
from ltr_duel.cli._reading import Corpus, corpus_options
from ltr_duel.cli._words import Command, click_model_names


@click.command(cls=Command)
@click.argument("path", type=PATH)
@corpus_options
@click.option(
    "--clicks", multiple=True, default=("perfect", "navigational", "informational"), show_default=True,
    shell_complete=click_model_names,
    help="A click model, or the file of a fitted one; may be repeated: the advice is for the worst of them.",
)  # fmt: skip
@click.option("--budget", type=COUNT, required=True, help="Impressions that there are.")
@click.option("--per-day", type=click.FloatRange(1), help="Impressions of a day: also say how many days it takes.")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="How sure of the ranker named.")
@click.option("--margin", type=float, default=0.01, show_default=True, help="NDCG@10 that would not matter.")
@click.option("--sure", is_flag=True, help="First what reaches the confidence, however much users lose on the way.")
@click.option("--incumbent", metavar="RANKER", help="The ranker that users see today.  [default: the first]")
@click.option(
    "--candidate", "candidates", multiple=True, metavar="POLICY/METHOD",
    help="What could be deployed, for example rucb/team_draft; may be repeated.  [default: see docs/advice.md]",
)  # fmt: skip
@click.option("--top", type=COUNT, default=10, show_default=True, help="Documents shown.")
@click.option(
    "--simulations", type=COUNT, default=100, show_default=True,
    help="Runs behind each claim, for each click model; time is in proportion.",
)  # fmt: skip
@options.batch
@options.checked_plugin
@options.seed
@options.jobs
@click.option("--out", type=OUT_FOLDER, help="A folder for advice.html, advice.json, advice.png and live.toml.")
@options.wide
def command(
    path: Path, corpus: Corpus, per_day: float | None, sure: bool, jobs: int, out: Path | None, **question: Any
) -> None:
    """Say what to deploy for rankers, by default the features, of the corpus at PATH.

    Simulated users try policies and comparison methods. Printed are what to deploy, with which probability it names
    the best ranker by the budget, when one knows, and what users lose on the way. With --out there is also a page, its
    numbers as JSON, and live.toml, the settings that 'ltr-duel serve' takes.
    """
    only_writer(out)
    found = advice.advise(corpus.rankings(path, jobs), aim="sure" if sure else "least loss", jobs=jobs, **question)
    saved = found.save(out) if out is not None else []  # first: a reader such as head ends the printing
    lines = found.lines()
    echo_lines(lines[: advice.ANSWER])
    if per_day:
        click.echo(_in_days(found, per_day))
    if found.rows:
        click.echo()
        print_table(found.table())
        measure = found.settings["measure"]
        click.echo(
            f"lost on the way, regret, lost after: {measure} per impression, against showing the best ranker to"
            " everybody: of the lists that users see, of the rankers that are compared, and of the ranker that is named"
            " at the end; largest loss: on the way and after, in the click model in which the sum is largest\n"
        )
    echo_lines(lines[advice.ANSWER :])
    if saved:
        click.echo("\n" + ", ".join(map(str, saved)))


def _in_days(found: advice.Advice, per_day: float) -> str:
    """Return how long the budget lasts, and when the confidence is reached."""

    def days(impressions: int) -> str:
        number = f"{impressions / per_day:,.1f}".removesuffix(".0")
        return f"{number if impressions > per_day / 20 else 'less than 0.1'} day{'s' * (number != '1')}"

    reached = found.deploy.worst.sure_at if found.deploy else None
    soon = ""
    if reached and reached.value:
        longer = " or longer" if reached.high is None else ""
        soon = f", and {100 * found.settings['confidence']:g}% takes {days(reached.value)}{longer}"
    return f"At {per_day:,.0f} impressions a day the budget lasts {days(found.settings['budget'])}{soon}."
