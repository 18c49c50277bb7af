"""``ltr-duel reproduce``: make the figures and tables of the papers."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ltr_duel import analysis, experiment, papers
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import CONTINUED_FOLDER, FOLDER
from ltr_duel.cli._output import only_writer
from ltr_duel.cli._words import Command
from ltr_duel.core import InputError, errors, files, several

if TYPE_CHECKING:
    import pandas as pd


_CLAIMS = "claims.toml"
_AFTERWARDS = "claims"  # the name that is not a figure
_WIDTH = 100  # characters in a line of --list
_STANDINGS = ("state_of_the_art", "real_corpora")  # the figures with separate pages


@click.command(cls=Command)
@click.argument("names", nargs=-1, metavar="NAME...|all|claims")
@click.option("--scale", default="quick", show_default=True, help="quick (minutes for all) or paper (as printed).")
@click.option(
    "--data", type=FOLDER,
    help="Folder of your corpora and published matrices; surrogates are generated for missing data.",
)  # fmt: skip
@click.option("--out", type=CONTINUED_FOLDER, help="Folder of figures; those of the same scale are continued.")
@click.option("--overwrite", is_flag=True, help="Replace figures of another scale.")
@options.jobs
@click.option(
    "--experiments", type=FOLDER, help="Folder of figure files (executed Python), in place of this package's files.",
)  # fmt: skip
@click.option("--list", "only_list", is_flag=True, help="List the figures with their data and approximate times.")
def command(
    names: tuple[str, ...], scale: str, data: Path | None, out: Path | None, jobs: int, experiments: Path | None,
    only_list: bool, overwrite: bool,
) -> None:  # fmt: skip
    """Reproduce figures and tables of the papers, check the papers' claims, and write a report of both.

    ``reproduce all`` makes every figure, ``reproduce claims`` prints the ledger of claims for the figures in the
    folder. Exit code: 0 all done; 1 some figures could not be made; 2 bad input; 130 interrupted.
    """
    folder = experiments or papers.figures_folder()
    figures = papers.list_figures(folder)
    if only_list:
        _print_figures(figures)
        return
    errors.require_one_of("scale", scale, papers.SCALES)
    for name in names:
        errors.require_one_of("figure", name, [*figures, "all", _AFTERWARDS])
    if not names or out is None:
        raise click.UsageError("name figures (or all, or claims) and give --out DIR; --list lists the figures")
    only_writer(out)
    wanted = list(figures) if "all" in names else [name for name in dict.fromkeys(names) if name != _AFTERWARDS]
    for name in wanted if not overwrite else ():
        if (earlier := papers.scale_made(out / name)) not in ("", scale):
            raise InputError(
                f"{out / name}: already contains this figure at the scale '{earlier}'; give another folder, or"
                " --overwrite to replace it"
            )
    failed = _make([figures[name] for name in wanted], out, scale, data, jobs)
    ledger = _finish(folder, out, list(figures))
    if _AFTERWARDS in names:
        click.echo(papers.ledger_text(ledger), nl=False)
    raise SystemExit(1 if failed else 0)


def _make(figures: list[papers.Figure], out: Path, scale: str, data: Path | None, jobs: int) -> bool:
    """Make figures in turn, also after a failure; return whether some could not be made.

    A figure whose data are missing and have no surrogate is skipped, which does not count as a failure.
    """
    failed = False
    for number, figure in enumerate(figures, 1):
        click.echo(f"[{number}/{len(figures)}] {figure.row[1]}", err=True)
        try:
            made = papers.make_figure(figure, out, scale=scale, root=data, jobs=jobs)
            _draw(made)
        except InputError as error:
            if len(figures) == 1:
                raise
            failed = failed or not isinstance(error, papers.NoDataError)
            click.echo(f"left out: {figure.name}: {error}", err=True)
        except KeyboardInterrupt:
            click.echo("the same command resumes from here", err=True)
            raise
        else:
            sources = ", ".join(dict.fromkeys(one["source"] for one in made.about["sources"]))
            click.echo(f"{made.folder}: {sources}; {experiment.duration(made.about['seconds'])}")
            for note in made.about.get("notes", []):
                click.echo(note, err=True)
    return failed


def _draw(made: papers.Made) -> None:
    figure = papers.draw_figure(made.frame, made.about)
    for suffix in ("png", "svg"):
        analysis.save_figure(figure, made.folder / f"figure.{suffix}")


def _finish(folder: Path, out: Path, order: list[str]) -> pd.DataFrame:
    """Check the claims on all figures in OUT, and write the ledger and the report."""
    made = papers.read_made(out)
    frames = {name: one.frame for name, one in made.items()}
    abouts = {name: one.about for name, one in made.items()}
    claims = papers.read_claims(folder / _CLAIMS) if (folder / _CLAIMS).is_file() else []
    ledger = papers.check_claims(claims, frames, abouts)
    papers.save_ledger(ledger, abouts, out)
    for one in made.values():
        if not (one.folder / "figure.png").is_file():  # interrupted between the table and its picture
            _draw(one)
    shown = [made[name] for name in [*order, *sorted(made.keys() - set(order))] if name in made]
    pages = [papers.Reproduced(one.about, one.frame, (one.folder / "figure.png").read_bytes()) for one in shown]
    files.write_text(out / "report.html", papers.reproduction_page(pages, ledger, title="The papers, reproduced"))
    for name in _STANDINGS:
        if name in made:
            text = papers.state_of_the_art_markdown(
                frames[name], abouts[name], papers.circumstances({name: abouts[name]})
            )
            files.write_text(out / f"{name}.md", text)
            with files.replacing(out / f"{name}.png") as temporary:  # shown by the Markdown page
                temporary.write_bytes((made[name].folder / "figure.png").read_bytes())
    click.echo(f"{out / 'report.html'}: {several(len(pages), 'figure')}, {several(len(ledger), 'claim')}", err=True)
    return ledger


def _print_figures(figures: dict[str, papers.Figure]) -> None:
    """Print a table at most `_WIDTH` characters wide; its last column, figure and data, is wrapped."""
    rows = [("name", "quick", "paper", "figure; its data, used if available")]
    for figure in figures.values():
        name, what, needs, quick, paper = figure.row
        rows.append((name, quick, paper, what if needs == "nothing" else f"{what}; data: {needs}"))
    widths = [max(len(row[place]) for row in rows) for place in range(3)]
    for name, quick, paper, text in rows:
        head = f"{name:{widths[0]}}  {quick:>{widths[1]}}  {paper:>{widths[2]}}  "
        click.echo(textwrap.fill(text, _WIDTH, initial_indent=head, subsequent_indent=" " * len(head)))
