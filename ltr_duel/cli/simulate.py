"""``ltr-duel simulate``: policies against the coins of a preference matrix."""

from __future__ import annotations

from pathlib import Path

import click

from ltr_duel.cli._options import COUNT, jobs_option, plugin_option, print_table, seed_option


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--policy",
    "policies",
    multiple=True,
    required=True,
    help="A policy, with parameters if wanted (rucb:alpha=0.51); may be given several times. 'all' for all.",
)
@plugin_option
@click.option("--horizon", type=COUNT, default=1_000_000, show_default=True, help="Steps in each run.")
@click.option("--repetitions", type=COUNT, default=10, show_default=True, help="Runs of each policy.")
@seed_option
@jobs_option
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default="simulation",
    show_default=True,
    help="The folder to write to.",
)
def command(
    file: Path,
    policies: tuple[str, ...],
    horizon: int,
    repetitions: int,
    seed: int,
    jobs: int,
    out: Path,
) -> None:
    """Run policies against the preference matrix in FILE, and plot their regret.

    Writes results.parquet (policy, repetition, t, regret_average, ...), pulls.parquet, runs.json and regret.png.
    """
    from ltr_duel.analysis import plot_regret, policies_table, save_figure, winner_sentence
    from ltr_duel.bandits import POLICIES
    from ltr_duel.preferences import load_preferences
    from ltr_duel.simulation import simulate

    matrix = load_preferences(file)
    if "all" in policies:
        policies = (*POLICIES.names(), *(text for text in policies if ":" in text))
    results = simulate(matrix, policies, horizon=horizon, repetitions=repetitions, seed=seed, jobs=jobs)
    results.save(out)
    save_figure(plot_regret(results), out / "regret.png")
    click.echo(winner_sentence(matrix))
    print_table(policies_table(results))
    click.echo(f"{out / 'results.parquet'}, {out / 'pulls.parquet'}, {out / 'regret.png'}")
