"""``ltr-duel live``: manage the store of a live experiment, and make plans."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import suppress
from getpass import getuser
from pathlib import Path

import click

from ltr_duel import live2 as live
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import OUT_FILE, PATH
from ltr_duel.cli._output import echo_lines
from ltr_duel.cli._words import Commands
from ltr_duel.core import InputError, several


@click.group(cls=Commands)
def command() -> None:
    """Inspect and control live experiments; 'ltr-duel serve' runs them."""


def _of_store(function: Callable[..., None]) -> click.Command:
    """Turn a function into a command with the argument STORE."""
    return command.command()(click.argument("store", type=PATH)(options.plugin(function)))


@_of_store
@click.argument("out", type=PATH)
def backup(store: Path, out: Path) -> None:
    """Copy STORE to the new file OUT, also while the experiment runs. To restore, copy OUT to a new STORE."""
    click.echo(f"{out}: {several(live.backup_store(store, out), 'page')}")


@_of_store
def check(store: Path) -> None:
    """Check the file and the rows of STORE, also while the experiment runs. Exit code 1 if there are complaints."""
    complaints = live.check_store(store)
    echo_lines([f"{store}: {complaint}" for complaint in complaints or ["no complaints"]])
    if complaints:
        sys.exit(1)


@_of_store
@click.option(
    "--out", type=OUT_FILE,
    help="Click log to write (.parquet, .csv, .jsonl; .ndjson: UBI).  [default: the name of STORE, with .parquet]",
)  # fmt: skip
@click.option("--events", type=OUT_FILE, help="Table of all events to write (same suffixes).")
@click.option("--without", multiple=True, type=click.Choice(["query", "user"]), help="A column to omit.")
@click.option("--spreadsheet", is_flag=True, help="In CSV, put ' before text that looks like a formula.")
def export(store: Path, out: Path | None, events: Path | None, without: tuple[str, ...], spreadsheet: bool) -> None:
    """Write the pages of STORE that count as a click log for 'logs compare', also while the experiment runs."""
    out = out or OUT_FILE.convert(f"{store.stem}.parquet", None, click.get_current_context())
    rows = live.export_log(store, out, events=events, without=without, spreadsheet=spreadsheet)
    click.echo(f"{out}: {several(rows, 'impression')}")


@_of_store
@click.argument("user", default="")
@click.option(
    "--older-than", type=float, metavar="DAYS",
    help="Instead of one user: remove the queries of pages shown more than DAYS days ago, and the users who have not"
    " been shown a page since.",
)  # fmt: skip
def forget(store: Path, user: str, older_than: float | None) -> None:
    """Remove USER's id and queries from STORE, also while the experiment runs; counts stay unchanged."""
    pages = live.forget(store, user=user, older_than=older_than)
    none = f": no page belongs to user '{user}', or the user was forgotten before" if user and not pages else ""
    click.echo(f"{store}: {several(pages, 'page')} forgotten{none}")


@_of_store
@click.argument("what", default="")
@click.argument("value", default="")
@click.option("--holdback", type=float, help="With 'share': share of the users who always get the incumbent's list.")
def control(store: Path, what: str, value: str, holdback: float | None) -> None:
    """Control the experiment of STORE; a service applies this within a second. Without WHAT, print all uses.

    WHAT is 'pause' (every search gets the incumbent's list), 'resume' (undoes 'pause', otherwise 'winner'), 'winner'
    RANKER (users get this ranker's list), 'share' NUMBER (0 to 1, of the users who take part), 'drop' RANKER (remove a
    ranker for good; a policy of the others learns again from their outcomes), or 'end' (for good: users get the list
    of the served winner, otherwise of the incumbent).
    """
    if not what:
        now, used = live.read_controls(store)
        click.echo(f"{store}: {now.words}")
        echo_lines([json.dumps(use._asdict()) for use in used])
        return
    if bool(value) != (what in ("winner", "share", "drop")):
        raise InputError(f"'{what}' {'takes no' if value else 'needs a'} value: see 'ltr-duel live control --help'")
    share = None
    if what == "share":
        try:
            share, value = float(value), ""
        except ValueError:
            raise InputError(f"a share is a number from 0 to 1, not '{value}'") from None
    who = ""
    with suppress(OSError, KeyError, ImportError):  # the user has no name
        who = getuser()
    after = live.control_store(store, live.Control(what, value, share, holdback, who))
    click.echo(f"{store}: {after.words} (a running service applies this within a second)")
