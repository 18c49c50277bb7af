"""``ltr-duel simulate``: run policies on a preference matrix or with simulated users."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from ltr_duel import analysis, interleaving, logs, preferences, simulation
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import COUNT, OUT_FILE, PATH, FigureOptions, OutputPath, figure_options, option
from ltr_duel.cli._output import is_set, print_answer, print_at_end, print_table
from ltr_duel.cli._reading import Corpus, corpus_options, read_matrix
from ltr_duel.cli._words import Command, method_names
from ltr_duel.core import InputError, columns, files, several

_FILES = ("results.parquet", "pulls.parquet", "runs.json")
_RESULTS = OutputPath(results=(*_FILES, "regret.*"))


@click.command(cls=Command)
@click.argument("file", type=PATH, required=False)
@click.option("--users", type=PATH, help="Corpus for simulated users, whose clicks replace the coins of a matrix.")
@corpus_options
@options.clicks
@options.method
@click.option("--outcome", default="", help="Rule that decides the winner.  [default: the first of the method]")
@option("--slates", default="sosm", shell_complete=method_names, help="Method of comparing sets.")
@options.top
@click.option("--comparisons", type=COUNT, help="Comparisons per pair, without FILE.  [default: see prefs estimate]")
@click.option("--sets", type=click.Choice(("independent-coins",)), help="On a matrix: how policies for sets compare.")
@options.policy(default=("auto",))
@options.plugin
@options.horizon
@option("--repetitions", type=COUNT, default=20, help="Runs of each policy.")
@options.batch
@click.option("--delay", type=COUNT, default=0, help="Steps from the end of a batch until its outcomes arrive.")
@options.seed
@options.jobs
@click.option("-o", "--out", type=_RESULTS, help="The folder to write to.  [default: simulation; with --log no folder]")
@figure_options
@click.option("--log", type=OUT_FILE, help="With --users: write the click log of the first run to this file.")
@option("--returning", type=COUNT, default=0, help="With --log: users who return; each has separate queries.")
@options.explain
def command(
    file: Path | None, users: Path | None, corpus: Corpus, clicks: str, method: str, outcome: str, slates: str,
    top: int, comparisons: int | None, sets: str | None, policies: tuple[str, ...], out: Path | None,
    figure: FigureOptions, log: Path | None, returning: int,
    **run: Any,  # horizon, batch, delay, repetitions, seed and jobs
) -> None:  # fmt: skip
    """Run policies against the preference matrix in FILE, and plot their regret.

    In place of FILE, you can give the name of a synthetic or published matrix ('arxiv', 'arith51', ...). With --users
    CORPUS, each comparison is a query, a list, and a simulated user who clicks. Regret is then measured by the matrix
    in FILE. Without FILE, a matrix is first estimated from the same users. Policies that compare sets of rankers
    require --users, or --sets independent-coins, with which each pair of a set is compared independently.

    The results are results.parquet, pulls.parquet, runs.json and regret.png (see --figures). With one policy, --log
    writes the impressions of the first repetition for 'ltr-duel logs'. Without --out, --log writes only the log.
    """
    if file is None and users is None:
        raise InputError("give the FILE of a preference matrix, or --users with a corpus")
    users_only = {"--rankers": corpus.words, "--log": log, "--outcome": outcome, "--fill": corpus.reading.is_given}
    for name, value in users_only.items():
        if value and users is None:
            raise InputError(f"{name} and similar options require --users; a matrix has its own rankers and rule")
    if (log is not None and len(policies) != 1) or (returning and log is None):
        raise InputError("--log requires one policy, and --returning requires --log")
    if sets and users is not None:
        raise InputError("--sets requires the FILE of a matrix; simulated users compare sets by --slates")
    if out is None and log is None:
        out = _RESULTS.convert("simulation", None, click.get_current_context())
    notes, source, matrix = list[str](), None, None if file is None else read_matrix(file)
    if users is not None:
        rankings = corpus.rankings(users, run["jobs"])
        source = simulation.SimulatedUsers(rankings, clicks, pairs=method, outcome=outcome, slates=slates, top=top)
        component = interleaving.METHODS.configure(method).component
        notes.append(component.caution(outcome or component.default_outcome()))
        if matrix is not None:
            notes += _differences(file, matrix.provenance, source.provenance)
        else:
            matrix = preferences.estimate_preferences(
                rankings, clicks=clicks, method=method, outcome=outcome, comparisons=comparisons, top=top,
                seed=run["seed"], jobs=run["jobs"],
            )  # fmt: skip
        if log is not None:
            written = logs.simulate_log(
                log, rankings, clicks, policy=policies[0], pairs=method, outcome=outcome, top=top,
                horizon=run["horizon"], returning=returning, seed=run["seed"],
            )  # fmt: skip
            click.echo(f"{log}: {several(written, 'impression')}")
    assert matrix is not None
    results = simulation.simulate(
        source or simulation.FromMatrix(matrix, sets=(sets or "").replace("-", "_")), policies,
        preferences=matrix if users is not None else None, **run,
    )  # fmt: skip
    picture, about = f"regret.{figure.figures}", source.provenance if source else matrix.provenance
    title = f"{analysis.origin(about) or (file and file.name)}: {len(matrix)} rankers"
    title += "\ncoins of the matrix" if source is None else ""
    if out is not None:
        with files.replacing_files(out) as folder:
            results.save(folder)
            drawn = analysis.plot_regret(results, x=figure.x, title="" if figure.width else title, **figure.keywords)
            analysis.save_figure(drawn, folder / picture)
        print_at_end(out / name for name in (*_FILES, picture))
    table, winner = analysis.policies_table(results), " ".join(analysis.winner_lines(matrix)).strip()
    if winner.startswith("Undecided") and matrix.condorcet_winner:
        winner += f" The table assumes the winner of this matrix, {matrix.condorcet_winner}."
    summary, (regret, _, unit) = results.summary(), table.columns[1].partition(", ")
    best, ahead = int(summary["mean"].to_numpy().argmin()), summary["mean"].sort_values().diff().iloc[1:2].min()
    policy, value, *_ = table.iloc[best].tolist()
    answer = f"{policy}: {regret} {value}{f' ({unit})' * ('±' in value)} after {run['horizon']:,} steps"
    lowest = f", the lowest of {len(table)} policies" * (len(table) > 1)
    if ahead < summary[columns.REFERENCE_ERROR].max():
        lowest += ", by less than the error of the reference matrix"
    print_answer(answer + lowest, winner, [*notes, *results.notes])
    print_table(table)
    if is_set("explain"):
        click.echo(analysis.spread_sentence(table))


def _differences(file: Path | None, measured: dict[str, Any], users: dict[str, Any]) -> Iterator[str]:
    """Yield a note for each setting that differs between the simulated users and the users of a matrix.

    Raises `InputError` if tied documents have another order, because the rankers are then different.
    """
    rule, seed = measured.get("ties"), measured.get("tie_seed", 0)
    same_corpus = measured.get("corpus_sha256") == users["corpus_sha256"]
    if same_corpus and rule is not None and (rule, seed) != (users["ties"], users["tie_seed"]):
        raise InputError(
            f"{file}: tied documents were ordered by a different rule or seed; give --ties {rule} --tie-seed {seed}"
        )
    for name in ("corpus_sha256", "clicks", "method", "outcome", "top"):
        if name in measured and measured[name] != users[name]:
            setting = "another corpus" if name == "corpus_sha256" else f"{name} {measured[name]}, not {users[name]}"
            yield f"regret is measured by {file}, which was estimated with {setting}"
