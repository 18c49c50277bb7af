"""``ltr-duel demo``: run the whole pipeline, from feature files to a regret plot."""

from __future__ import annotations

import time
from pathlib import Path

import click

from ltr_duel import analysis, bandits, data, preferences, simulation
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import COUNT, PATH, OutputPath, option
from ltr_duel.cli._output import print_answer, print_table
from ltr_duel.cli._reading import Corpus, corpus_options
from ltr_duel.cli._words import Command
from ltr_duel.core import InputError

_RESULTS = OutputPath(results=("*.parquet", "*.html", "*.png"))


@click.command(cls=Command)
@click.option("--data", "path", type=PATH, help="Feature file or folder, or qrels:FILE.  [default: a synthetic corpus]")
@option("-o", "--out", type=_RESULTS, default="demo", help="The folder to write to.")
@corpus_options
@options.clicks
@option("--comparisons", type=COUNT, default=1000, help="Comparisons for each pair.")
@options.policy(default=("rucb", "mdb"))
@options.horizon
@option("--repetitions", type=COUNT, default=10, help="Runs of each policy.")
@options.plugin
@options.seed
@options.jobs
def command(
    path: Path | None, out: Path, corpus: Corpus, clicks: str, comparisons: int, policies: tuple[str, ...],
    horizon: int, repetitions: int, seed: int, jobs: int,
) -> None:  # fmt: skip
    """Find the best ranker under simulated clicks, and measure the regret of policies that search for it.

    The command estimates which rankers of a corpus users prefer, runs policies with simulated users, and writes
    report.html, regret.png, preferences.png and Parquet files. Without --data, it uses a synthetic corpus.
    """
    if path is None and corpus.reading.is_given:
        raise InputError("options for reading feature files require --data")
    simulation.checkpoints(horizon)  # refuses a wrong horizon before the corpus is read
    for policy in policies:
        bandits.POLICIES.configure(policy)
    begin, notes = time.perf_counter(), list[str]()
    if path is None:
        path = out / "synthetic corpus.txt.gz"
        data.write_svmlight(data.make_corpus(seed=seed, name="synthetic corpus"), path)
        notes.append("This is a synthetic corpus; its features have no meaning.")
    dataset = corpus.load(path)
    click.echo(
        f"{dataset.name}: {dataset.n_queries:,} queries, {dataset.n_docs:,} documents,"
        f" {dataset.n_features or 'no'} features, grades 0..{dataset.grades - 1}"
    )
    rankings = corpus.rank(dataset, jobs=jobs)
    if rankings.left_out:
        names = ", ".join(rankings.left_out)
        constant = f"{len(rankings.left_out)} features are constant within each query"
        notes.append(f"{constant}, so they are not used as rankers: {names}.")
    click.echo(f"{len(rankings)} rankers; {comparisons:,} comparisons for each pair, {clicks} clicks ...")
    matrix = preferences.estimate_preferences(rankings, clicks=clicks, comparisons=comparisons, seed=seed, jobs=jobs)
    click.echo(f"{', '.join(policies)}: {repetitions} runs of {horizon:,} steps each, every step a simulated user ...")
    results = simulation.simulate(
        simulation.SimulatedUsers(rankings, clicks), policies, preferences=matrix, horizon=horizon,
        repetitions=repetitions, seed=seed, jobs=jobs,
    )  # fmt: skip
    title = f"{dataset.name}, {clicks} clicks: {len(rankings)} {'' if corpus.words else 'feature '}rankers"
    analysis.save_study(results, out, title=title, notes=notes)
    print_answer(*analysis.winner_lines(matrix), results.notes)
    print_table(analysis.policies_table(results))
    click.echo(f"{out / 'report.html'} and the files beside it ({time.perf_counter() - begin:.0f} s)")
