"""``ltr-duel data``: get corpora, inspect and check feature files, and manage the cache."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click

from ltr_duel import data
from ltr_duel.cli._options import PATH
from ltr_duel.cli._reading import Reading, column_label, reading_options
from ltr_duel.cli._words import Commands
from ltr_duel.core import InputError, cache_home


@click.group(cls=Commands)
def command() -> None:
    """Get, inspect and check corpora."""


@command.command("list")
def list_corpora() -> None:
    """Print the known corpora: size, grades, licence, how to get them, and whether they are converted."""
    import json

    present = set()
    for meta in (cache_home() / "corpora").glob("*/corpus.json"):
        with suppress(OSError, ValueError, KeyError, AttributeError, TypeError):  # damaged
            facts = json.loads(meta.read_bytes())
            present |= {facts.get("corpus"), facts["name"].lower()}

    widths = {"queries": 9, "documents": 11, "features": 9, "grades": 7}
    counts = "".join(f"{word:>{width}}" for word, width in widths.items())
    click.echo(f"{'name':<15}{counts}  {'converted':<10}licence")
    for corpus in data.CORPORA.values():
        facts = corpus.facts()
        counts = "".join(f"{facts[word]:>{width}}" for word, width in widths.items())
        click.echo(f"{corpus.name:<15}{counts}  {'yes' if corpus.name in present else 'no':<10}{facts['licence']}")
        click.echo(f"{'':<15}{corpus.obtain}")


@command.command()
@click.argument("name")
@click.option("--accept-terms", is_flag=True, help="I have read and accept the terms of the corpus.")
@click.option("--archive", type=PATH, help="The archive, downloaded manually.")
@click.option("--folder", type=PATH, help="Folder of the archive and its files.  [default: corpora/NAME]")
@click.option("--url", "urls", multiple=True, help="Alternative URL of the archive, tried first; may be repeated.")
@click.option("--run", is_flag=True, help="Then run 'ltr-duel demo' on the converted corpus.")
@reading_options
@click.pass_context
def fetch(
    context: click.Context, name: str, accept_terms: bool, archive: Path | None, folder: Path | None,
    urls: tuple[str, ...], run: bool, reading: Reading,
) -> None:  # fmt: skip
    """Get the corpus NAME: download it or take your archive, verify its checksum, unpack, check and convert it."""
    from ltr_duel.cli.demo import command as demo

    folder = folder or Path("corpora") / name
    converted = data.fetch(
        data.CORPORA[name], data.FetchOptions(accept_terms, archive, folder, urls, *reading.for_files), click.echo
    )
    if run:
        context.invoke(demo, path=converted, out=folder / "demo")
    else:
        click.echo(f"\nNext:\n  ltr-duel data info {converted}")
        click.echo(f"  ltr-duel demo --data {converted} --out {folder / 'demo'}")


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
@click.argument("path", type=PATH)
@click.option("--corpus", help="Name of the expected corpus in `ltr-duel data list`.")
@reading_options
def check(path: Path, corpus: str | None, reading: Reading) -> None:
    """Compare PATH with published checksums and counts, and report lines that break the format."""
    how = data.CORPORA[corpus].reading(**reading.given) if corpus else reading.options
    reports = [data.check_file(file, how) for file in data.feature_files(path, *reading.for_files[:2])]
    problems = []
    for report in reports:
        click.echo(f"{report.file}: {report.documents:,} documents, {report.queries:,} queries")
        for place in report.known_as:
            click.echo(f"  is the published {place}")
        if not report.known_as:
            expected = sorted(set(data.expected_digests(report.file, corpus).values()))
            if expected:
                problems.append(f"{report.file}: the checksum differs from the published {', '.join(expected)}")
            else:
                click.echo("  no published checksum to compare with")
        for sentence in report.errors:
            click.echo(f"  {sentence}")
        if report.errors:
            problems.append(f"{report.file}: lines that break the format; see above for the first ones")
    problems += data.count_problems(reports, corpus)
    if problems:
        raise InputError("; ".join(problems))
    click.echo("no problems found")


@command.command()
@click.option("--clear", is_flag=True, help="Delete all corpora and arrays. Feature files are not touched.")
@click.option("--yes", is_flag=True, help="Delete without confirmation.")
def cache(clear: bool, yes: bool) -> None:
    """List the cache (files that can be rebuilt), least recently used first; with --clear, delete it."""
    import time

    home, found, most, (parts, bytes_of_parts) = cache_home(), data.usage(), data.limit(), data.unfinished()
    if clear:
        size = sum(found[kind][1] for kind in data.KINDS) + bytes_of_parts
        try:
            sure = yes or click.confirm(f"Delete {size / 1e6:,.1f} MB of corpora and arrays in {home}?")
        except click.Abort:
            raise InputError("nothing was deleted: there was no answer; --yes deletes without confirmation") from None
        if not sure:
            raise click.Abort
        click.echo(f"freed {data.clear() / 1e6:,.1f} MB")
        return
    click.echo(home)
    for kind, (count, size) in found.items():
        click.echo(f"  {kind:<12} {count:>5}  {size / 1e6:>10,.1f} MB")
    click.echo(f"Above {most / 1e9:g} GB ({data.LIMIT}), data that `data fetch` did not convert are evicted.")
    if parts:
        click.echo(
            f"Unfinished entries: {parts} ({bytes_of_parts / 1e6:,.1f} MB), of commands that are still writing or were"
            " killed; --clear deletes them, and later commands delete them after a day."
        )
    for entry in data.entries():
        used = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.used))
        what = f"{entry.path.parent.name}/{entry.path.name}"
        click.echo(f"  {used}  {entry.size / 1e6:>10,.1f} MB  {'converted' if entry.kept else '':<9}  {what}")


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
