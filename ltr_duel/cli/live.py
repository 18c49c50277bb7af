"""``ltr-duel live``: manage the store of a live experiment, and make plans."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import suppress
from getpass import getuser
from pathlib import Path
from typing import Any

import click

from ltr_duel import live, live2
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import OUT_FILE, PATH, Place, format_option, opened, tables
from ltr_duel.cli._output import echo_lines
from ltr_duel.cli._words import Commands
from ltr_duel.core import InputError, files, several

_SETS_SHOWN = 10


@click.group(cls=Commands)
def command() -> None:
    """Inspect and control live experiments; 'ltr-duel serve' runs them."""


@command.command()
@click.argument("store", type=PATH)
@click.argument("out", type=PATH)
@click.option("--without-log", is_flag=True, help="Accept a STORE that was copied without its log.")
def backup(store: Path, out: Path, without_log: bool) -> None:
    """Copy STORE to the new file OUT, also while the experiment runs. To restore, copy OUT to a new STORE."""
    pages = live.backup_store(store, out, without_log=without_log)
    click.echo(f"{out}: {several(pages, 'page')}")


def _of_store(function: Callable[..., None]) -> click.Command:
    """Turn a function into a command with the argument STORE."""
    return command.command()(click.argument("store", type=PATH)(options.plugin(function)))


@_of_store
def check(store: Path) -> None:
    """Check the file, rows and pages of STORE, also while the experiment runs. Exit code 1 if there are complaints."""
    complaints = live.check_store(store)
    for complaint in complaints:
        click.echo(f"{store}: {complaint}")
    if complaints:
        sys.exit(1)
    click.echo(f"{store}: no complaints")


@_of_store
@click.option(
    "--out", type=OUT_FILE,
    help="Click log to write (.parquet, .csv, .jsonl; .ndjson: UBI).  [default: the name of STORE, with .parquet]",
)  # fmt: skip
@click.option("--events", type=OUT_FILE, help="Table of clicks and other outcomes to write (same suffixes).")
@click.option("--without", multiple=True, type=click.Choice(["query", "user"]), help="A column to omit.")
@click.option("--spreadsheet", is_flag=True, help="In CSV, put ' before text that looks like a formula.")
def export(store: Path, out: Path | None, events: Path | None, without: tuple[str, ...], spreadsheet: bool) -> None:
    """Write the completed pages of STORE as a click log for 'logs compare', also while the experiment runs."""
    out = out or OUT_FILE.convert(f"{store.stem}.parquet", None, click.get_current_context())
    rows = live.export_log(store, out, events=events, without=without, spreadsheet=spreadsheet)
    click.echo(f"{out}: {several(rows, 'impression')}")


@_of_store
@click.argument("user", default="")
@click.option(
    "--older-than", type=float, metavar="DAYS",
    help="Instead of one user: delete the user ids and queries of all pages shown more than DAYS days ago.",
)  # fmt: skip
@click.option("--user-key-file", type=PATH, help="Key file of the service, if users are hashed.")
def forget(store: Path, user: str, older_than: float | None, user_key_file: Path | None) -> None:
    """Delete USER's id and queries from STORE, also while the experiment runs; counts stay unchanged."""
    key = next(iter(live.read_keys(user_key_file).values())) if user_key_file else b""
    pages = live.forget(store, user=user, older_than=older_than, user_key=key)
    none = f": no page belongs to user '{user}', or the user was forgotten before" if user and not pages else ""
    click.echo(f"{store}: {several(pages, 'page')} forgotten{none}")


def _switched(store: Path, what: str, **how: Any) -> None:
    by = ""
    with suppress(OSError, KeyError, ImportError):  # the user has no name
        by = getuser()
    now = live.switch_store(store, live.Switch(what, by=by, **how))
    done = "resumed: " if what == "resume" else ""
    click.echo(f"{store}: {done}{now.words} (a running service applies this within a second)")


@_of_store
def pause(store: Path) -> None:
    """Pause the experiment of STORE: every search gets the incumbent's list. A service applies this within a second."""
    _switched(store, "pause")


@_of_store
def resume(store: Path) -> None:
    """Undo 'pause' in STORE so that the experiment or winner is served again; if STORE is not paused, undo 'winner'."""
    _switched(store, "resume")


@_of_store
@click.argument("ranker")
def winner(store: Path, ranker: str) -> None:
    """Serve the list of RANKER to all users of STORE who are not held back, instead of the experiment."""
    _switched(store, "winner", ranker=ranker)


@_of_store
@click.argument("share", type=float)
@click.option(
    "--holdback", type=float, help="Share of the users that always gets the incumbent's list.  [default: unchanged]"
)
def share(store: Path, share: float, holdback: float | None) -> None:
    """Set the SHARE (0 to 1) of the users of STORE who take part; the others get the incumbent's list."""
    _switched(store, "share", share=share, holdback=holdback)


@_of_store
@click.argument("ranker")
def drop(store: Path, ranker: str) -> None:
    """Remove RANKER from STORE's experiment for good; a new policy starts with the other rankers' outcomes so far."""
    _switched(store, "drop", ranker=ranker)


@_of_store
def end(store: Path) -> None:
    """End the experiment of STORE for good: users get the list of the served winner, or else of the incumbent."""
    _switched(store, "end")


@_of_store
@click.option("--out", type=OUT_FILE, help="File to write, with one JSON line for each use of a switch.")
def switches(store: Path, out: Path | None) -> None:
    """Print the state of the switches of STORE, and each use of a switch with its page number."""
    now, used = live.read_switches(store)
    click.echo(f"{store}: {now.words}")
    lines = [json.dumps({"time": one.at, "page": one.page, **one.switch.to_json()}) for one in used]
    if out is None:
        echo_lines(lines)
        return
    files.write_text(out, "".join(f"{line}\n" for line in lines))
    click.echo(f"{out}: {len(lines):,} uses of switches")


@command.command()
@click.argument("config", type=PATH)
@tables
@click.option("--log", "file", help="Click log of all earlier plans: a file, folder or glob.")
@format_option
@click.option(
    "--out", type=Place(continues=True), default=Path("plan.json"), show_default=True,
    help="The plan to write; a copy is kept beside it.",
)  # fmt: skip
@click.option("--keys", type=PATH, help="Key file; created for the first plan.  [default: live.keys beside CONFIG]")
@click.option("--at", help="Time from which the plan is used (ISO 8601, UTC by default).  [default: now]")
@click.option("--serve", default="", metavar="RANKER", help="Show RANKER to all users who are not held back.")
@click.option("--check", "checks", is_flag=True, help="Fail if the log is not sound, or contradicts the stored plans.")
@options.plugin
def plan(
    config: Path, kind: str, out: Path, keys: Path | None, at: str | None, serve: str, checks: bool, **given: Any
) -> None:
    """Make the next plan of an experiment, whose settings are in CONFIG, from the log of all earlier plans.

    A plan contains the probability of each set of rankers for a search. Any number of machines can follow a plan, in
    Python or JavaScript, without a service; this command reads their logs. The same settings, plans, log and time give
    the same plan on every machine.
    """
    import time

    settings, begins = live2.read_settings(config), time.time() if at is None else _moment(at)
    key_file = keys or config.with_name("live.keys")
    logged = given["file"] or given["exposures"] or given["source"]
    if not key_file.exists() and logged:
        raise InputError(f"{key_file}: is missing; machines that follow the earlier plans accept only its keys")
    signing = live2.read_keys(key_file, create=True)
    kept = live2.kept_plans(out, signing)
    log = opened(settings.credit, given | {"kind": kind, "skip_bad": None}) if logged else None
    if log is not None and not kept:
        raise InputError(f"{out}: the plans that the log has followed are not beside this file")
    if log is not None and checks:
        complaints = live2.check_plans(log, kept, settings)
        echo_lines(complaints)
        if complaints:
            raise InputError(f"{log.path}: no plan is made from this log")
    last = kept[max(before)] if (before := [v for v, one in kept.items() if one.at < int(begins)]) else None
    made = live2.next_plan(settings, log, at=begins, last=last, winner=serve)
    path = live2.keep_plan(made, out, signing)
    learned = f"from {several(made.learned, 'impression')}" if made.learned else "before any impression"
    answer = f"; the policy's answer so far: {made.recommended}" if made.learned else ""
    sets = f"{made.winner} is shown to all users" if serve else f"{several(len(made.sets), 'set')} of rankers"
    click.echo(f"{out}: plan {made.version} of '{made.experiment}', {learned}; {sets}{answer}; kept as {path}")
    for names, count in made.sets[: 0 if serve else _SETS_SHOWN]:
        click.echo(f"  {count / made.draws:7.2%}  {' | '.join(names)}")
    if len(made.sets) > _SETS_SHOWN and not serve:
        click.echo(f"  ... and {several(len(made.sets) - _SETS_SHOWN, 'set')} more in the file")
    if log is not None and log.bad.count:
        click.echo(f"{several(log.bad.count, 'line')} of the log skipped; the first: {log.bad.sentences[0]}")


def _moment(text: str) -> float:
    from datetime import UTC, datetime

    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(f"--at must be a date and time such as 2026-11-23T12:00, not '{text}'") from None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
