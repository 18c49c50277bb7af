"""``ltr-duel data``: get corpora, inspect feature files, and manage the cache."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ltr_duel import data
from ltr_duel.cli._options import PATH
from ltr_duel.cli._output import echo_lines
from ltr_duel.cli._reading import Reading, column_label, reading_options
from ltr_duel.cli._words import Commands
from ltr_duel.core import InputError, cache_home


@click.group(cls=Commands)
def command() -> None:
    """Get and inspect corpora."""


@command.command()
@click.argument("name")
@click.option("--accept-terms", is_flag=True, help="I have read and accept the terms of the corpus.")
@click.option("--archive", type=PATH, help="The archive, downloaded manually.")
@click.option("--folder", type=PATH, help="Folder of the archive and its files.  [default: corpora/NAME]")
@click.option("--url", "urls", multiple=True, help="Alternative URL of the archive, tried first; may be repeated.")
@reading_options
def fetch(name: str, folder: Path | None, reading: Reading, **settings: Any) -> None:
    """Get the corpus NAME: download it or take your archive, check it, unpack it, and store it for other commands."""
    if reading.queries is not None:
        raise InputError("--queries applies to commands that load a corpus; this command processes whole files")
    folder = folder or Path("corpora") / name
    stored = data.fetch(
        data.CORPORA[name], folder=folder, split=reading.split, fold=reading.fold, reading=reading.settings,
        report=click.echo, **settings,
    )  # fmt: skip
    click.echo(f"\nNext:\n  ltr-duel data info {stored}\n  ltr-duel demo --data {stored} --out {folder / 'demo'}")


@command.command()
@click.argument("path", type=PATH)
@reading_options
def info(path: Path, reading: Reading) -> None:
    """Describe the data in PATH, which is a feature file or a folder with the files train, vali and test."""
    import numpy as np

    form = data.format_of(path, reading.split, reading.fold, reading.dialect)
    dataset = reading.load(path)
    facts = data.describe(dataset)
    low, median, high = np.percentile(facts.sizes, [0, 50, 100])
    grades = [f"{g}: {n:,} ({n / dataset.n_docs:.1%})" for g, n in enumerate(facts.grade_counts.tolist())]
    lines = {
        "corpus": dataset.name,
        "format": form,
        "queries": f"{dataset.n_queries:,}, {facts.queries_without_relevant:,} of them without a relevant document",
        "documents": f"{dataset.n_docs:,}; for each query {low:.0f} to {high:.0f}, median {median:g}",
        "features": f"{dataset.n_features}" + ", ranks (lower is better)" * dataset.lower_is_better,
        "grades": ", ".join(grades),
        "zero everywhere": ", ".join(column_label(dataset, k) for k in facts.dead),
        "constant in queries": ", ".join(column_label(dataset, k) for k in facts.constant),
        "exact twins": "; ".join(f"{column_label(dataset, a)} = {column_label(dataset, b)}" for a, b in facts.twins),
        "missing values": ", ".join(f"{column_label(dataset, k)}: {n:,}" for k, n in facts.missing.items()),
        "sha256": dataset.sha256,
    }
    echo_lines(f"{label:<20} {value or 'none'}" for label, value in lines.items())


@command.command()
@click.option("--clear", is_flag=True, help="Delete all corpora and arrays. Feature files are not touched.")
def cache(clear: bool) -> None:
    """Print the size of the cache. With --clear, delete its files, which the program can make again."""
    most, entries = data.limit(), data.entries()
    if clear:
        click.echo(f"freed {data.clear() / 1e6:,.1f} MB")
        return
    size = f"{cache_home()}: {sum(entry.size for entry in entries) / 1e6:,.1f} MB in {len(entries)} folders"
    click.echo(f"{size}. Above {most / 1e9:g} GB ({data.LIMIT}), the least recently used are deleted.")
