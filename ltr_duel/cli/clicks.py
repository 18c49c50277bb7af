"""``ltr-duel clicks``: fit click models of real users to a log."""

from __future__ import annotations

from pathlib import Path

import click

from ltr_duel import clicks, logs
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import COUNT, OUT_FILE, PATH
from ltr_duel.cli._output import print_table
from ltr_duel.cli._words import Commands
from ltr_duel.core import InputError

_FEW = 20  # standard errors that are based on fewer clusters are too small


@click.group(cls=Commands)
def command() -> None:
    """Fit click models of real users to a log; 'list clicks' lists the models of simulated users."""


@command.command()
@click.argument("file", metavar="LOG", type=PATH)
@click.option("--format", "kind", default="", help="jsonl, csv, parquet or yandex.  [default: from the name of LOG]")
@click.option("--skip-bad", type=COUNT, default=0, show_default=True, help="Maximum number of bad lines to skip.")
@click.option("--model", "models", multiple=True, help="Model to fit; repeatable.  [default: all]")
@click.option(
    "--by", default="auto",
    help="Unit that has its own attractiveness: document or grade.  [default: grade if all grades are known]",
)  # fmt: skip
@click.option(
    "--train", type=float, default=0.75, show_default=True, help="Share of sessions to fit, from the start of the log."
)
@click.option(
    "--iterations",
    type=COUNT,
    default=1000,
    show_default=True,
    help="Maximum number of EM steps; models that reach it are named.",
)
@click.option(
    "--tolerance",
    type=float,
    default=1e-9,
    show_default=True,
    help="EM stops when a step increases the log-likelihood per session by less than this number.",
)
@click.option(
    "--smoothing", type=float, default=1.0, show_default=True,
    help="Number of successes to add, and of failures to add.",
)  # fmt: skip
@click.option("-o", "--out", type=OUT_FILE, help="File for the best model's table (.json), for use with --clicks.")
@click.option(
    "--qrels", type=OUT_FILE,
    help="File for judgements by the best model of documents: grades 0 to 4 of documents with at least 10 impressions"
    " in qrels form, and beside it a table of all.",
)  # fmt: skip
@options.wide
def fit(
    file: Path, kind: str, skip_bad: int, models: tuple[str, ...], by: str, train: float, iterations: int,
    tolerance: float, smoothing: float, out: Path | None, qrels: Path | None,
) -> None:  # fmt: skip
    """Fit click models to the sessions of LOG, evaluate them on held-out sessions, and name the best.

    Models: pbm, cascade, dbn, sdbn, ubm, and table, the form that simulations use.
    """
    import pandas as pd

    if qrels is not None and kind != "yandex":
        if by == "grade" or out is not None:
            other = f"a table for simulations ({out})" if out else "--by grade"
            raise InputError(f"judgements ({qrels}) are fitted by document and {other} by grade: give two commands")
        by = "document"
    if out is not None:
        clicks.check_clicks_path(out)
    bad = 0
    if kind == "yandex":
        if skip_bad or by == "grade":
            raise InputError("sessions of Yandex have no grades, and none of their lines is skipped")
        sessions = clicks.read_yandex(file)
    else:
        log = logs.ClickLog(file, format=kind, skip_bad=skip_bad)
        sessions, bad = logs.sessions_in_log(log, by), log.bad.count
    if out is not None and not sessions.graded:
        raise InputError(f"{out} cannot be written: a table for simulations needs grades on every row of {file}")
    fits = clicks.fit_click_models(
        sessions, models, train=train, iterations=iterations, tolerance=tolerance, smoothing=smoothing
    )
    if bad:
        click.echo(f"{bad:,} bad lines skipped")
    items = "relevance grades" if sessions.graded else "documents of queries"
    click.echo(f"{sessions.number:,} sessions, {sessions.click.sum():,} clicks, {sessions.items:,} {items}")
    if stopped := ", ".join(fit.form.name for fit in fits if not fit.fit.converged):
        click.echo(f"not converged: {stopped}; raise --iterations, or --tolerance if the likelihood is precise enough")
    best = clicks.best_fit(fits)
    few = ", too few to be reliable" * (best.errors.clusters < _FEW)
    click.echo(f"standard errors are clustered by {best.errors.cluster} ({best.errors.clusters:,}{few})\n")
    print_table(pd.DataFrame(map(_row, fits)))
    click.echo(f"\nbest: {best.form.name}")
    for line in best.lines():
        click.echo(f"  {line}")
    if out is not None:
        best = clicks.best_fit(fits, table=True)
        clicks.save_clicks(best, out, source=str(file))
        click.echo(f"{out}: {best.form.name}")
    if qrels is not None:
        judgements = clicks.judge_documents(best, sessions)
        table = judgements.save(qrels)
        limits = ", ".join(f"{limit:.3g}" for limit in judgements.limits)
        click.echo(
            f"{qrels}: {judgements.table['grade'].count():,} of {len(judgements.table):,} documents, those of at least"
            f" 10 impressions; a grade is the number of these limits (fifths) below the attractiveness: {limits}\n"
            f"{table}: attractiveness of all documents, with the error from each document's own curvature (not from the"
            " whole Fisher matrix)"
        )


def _row(fit: clicks.FittedClicks) -> dict[str, str]:
    """Return a row of the table of fits: each model's size and log-likelihood."""
    train, test = fit.train, fit.test
    return {
        "model": fit.form.name,
        "parameters": f"{len(fit.fit.trials):,}",
        "iterations": f"{fit.fit.iterations:,}" + " (limit)" * (not fit.fit.converged),
        f"log-likelihood of {train.sessions:,}": f"{train.log_likelihood:.4f}",
        f"held out, {test.sessions if test else 0:,}": f"{test.log_likelihood:.4f}" if test else "",
        "source": fit.form.cite,
    }
