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

from ltr_duel import live
from ltr_duel import plan as planning
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import COUNT, OUT_FILE, PATH, Place, format_option, opened, tables
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
    out = out or Path(f"{store.stem}.parquet")
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
@click.argument("experiment", type=PATH)
@tables
@click.option("--log", "file", help="Click log of all earlier plans: a file, folder or glob.")
@format_option
@click.option(
    "--out",
    type=Place(continues=True),
    default=Path("plan.json"),
    show_default=True,
    help="The plan to write; a copy is kept beside it.",
)
@click.option("--at", help="Time from which the plan is used (ISO 8601, UTC by default).  [default: now]")
@click.option("--version", type=COUNT, help="Version of the plan.  [default: one more than the last version]")
@click.option("--check", "checks", is_flag=True, help="Fail if the log is not sound, or contradicts the stored plans.")
@options.plugin
def plan(
    experiment: Path, kind: str, out: Path, at: str | None, version: int | None, checks: bool, **given: Any
) -> None:
    """Make the next plan of EXPERIMENT, a file of settings, from the log of all earlier plans.

    A plan contains the probability of each set of rankers for a search. Any number of machines can follow a plan, in
    Python or JavaScript, without a service; this command reads their logs. The same settings, log, version and time
    give the same plan on every machine.
    """
    import time

    settings = live.read_settings(experiment)
    planned = planning.plan_settings(settings, str(experiment))
    key_file = experiment.parent / planned.key_file
    logged = given["file"] or given["exposures"] or given["source"]
    if not key_file.exists() and logged:
        raise InputError(f"{key_file}: is missing; machines that follow the earlier plans accept only its keys")
    keys = live.signing_keys(key_file)
    kept, begins = planning.kept_plans(out, keys), time.time() if at is None else _moment(at)
    log = None
    if logged:
        log = opened(settings.credit, given | {"kind": kind, "skip_bad": None})
    if checks and log is not None:
        complaints = planning.check_plans(log, kept, settings)
        echo_lines(complaints)
        if complaints:
            raise InputError(f"{log.path}: no plan is made from this log")
    after = max((one.version for one in kept.values() if one.at < int(begins)), default=0)
    made = planning.next_plan(settings, log, at=begins, version=version, after=after, plan=planned)
    if checks and kept and (last := kept[max(kept)]).settings != made.settings:
        other = "begin an experiment with another name"
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
