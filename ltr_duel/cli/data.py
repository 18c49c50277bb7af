"""``ltr-duel data``: get corpora, inspect feature files, and manage the cache."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ltr_duel import data
from ltr_duel.cli._options import PATH
from ltr_duel.cli._reading import Reading, column_label, reading_options
from ltr_duel.cli._words import Commands
from ltr_duel.core import cache_home


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
def fetch(name: str, folder: Path | None, reading: Reading, **given: Any) -> None:
    """Get the corpus NAME: download it or take your archive, verify its checksum, unpack, read and store it."""
    folder = folder or Path("corpora") / name
    split, fold, how = reading.for_files
    stored = data.fetch(
        data.CORPORA[name], folder=folder, split=split, fold=fold, reading=how, report=click.echo, **given
    )
    click.echo(f"\nNext:\n  ltr-duel data info {stored}\n  ltr-duel demo --data {stored} --out {folder / 'demo'}")


@command.command()
@click.argument("path", type=PATH)
@reading_options
def info(path: Path, reading: Reading) -> None:
    """Describe the data in PATH, a feature file or a folder with train, vali and test."""
    form = data.format_of(path, reading.split, reading.fold, reading.given.get("dialect"))
    dataset = reading.load(path)
    for label, value in [("corpus", dataset.name), ("format", form), *_facts(dataset, data.describe(dataset))]:
        click.echo(f"{label:<20} {value}")


@command.command()
@click.option("--clear", is_flag=True, help="Delete all corpora and arrays. Feature files are not touched.")
def cache(clear: bool) -> None:
    """List the cache (files that can be made again), least recently used first; with --clear, delete it."""
    import time

    home, most, entries = cache_home(), data.limit(), data.entries()
    size = sum(entry.size for entry in entries) / 1e6
    if clear:
        click.echo(f"freed {data.clear() / 1e6:,.1f} MB")
        return
    click.echo(f"{home}: {size:,.1f} MB. Above {most / 1e9:g} GB ({data.LIMIT}), the least recently used are deleted.")
    for entry in entries:
        used = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.used))
        click.echo(f"  {used}  {entry.size / 1e6:>10,.1f} MB  {entry.path.parent.name}/{entry.path.name}")


def _facts(dataset: data.Dataset, seen: data.Description) -> list[tuple[str, str]]:
    import numpy as np

    def columns(numbers: list[int]) -> str:
        return ", ".join(column_label(dataset, i) for i in numbers) or "none"

    low, median, high = np.percentile(seen.sizes, [0, 50, 100])
    grades = ", ".join(f"{g}: {n:,} ({n / dataset.n_docs:.1%})" for g, n in enumerate(seen.grade_counts.tolist()))
    twins = "; ".join(f"{column_label(dataset, a)} = {column_label(dataset, b)}" for a, b in seen.twins)
    return [
        ("queries", f"{dataset.n_queries:,}, {seen.queries_without_relevant:,} of them without a relevant document"),
        ("documents", f"{dataset.n_docs:,}; for each query {low:.0f} to {high:.0f}, median {median:g}"),
        ("features", f"{dataset.n_features}" + (", ranks (lower is better)" if dataset.lower_is_better else "")),
        ("grades", grades),
        ("zero everywhere", columns(seen.dead)),
        ("constant in queries", columns(seen.constant)),
        ("exact twins", twins or "none"),
        ("missing values", ", ".join(f"{column_label(dataset, i)}: {n:,}" for i, n in seen.missing.items()) or "none"),
        ("sha256", dataset.sha256),
    ]
