"""``ltr-duel clicks``: fit click models of real users to a log."""

from __future__ import annotations

from pathlib import Path

import click

from ltr_duel import clicks, logs
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import COUNT, OUT_FILE, PATH, option, skip_bad
from ltr_duel.cli._output import is_set, print_answer, print_at_end, print_table
from ltr_duel.cli._words import Commands
from ltr_duel.core import InputError


@click.group(cls=Commands)
def command() -> None:
    """Fit click models of real users to a log. 'ltr-duel list clicks' lists the models of simulated users."""


@command.command()
@click.argument("file", metavar="LOG", type=PATH)
@click.option("--format", default="", help="jsonl, csv, parquet, ubi or yandex.  [default: from the name of LOG]")
@skip_bad
@click.option("--model", "models", multiple=True, help="Model to fit; repeatable.  [default: all]")
@click.option("--by", default="auto", help="document or grade: the unit of attraction.  [default: grade if known]")
@option("--train", type=float, default=0.75, help="Share of sessions to fit, from the start of the log.")
@option("--iterations", type=COUNT, default=1000, help="Maximum number of EM steps.")
@option("--tolerance", type=float, default=1e-9, help="Least gain of the log-likelihood per session in an EM step.")
@click.option("-o", "--out", type=OUT_FILE, help="File for the best model's table (.json), for use with --clicks.")
@click.option("--qrels", type=OUT_FILE, help="File for grades 0 to 4 of documents with at least 10 impressions.")
@options.explain
def fit(
    file: Path, format: str, skip_bad: int, models: tuple[str, ...], by: str, train: float, iterations: int,
    tolerance: float, out: Path | None, qrels: Path | None,
) -> None:  # fmt: skip
    """Fit click models to the sessions of LOG, evaluate them on other sessions, and name the best.

    The models are pbm, cascade, dbn, sdbn, ubm, and table (the form that simulations use). --explain compares them.
    """
    import pandas as pd

    if qrels is not None and format != "yandex":
        if by == "grade" or out is not None:
            other = f"a table for simulations ({out})" if out else "--by grade"
            raise InputError(f"judgements ({qrels}) are fitted by document and {other} by grade: give two commands")
        by = "document"
    if out is not None:
        clicks.check_clicks_path(out)
    notes = []
    if format == "yandex":
        if skip_bad or by == "grade":
            raise InputError("sessions of Yandex have no grades, and none of their lines is skipped")
        sessions = clicks.read_yandex(file)
    else:
        log = logs.ClickLog(file, format=format, skip_bad=skip_bad)
        sessions = log.sessions(by)
        notes = [f"{log.bad.count:,} bad lines skipped"] * bool(log.bad.count)
    if out is not None and not sessions.graded:
        raise InputError(f"{out} cannot be written: a table for simulations needs grades on every row of {file}")
    fits = clicks.fit_click_models(sessions, models, train=train, iterations=iterations, tolerance=tolerance)
    best, saved = clicks.best_fit(fits), list[Path]()
    if out is not None:
        simulated = clicks.best_fit(fits, table=True)
        clicks.save_clicks(simulated, out, source=str(file))
        saved.append(out)
        notes.append(f"{out} is the fit of {simulated.form.name}")
    if qrels is not None:
        judgements = clicks.judge_documents(best, sessions)
        saved += [qrels, judgements.save(qrels)]
        limits = ", ".join(f"{limit:.3g}" for limit in judgements.limits)
        graded, documents = judgements.table["grade"].count(), len(judgements.table)
        notes.append(
            f"{graded:,} of {documents:,} documents have a grade, those of at least 10 impressions: the number of these"
            f" limits (fifths) below their attractiveness: {limits}"
        )
    stopped = ", ".join(fit.form.name for fit in fits if not fit.fit.converged)
    limit = f"not converged: {stopped}; raise --iterations, or --tolerance if the likelihood is precise enough"
    items = "relevance grades" if sessions.graded else "documents of queries"
    notes += [
        limit * bool(stopped),
        f"standard errors are clustered by {best.errors.cluster} ({best.errors.clusters:,})",
        f"{sessions.number:,} sessions, {sessions.click.sum():,} clicks, {sessions.items:,} {items}",
    ]
    print_answer(f"best: {best.form.name}", "; ".join(best.lines()), notes)
    if is_set("explain"):
        print_table(pd.DataFrame(map(_row, fits)))
    print_at_end(saved)


def _row(fit: clicks.FittedClicks) -> dict[str, str]:
    train, test = fit.train, fit.test
    return {
        "model": fit.form.name,
        "parameters": f"{len(fit.fit.trials):,}",
        "iterations": f"{fit.fit.iterations:,}" + " (limit)" * (not fit.fit.converged),
        f"log-likelihood of {train.sessions:,}": f"{train.log_likelihood:.4f}",
        f"held out, {test.sessions if test else 0:,}": f"{test.log_likelihood:.4f}" if test else "",
        "source": fit.form.cite,
    }
