"""``ltr-duel live``: the store of an experiment behind a search page."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import suppress
from getpass import getuser
from pathlib import Path
from typing import Any

import click

from ltr_duel import live
from ltr_duel import plan as planning
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import COUNT, OUT_FILE, PATH, format_option, opened, tables
from ltr_duel.cli._output import echo_lines
from ltr_duel.cli._words import Commands
from ltr_duel.core import InputError, files, several

_SETS_SHOWN = 10


@click.group(cls=Commands)
def command() -> None:
    """Look at the store of a live experiment; 'ltr-duel serve' runs one."""


@command.command()
@click.argument("store", type=PATH)
@click.argument("out", type=PATH)
@click.option("--without-log", is_flag=True, help="Accept a STORE that was copied without its log.")
def backup(store: Path, out: Path, without_log: bool) -> None:
    """Copy STORE to the new file OUT, whole; the experiment may go on. To restore, copy OUT back in the same way."""
    pages = live.backup_store(store, out, without_log=without_log)
    click.echo(f"{out}: {several(pages, 'page')}")


def _of_store(function: Callable[..., None]) -> click.Command:
    """Make a command of a function of STORE."""
    return command.command()(click.argument("store", type=PATH)(options.plugin(function)))


@_of_store
def check(store: Path) -> None:
    """Look through STORE: its file, its rows and every page; the experiment may go on. Exit code 1 for complaints."""
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
@click.option("--events", type=OUT_FILE, help="Table of clicks and other outcomes to write beside it, likewise.")
@click.option("--without", multiple=True, type=click.Choice(["query", "user"]), help="A column to leave out.")
@click.option("--spreadsheet", is_flag=True, help="Put ' before what a spreadsheet takes for a formula (CSV).")
def export(store: Path, out: Path | None, events: Path | None, without: tuple[str, ...], spreadsheet: bool) -> None:
    """Write the pages of STORE whose clicks are in as a click log, for 'logs compare'; the experiment may go on."""
    out = out or Path(f"{store.stem}.parquet")
    rows = live.export_log(store, out, events=events, without=without, spreadsheet=spreadsheet)
    click.echo(f"{out}: {several(rows, 'impression')}")


@_of_store
@click.argument("user", default="")
@click.option(
    "--older-than", type=float, metavar="DAYS",
    help="Instead of one user: forget the users and queries of all pages shown more than DAYS days ago.",
)  # fmt: skip
@click.option("--user-key-file", type=PATH, help="That of the service, if users are hashed.")
def forget(store: Path, user: str, older_than: float | None, user_key_file: Path | None) -> None:
    """Forget who USER was in STORE, and what USER asked; counts stay. The experiment may go on."""
    key = next(iter(live.read_keys(user_key_file).values())) if user_key_file else b""
    pages = live.forget(store, user=user, older_than=older_than, user_key=key)
    none = f": no page is of user '{user}', or it was forgotten before" if user and not pages else ""
    click.echo(f"{store}: {several(pages, 'page')} forgotten{none}")


def _switched(store: Path, what: str, **how: Any) -> None:
    by = ""
    with suppress(OSError, KeyError, ImportError):  # a user without a name
        by = getuser()
    now = live.switch_store(store, live.Switch(what, by=by, **how))
    done = "resumed: " if what == "resume" else ""
    click.echo(f"{store}: {done}{now.words} (a running service follows within a second)")


@_of_store
def pause(store: Path) -> None:
    """Pause the experiment of STORE: every search gets the incumbent's list. A service does so within a second."""
    _switched(store, "pause")


@_of_store
def resume(store: Path) -> None:
    """Resume the experiment of STORE, or the winner that was served before 'pause'; after 'winner', the experiment."""
    _switched(store, "resume")


@_of_store
@click.argument("ranker")
def winner(store: Path, ranker: str) -> None:
    """Serve the list of RANKER to all users of STORE who are not held back, in place of the experiment."""
    _switched(store, "winner", ranker=ranker)


@_of_store
@click.argument("share", type=float)
@click.option(
    "--holdback", type=float, help="Part of the users that always gets the incumbent's list.  [default: as it is]"
)
def share(store: Path, share: float, holdback: float | None) -> None:
    """Let the part SHARE (0 to 1) of the users of STORE take part; the others get the incumbent's list."""
    _switched(store, "share", share=share, holdback=holdback)


@_of_store
@click.argument("ranker")
def drop(store: Path, ranker: str) -> None:
    """Remove RANKER from the experiment of STORE for good; a new policy gets the outcomes of the remaining rankers."""
    _switched(store, "drop", ranker=ranker)


@_of_store
def end(store: Path) -> None:
    """End the experiment of STORE for good: users get the list of the winner that is served, or the incumbent's."""
    _switched(store, "end")


@_of_store
@click.option("--out", type=PATH, help="JSON lines to write, one for each use of a switch.")
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
@click.argument("experiment", type=PATH)
@tables
@click.option("--log", "file", help="Click log, or folder or glob of logs, of all earlier plans.")
@format_option
@click.option(
    "--out", type=OUT_FILE, default=Path("plan.json"), show_default=True, help="The plan; each is kept beside it."
)
@click.option("--at", help="When it begins to be used (ISO 8601, UTC by default).  [default: now]")
@click.option("--version", type=COUNT, help="Of the plan.  [default: one more than the last]")
@click.option("--check", "checks", is_flag=True, help="Make no plan if the log is not sound, or not of the kept plans.")
@options.plugin
def plan(
    experiment: Path, kind: str, out: Path, at: str | None, version: int | None, checks: bool, **given: Any
) -> None:
    """Make the next plan of EXPERIMENT, a file of settings, from the log of all earlier ones.

    A plan says with which probability a search is shown which rankers. Any number of machines follow it, in Python or
    JavaScript, without a service; what they log is what this command reads. The same settings, log, version and time
    give the same plan on every machine.
    """
    import time

    settings = live.read_settings(experiment)
    planned = planning.plan_settings(settings, str(experiment))
    key_file = experiment.parent / planned.key_file
    logged = given["file"] or given["exposures"] or given["source"]
    if not key_file.exists() and logged:
        raise InputError(f"{key_file}: is missing; whoever follows the earlier plans believes its keys")
    keys = live.signing_keys(key_file)
    kept, begins = planning.kept_plans(out, keys), time.time() if at is None else _moment(at)
    log = None
    if logged:
        log = opened(settings.credit, given | {"kind": kind, "skip_bad": None})
    if checks and log is not None:
        complaints = planning.check_plans(log, kept, settings)
        echo_lines(complaints)
        if complaints:
            raise InputError(f"{log.path}: no plan is made from it")
    after = max((one.version for one in kept.values() if one.at < int(begins)), default=0)
    made = planning.next_plan(settings, log, at=begins, version=version, after=after, plan=planned)
    if checks and kept and (last := kept[max(kept)]).settings != made.settings:
        other = "begin an experiment of another name"
        raise InputError(f"{experiment}: the settings have changed since plan {last.version}: {other}")
    path = planning.keep_plan(made, out, keys)
    learned = f"from {several(made.learned, 'impression')}" if made.learned else "before any impression"
    answer = f"; the policy's answer so far: {made.recommended}" if made.learned else ""
    sets = several(len(made.sets), "set")
    click.echo(
        f"{out}: plan {made.version} of '{made.experiment}', {learned}; {sets} of rankers{answer}; kept as {path}"
    )
    for names, count in made.sets[:_SETS_SHOWN]:
        click.echo(f"  {count / made.draws:7.2%}  {' | '.join(names)}")
    if len(made.sets) > _SETS_SHOWN:
        click.echo(f"  ... and {several(len(made.sets) - _SETS_SHOWN, 'set')} more, in the file")
    if log is not None and log.bad.count:
        click.echo(f"{several(log.bad.count, 'line')} of the log passed over; the first: {log.bad.sentences[0]}")


def _moment(text: str) -> float:
    from datetime import UTC, datetime

    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(f"--at is a date and time such as 2026-11-23T12:00, not '{text}'") from None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
