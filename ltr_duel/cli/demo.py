"""``ltr-duel demo``: run the whole pipeline, from feature files to a regret plot."""

from __future__ import annotations

import time
from pathlib import Path

import click

from ltr_duel import analysis, bandits, core, data, preferences, simulation
from ltr_duel import clicks as click_models
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import COUNT, PATH, Place
from ltr_duel.cli._output import echo_lines, only_writer
from ltr_duel.cli._reading import Corpus, corpus_options
from ltr_duel.cli._words import Command, policy_names
from ltr_duel.core import InputError, errors


@click.command(cls=Command)
@click.option(
    "--data", "path", type=PATH,
    help="A feature file or a folder, or qrels:FILE with runs as rankers; a synthetic corpus by default.",
)  # fmt: skip
@click.option(
    "-o",
    "--out",
    type=Place(results=("*.parquet", "*.html", "*.png")),
    default="demo",
    show_default=True,
    help="The folder to write to.",
)
@corpus_options
@options.clicks()
@click.option("--comparisons", type=COUNT, default=1000, show_default=True, help="Comparisons for each pair.")
@click.option(
    "--policy", "policies", multiple=True, default=("rucb", "mdb"), show_default=True, shell_complete=policy_names,
    help="A policy; may be repeated.",
)  # fmt: skip
@click.option("--horizon", type=COUNT, default=1_000_000, show_default=True, help="Steps in each run.")
@click.option("--repetitions", type=COUNT, default=10, show_default=True, help="Runs of each policy.")
@options.plugin
@options.seed
@options.jobs
def command(
    path: Path | None, out: Path, corpus: Corpus, clicks: str, comparisons: int, policies: tuple[str, ...],
    horizon: int, repetitions: int, seed: int, jobs: int,
) -> None:  # fmt: skip
    """Find the best ranker under simulated clicks, and measure the regret of policies that search for this ranker.

    Reads a corpus (without --data, a synthetic corpus of MSLR's shape, which is first written as text), builds the
    rankers (one for each feature, if none are named), estimates all pairwise preferences, runs the policies with
    simulated users, who click on one shown list at each step, and writes report.html, regret.png, preferences.png,
    preferences.parquet and results.parquet. Regret is measured by the estimated preferences.
    """
    if path is None and corpus.reading.is_given:
        raise InputError("options for reading feature files require --data")
    click_models.CLICK_MODELS.configure(clicks)
    core.parallel.checked_jobs(jobs)
    only_writer(out)
    simulation.checkpoints(horizon)
    errors.require_whole("the number of comparisons", comparisons, 2)
    errors.require_whole("the number of repetitions", repetitions, 1)
    for policy in policies:
        bandits.POLICIES.configure(policy)
    began = time.perf_counter()
    dataset = corpus.load(_synthetic_corpus(out, seed) if path is None else path)
    click.echo(
        f"{dataset.name}: {dataset.n_queries:,} queries, {dataset.n_docs:,} documents,"
        f" {dataset.n_features or 'no'} features, grades 0..{dataset.grades - 1}"
    )
    notes = ["This is a synthetic corpus; its features have no meaning."] if path is None else []
    rankings = corpus.rank(dataset, jobs=jobs)
    if rankings.left_out:
        notes.append(
            f"{len(rankings.left_out)} features are constant within each query, so they are not used as rankers:"
            f" {', '.join(rankings.left_out)}."
        )
    click.echo(f"{len(rankings)} rankers; {comparisons:,} comparisons for each pair, {clicks} clicks ...")
    matrix = preferences.estimate_preferences(rankings, clicks=clicks, comparisons=comparisons, seed=seed, jobs=jobs)
    click.echo(f"{', '.join(policies)}: {repetitions} runs of {horizon:,} steps each, every step a simulated user ...")
    users = simulation.SimulatedUsers(rankings, clicks)
    results = simulation.simulate(
        users, policies, preferences=matrix, horizon=horizon, repetitions=repetitions, seed=seed, jobs=jobs
    )
    title = f"{dataset.name}, {clicks} clicks: {len(rankings)} {'' if corpus.words else 'feature '}rankers"
    answer = analysis.save_study(results, out, title=title, notes=notes)
    click.echo()
    echo_lines(answer)
    click.echo(f"\n{out / 'report.html'} and the files beside it ({time.perf_counter() - began:.0f} s)")


def _synthetic_corpus(out: Path, seed: int) -> Path:
    """Write a synthetic corpus of MSLR's shape as text, and return its path."""
    path = out / "synthetic corpus.txt.gz"
    data.write_svmlight(data.make_corpus(seed=seed, name="synthetic corpus"), path)
    return path
