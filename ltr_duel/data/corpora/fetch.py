"""What each script in ``data_scripts/`` does: terms, download, checksum, unpack, check, convert, what comes next."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from ltr_duel.core import InputError
from ltr_duel.data.corpora.catalogue import Archive, Corpus, corpus_named


@dataclass(frozen=True)
class Wishes:
    """What the user said on the command line."""

    accepted: bool
    archive: Path | None
    folder: Path
    urls: tuple[str, ...]
    run: bool


def main(name: str, arguments: list[str] | None = None) -> None:
    """Run the command line of the script of one corpus; exit code 2 and one sentence where it cannot go on.

    Parameters
    ----------
    name : str
        Of the corpus in the catalogue.
    arguments : list of str, optional
        Default: those of the process.
    """
    corpus = corpus_named(name)

    @click.command(help=f"Get and convert {corpus.title}.")
    @click.option("--accept-terms", is_flag=True, help=f"I have read and accept: {corpus.terms_url}")
    @click.option("--archive", type=click.Path(path_type=Path), help="The archive, downloaded by hand.")
    @click.option("--folder", type=click.Path(path_type=Path), default=Path("corpora") / name, show_default=True)
    @click.option("--url", "urls", multiple=True, help="Another address of the archive, tried first.")
    @click.option("--run", is_flag=True, help="Go on to rankers, preference matrix and regret plot.")
    def command(accept_terms: bool, archive: Path | None, folder: Path, urls: tuple[str, ...], run: bool) -> None:
        obtain(corpus, Wishes(accept_terms, archive, folder, urls, run))

    try:
        code = command.main(arguments, standalone_mode=False)  # what the demo exits with, if it runs and fails
        sys.exit(code or 0)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt):
        print(f"{name}: interrupted; run it again to go on", file=sys.stderr)
        sys.exit(130)
    except (InputError, OSError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        sys.exit(2)


def obtain(corpus: Corpus, wishes: Wishes) -> Path:
    """Go the whole way from the terms to a converted corpus.

    Returns
    -------
    Path
        The converted corpus.

    Raises
    ------
    InputError
        If the terms are not accepted, or a step fails.
    """
    from ltr_duel.data.corpora.unpack import unpack
    from ltr_duel.data.store.convert import convert
    from ltr_duel.data.text.options import ReadOptions
    from ltr_duel.data.text.reading import Naming

    click.echo(f"{corpus.title}\n  licence  {corpus.licence}\n  terms    {corpus.terms_url}")
    if not wishes.accepted:
        raise InputError("read the terms above; if you accept them, run this again with --accept-terms")
    unpacked = wishes.folder / "unpacked"
    if not unpacked.is_dir():
        archive = _archive(corpus, wishes)
        click.echo(f"unpack   {archive}")
        unpack(archive, unpacked)
    part = locate(unpacked, corpus)
    _check(part, corpus)
    options = ReadOptions(corpus.dialect, corpus.features)
    converted = convert(part, options, naming=Naming(corpus.name, corpus.grades, None, corpus.name))
    click.echo(f"convert  {converted}")
    demo = ["demo", "--data", str(converted), "--out", str(wishes.folder / "demo")]
    if wishes.run:
        done = subprocess.run([sys.executable, "-m", "ltr_duel.cli.main", *demo], check=False)
        if done.returncode:  # it has said why
            raise click.exceptions.Exit(done.returncode)
    else:
        click.echo("\nNext:")
        for step in (["data", "info", str(converted)], demo):
            click.echo("  ltr-duel " + " ".join(step))
    return converted


def locate(folder: Path, corpus: Corpus) -> Path:
    """Return the place in an unpacked archive that is to be converted.

    Raises
    ------
    InputError
        If there is none.
    """
    from ltr_duel.data.store.folders import feature_files

    declared = folder / corpus.main_part
    inside = sorted((p for p in folder.rglob("*") if p.is_dir()), key=lambda p: (len(p.parts), p))
    files = [p for p in folder.glob("*") if p.is_file()]
    for place in (declared, folder, *inside, *(p / corpus.main_part for p in inside if corpus.main_part), *files):
        try:
            feature_files(place)
        except InputError:
            continue
        return place
    raise InputError(f"{folder}: no feature files in it; is this the archive of {corpus.title}?")


def _archive(corpus: Corpus, wishes: Wishes) -> Path:
    from ltr_duel.data.corpora.download import download

    if wishes.archive is not None:
        _check_digest(wishes.archive, next(iter(corpus.archives), None))
        return wishes.archive
    wanted = corpus.archives[0] if corpus.archives else Archive(f"{corpus.name}.archive")
    wanted = wanted._replace(urls=(*wishes.urls, *wanted.urls))
    by_hand = f"{corpus.obtain}; then: --accept-terms --archive {wanted.name}"
    if not wanted.urls:
        raise InputError(f"this corpus is not fetched for you. {by_hand}")
    try:
        return download(wanted, wishes.folder)
    except InputError as error:
        raise InputError(f"{error}. By hand: {by_hand}") from None


def _check_digest(file: Path, archive: Archive | None) -> None:
    if not file.is_file():
        raise InputError(f"{file}: there is no such file")
    if archive is None or archive.digest is None:
        return
    kind, expected = archive.digest.split(":")
    with file.open("rb") as source:
        found = hashlib.file_digest(source, kind).hexdigest()
    if found != expected:
        raise InputError(f"{file}: its {kind} is {found}, the published one is {expected}; get it again")


def _check(part: Path, corpus: Corpus) -> None:
    from ltr_duel.data.corpora.check import check_file, expected_digests
    from ltr_duel.data.store.folders import feature_files

    for file in feature_files(part):
        report: Any = check_file(file, corpus.dialect)
        known = f", is the published {report.known_as[0]}" if report.known_as else ""
        expected = {} if known else expected_digests(file, corpus.name)
        if any(digest.startswith("sha256:") for digest in expected):  # these corpora exist in one version only
            raise InputError(f"{file}: the checksum differs from the published {', '.join(sorted(expected.values()))}")
        click.echo(f"check    {file}: {report.documents:,} documents, {report.queries:,} queries{known}")
        if report.complaints:
            raise InputError("; ".join(report.complaints[:3]))
