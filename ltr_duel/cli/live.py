"""``ltr-duel live``: the store of an experiment behind a search page."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ltr_duel.cli._options import OUT_FILE, plugin_option


@click.group()
def command() -> None:
    """Look at the store of a live experiment; 'ltr-duel serve' runs one."""


@command.command()
@click.argument("store", type=click.Path(path_type=Path))
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--without-log", is_flag=True, help="Accept a STORE that was copied without its log.")
def backup(store: Path, out: Path, without_log: bool) -> None:
    """Copy STORE to the new file OUT, whole; the experiment may go on. To restore, copy OUT back in the same way."""
    from ltr_duel.live import backup_store

    pages = backup_store(store, out, without_log=without_log)
    click.echo(f"{out}: {pages:,} pages")


@command.command()
@click.argument("store", type=click.Path(path_type=Path))
@plugin_option
def check(store: Path) -> None:
    """Look through STORE: its file, its rows and every page; the experiment may go on. Exit code 1 for complaints."""
    from ltr_duel.live import check_store

    complaints = check_store(store)
    for complaint in complaints:
        click.echo(f"{store}: {complaint}")
    if complaints:
        sys.exit(1)
    click.echo(f"{store}: no complaints")


@command.command()
@click.argument("store", type=click.Path(path_type=Path))
@click.option("--out", type=OUT_FILE, required=True, help="Click log to write (.parquet, .csv, .jsonl).")
@click.option("--without", multiple=True, type=click.Choice(["query", "user"]), help="A column to leave out.")
@click.option("--spreadsheet", is_flag=True, help="Put ' before what a spreadsheet takes for a formula (CSV).")
@plugin_option
def export(store: Path, out: Path, without: tuple[str, ...], spreadsheet: bool) -> None:
    """Write the pages of STORE whose clicks are in as a click log, for 'logs compare'; the experiment may go on."""
    from ltr_duel.live import export_log

    rows = export_log(store, out, without=without, spreadsheet=spreadsheet)
    click.echo(f"{out}: {rows:,} impressions")
