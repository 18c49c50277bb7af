"""``ltr-duel simulate``: run policies on a preference matrix or with simulated users."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ltr_duel import analysis, bandits, interleaving, logs, preferences, simulation
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import COUNT, OUT_FILE, PATH, ROWS, Place
from ltr_duel.cli._output import echo_lines, only_writer, print_table
from ltr_duel.cli._reading import Corpus, corpus_options, read_matrix
from ltr_duel.cli._words import Command, method_names, policy_names
from ltr_duel.core import InputError, files, several

_FILES = ("results.parquet", "pulls.parquet", "runs.json")
_RESULTS = Place(results=(*_FILES, "regret.*"))


@click.command(cls=Command)
@click.argument("file", type=PATH, required=False)
@click.option("--users", type=PATH, help="Corpus for simulated users, whose clicks replace the coins of a matrix.")
@corpus_options
@options.clicks("Click model of simulated users.")
@options.method("Method of comparing two rankers.")
@click.option(
    "--outcome", default="",
    help="Rule that decides the winner.  [default: the method's first rule; for --log one without a coin]",
)  # fmt: skip
@click.option(
    "--slates", default="sosm", show_default=True, shell_complete=method_names, help="Method of comparing sets."
)
@click.option("--top", type=COUNT, default=10, show_default=True, help="Number of documents shown to users.")
@click.option("--comparisons", type=COUNT, help="Comparisons per pair, without FILE.  [default: see prefs estimate]")
@click.option(
    "--sets", type=click.Choice(("independent-coins",)),
    help="On a matrix: treat each pair of a set as an independent coin, which policies for sets require.",
)  # fmt: skip
@click.option(
    "--policy", "policies", multiple=True, shell_complete=policy_names, default=("auto",), show_default=True,
    help="A policy, with optional parameters (rucb:alpha=0.51); may be repeated. 'all': all suitable policies.",
)  # fmt: skip
@options.checked_plugin
@click.option("--horizon", type=COUNT, default=1_000_000, show_default=True, help="Steps in each run.")
@options.batch
@click.option("--delay", type=ROWS, default=0, help="Steps from the end of a batch until its outcomes arrive.")
@click.option("--repetitions", type=COUNT, default=20, show_default=True, help="Runs of each policy.")
@options.seed
@options.jobs
@click.option("-o", "--out", type=_RESULTS, help="The folder to write to.  [default: simulation; with --log no folder]")
@options.figures
@click.option("--log", type=OUT_FILE, help="With --users: write the click log of the first run to this file.")
@click.option(
    "--returning", type=ROWS, default=0, help="With --log: number of users who return; each has separate queries."
)
@options.wide
def command(
    file: Path | None, users: Path | None, corpus: Corpus, clicks: str, method: str, outcome: str, slates: str,
    top: int, comparisons: int | None, sets: str | None, policies: tuple[str, ...], out: Path | None,
    figures: options.Figures, log: Path | None, returning: int,
    **run: Any,  # horizon, batch, delay, repetitions, seed and jobs
) -> None:  # fmt: skip
    """Run policies against the preference matrix in FILE, and plot their regret.

    In place of FILE, the name of a synthetic or published matrix ('arxiv', 'arith51', ...) is accepted.

    --log, which requires one policy, writes the impressions of the first repetition as a log for 'ltr-duel logs'.

    With --users CORPUS each comparison is a query, a shown list, and a simulated user who clicks. Regret is measured by
    the matrix in FILE, or without FILE by a matrix that is first estimated from the same users. Policies that compare
    sets of rankers are meant for simulated users. On a matrix they require --sets independent-coins, because the coins
    of the pairs of a set are independent, whereas the outcomes of one shown list depend on each other.

    Writes results.parquet (policy, repetition, t, regret_average, ...), pulls.parquet, runs.json and the figure
    regret.png (see --format); with --log alone, only the log.
    """
    if file is None and users is None:
        raise InputError("give the FILE of a preference matrix, or --users with a corpus")
    if corpus.words and users is None:
        raise InputError("--rankers requires --users; a matrix contains its rankers")
    if log is not None and (users is None or len(policies) != 1 or "all" in policies):
        raise InputError("--log requires --users and one policy")
    if returning and log is None:
        raise InputError("--returning requires --log")
    if corpus.reading.is_given and users is None:
        raise InputError("options for reading feature files require --users; a matrix has no feature files")
    if sets and users is not None:
        raise InputError("--sets requires the FILE of a matrix; simulated users compare sets by --slates")
    if outcome and users is None:
        raise InputError("--outcome requires --users; a matrix was estimated by its own rule")
    if outcome == "marginal_bernoulli" and log is not None:
        raise InputError(
            f"--outcome {outcome} samples outcomes from the whole list, which a log does not contain; use 'sampled',"
            " which has the same mean"
        )
    if out is None and log is None:
        out = _RESULTS.convert("simulation", None, click.get_current_context())
    options.require_start(figures, run["horizon"])
    only_writer(out)
    if "all" in policies:
        able = [one.name for one in bandits.POLICIES if one.feedback == "duel" or sets or users is not None]
        policies = (*able, *(text for text in policies if ":" in text))
    source: simulation.OracleSource | None = None
    if users is not None:
        rankings = corpus.rankings(users, run["jobs"])
        source = simulation.SimulatedUsers(rankings, clicks, pairs=method, outcome=outcome, slates=slates, top=top)
        if file is None:
            matrix = preferences.estimate_preferences(
                rankings, clicks=clicks, method=method, outcome=outcome, comparisons=comparisons, top=top,
                seed=run["seed"], jobs=run["jobs"],
            )  # fmt: skip
    if file is not None:
        matrix = read_matrix(file)
        if source is not None:
            _require_same_order(file, matrix.provenance, rankings.provenance)
            _print_differences(file, matrix.provenance, source.provenance)
    if log is not None:
        written = logs.simulate_log(
            log, rankings, clicks, policy=policies[0], pairs=method, outcome=outcome, top=top,
            horizon=run["horizon"], returning=returning, seed=run["seed"],
        )  # fmt: skip
        click.echo(f"{log}: {several(written, 'impression')}")
    results = simulation.simulate(
        source or simulation.FromMatrix(matrix, sets=(sets or "").replace("-", "_")),
        policies,
        preferences=matrix if users is not None else None,
        **run,
    )
    picture = f"regret.{figures.suffix}"
    if out is not None:
        drawn = analysis.plot_regret(
            results, x=figures.x, spread=figures.spread, start=figures.start, width=figures.width
        )
        with files.replacing_files(out) as temporary:
            results.save(temporary)
            analysis.save_figure(drawn, temporary / picture)
    if users is not None:
        _print_cautions(interleaving.METHODS.configure(method).component, outcome)
    click.echo(analysis.winner_sentence(matrix) + _taken_winner(matrix))
    table = analysis.policies_table(results)
    print_table(table)
    echo_lines((analysis.spread_sentence(table), *results.notes))
    if out is not None:
        click.echo(", ".join(str(out / name) for name in (*_FILES, picture)))


def _print_differences(file: Path, measured: dict[str, Any], users: dict[str, Any]) -> None:
    """Print a note if a matrix was estimated with settings that differ from those of the simulated users."""
    for name in ("corpus_sha256", "clicks", "method", "outcome", "top"):
        if name in measured and measured[name] != users[name]:
            differ = "another corpus" if name == "corpus_sha256" else f"{name} {measured[name]}, not {users[name]}"
            click.echo(f"note: regret is measured by {file}, which was estimated with {differ}")


def _taken_winner(matrix: preferences.PreferenceMatrix) -> str:
    """Return a sentence with the winner that the table assumes, if the winner is undecided; else an empty text."""
    undecided = matrix.condorcet_winner and analysis.winner_sentence(matrix).startswith("Undecided")
    return f" The table assumes the winner of this matrix, {matrix.condorcet_winner}." if undecided else ""


def _print_cautions(method: interleaving.Method, outcome: str) -> None:
    """Print a note if random clicks favour a ranker under the outcome rule."""
    if caution := method.caution(outcome or method.default_outcome()):
        fair = " Use --outcome sampled instead." * ("sampled" in method.outcomes)  # which also a log can record
        click.echo(f"note: {caution}{fair}")


def _require_same_order(file: Path, measured: dict[str, Any], users: dict[str, Any]) -> None:
    """Raise `InputError` if a matrix of the same corpus was estimated with a different order of tied documents."""
    rule, seed = measured.get("ties"), measured.get("tie_seed", 0)
    if measured.get("corpus_sha256") != users["corpus_sha256"] or rule is None:
        return
    if (rule, seed) != (users["ties"], users["tie_seed"]):
        raise InputError(
            f"{file}: tied documents were ordered by a different rule or seed; give --ties {rule} --tie-seed {seed}"
        )
