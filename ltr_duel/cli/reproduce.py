"""``ltr-duel reproduce``: make the figures of the papers again, and compare them with what the papers print."""

from __future__ import annotations

import shutil
import textwrap
from pathlib import Path

import click

from ltr_duel import papers
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import CONTINUED_FOLDER, FOLDER, option
from ltr_duel.cli._words import Command
from ltr_duel.core import InputError, errors
from ltr_duel.experiment import duration


@click.command(cls=Command)
@click.argument("names", nargs=-1, metavar="NAME...|all")
@option("--scale", default="quick", help="quick (minutes for all) or paper (as printed).")
@click.option("--data", type=FOLDER, help="Folder of corpora and matrices; figures without data are left out.")
@click.option("-o", "--out", type=CONTINUED_FOLDER, help="Folder of figures and pages; finished runs are used again.")
@options.jobs
@click.option("--experiments", type=FOLDER, help="Folder of files of figures (executed Python).")
@click.option("--list", "only_list", is_flag=True, help="List the figures with their data and times on two idle cores.")
def command(
    names: tuple[str, ...], scale: str, data: Path | None, out: Path | None, jobs: int, experiments: Path | None,
    only_list: bool,
) -> None:  # fmt: skip
    """Reproduce figures and tables of the papers, and write a page for each paper.

    The page and the printed table compare what the paper prints with what we measure. Use 'reproduce all' for all
    figures. Exit code: 0 if all were made, 1 if some could not be made, 2 for invalid input, 130 if interrupted.
    """
    figures = papers.list_figures(experiments or papers.figures_folder())
    if only_list:
        for name, quick, paper, text in (figure.line for figure in figures.values()):
            _print_wrapped(f"{name}: quick {quick}, paper {paper}. {text}")
        return
    errors.require_one_of("scale", scale, papers.SCALES)
    for name in names:
        errors.require_one_of("figure", name, [*figures, "all"])
    if not names or out is None:
        raise InputError("name figures (or all) and give --out DIR; --list lists the figures")
    wanted, failed = list(figures) if "all" in names else list(dict.fromkeys(names)), False
    for number, figure in enumerate((figures[name] for name in wanted), 1):
        click.echo(f"[{number}/{len(wanted)}] {figure.line[-1]}", err=True)
        try:
            result = papers.make_figure(figure, out, scale=scale, root=data, jobs=jobs)
        except InputError as error:
            if len(wanted) == 1:
                raise
            failed = failed or not isinstance(error, papers.NoDataError)
            click.echo(f"left out: {figure.name}: {error}", err=True)
        except KeyboardInterrupt:
            click.echo("the same command resumes from here", err=True)
            raise
        else:
            click.echo(f"{result.folder}: {duration(result.facts['seconds'])}", err=True)
    chosen_papers = {figures[name].facts["paper"] for name in wanted}
    for page, table in papers.write_pages(figures, papers.read_made(out), out).items():
        if page.stem in chosen_papers:
            click.echo(f"{page}:")
            for name, quote, _, ours, _, verdict, why in table[table["data"] != "no data"].itertuples(index=False):
                _print_wrapped(f"  {name}: {verdict}. {quote} | {ours}" + f" | {why}" * bool(why))
    raise SystemExit(1 if failed else 0)


def _print_wrapped(text: str) -> None:
    click.echo(textwrap.fill(text, shutil.get_terminal_size((100, 24)).columns, subsequent_indent="      "))
