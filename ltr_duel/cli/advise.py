"""``ltr-duel advise``: recommend what to deploy for your rankers, with its reliability and its cost for users."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ltr_duel import advice
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import COUNT, PATH, OutputPath, option
from ltr_duel.cli._output import is_set, print_answer, print_at_end, print_table
from ltr_duel.cli._reading import Corpus, corpus_options
from ltr_duel.cli._words import Command, click_model_names

_RESULTS = OutputPath(results=("advice.*", "live.toml"))


@click.command(cls=Command)
@click.argument("path", type=PATH)
@corpus_options
@click.option(
    "--clicks", multiple=True, default=("perfect", "navigational", "informational"), show_default=True,
    shell_complete=click_model_names,
    help="A click model, or the file of a fitted model; may be repeated: the advice is for the worst model.",
)  # fmt: skip
@click.option("--budget", type=COUNT, required=True, help="Number of available impressions.")
@option("--confidence", type=float, default=0.95, help="Required probability of a right answer.")
@option("--margin", type=float, default=0.01, help="Largest negligible difference of NDCG@10.")
@click.option("--incumbent", metavar="RANKER", help="The ranker that users see today.  [default: the first]")
@click.option("--candidate", "candidates", multiple=True, metavar="POLICY/METHOD", help="A candidate; repeatable.")
@options.top
@option("--simulations", type=COUNT, default=120, help="Runs of each of three finalists for each click model.")
@options.batch
@options.plugin
@options.seed
@options.jobs
@click.option("-o", "--out", type=_RESULTS, help="Folder for advice.html, advice.json, advice.png and live.toml.")
@options.explain
def command(path: Path, corpus: Corpus, jobs: int, out: Path | None, **question: Any) -> None:
    """Recommend a policy and a comparison method for finding the best ranker of the corpus at PATH.

    Simulated users try several policies with several methods. The answer says which of them finds the best ranker
    within the budget, how reliably, and what users lose. --out writes a page, its numbers as JSON, and live.toml for
    'ltr-duel serve'.
    """
    answer = advice.advise(corpus.rankings(path, jobs), jobs=jobs, **question)
    if out is not None:
        print_at_end(answer.save(out))
    verdict, certainty, *notes = [*answer.lines(), ""]
    print_answer(verdict, certainty, notes)
    if answer.deploy and is_set("explain"):
        print_table(answer.table())
