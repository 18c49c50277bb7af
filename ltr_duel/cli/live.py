"""``ltr-duel live``: manage the store of a live experiment, and make plans."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import suppress
from getpass import getuser
from itertools import combinations
from pathlib import Path
from typing import Any

import click

from ltr_duel import live, logs
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import OUT_FILE, PATH, Place, format_option, opened, tables
from ltr_duel.cli._output import echo_lines
from ltr_duel.cli._words import Commands
from ltr_duel.core import InputError, several

_SETS_SHOWN = 10


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
    """Check that the file of STORE is whole and its tables fit, without counting again. Exit code 1 for complaints."""
    complaints = live.check_store(store)
    echo_lines([f"{store}: {complaint}" for complaint in complaints or ["no complaints"]])
    if complaints:
        sys.exit(1)


@_of_store
@click.option(
    "-o", "--out", type=OUT_FILE,
    help="Click log to write (.parquet, .csv, .jsonl).  [default: the name of STORE, with .parquet]",
)  # fmt: skip
@click.option("--events", type=OUT_FILE, help="Table of all events to write (same suffixes).")
@click.option("--without", multiple=True, type=click.Choice(["query", "user"]), help="A column to omit.")
def export(store: Path, out: Path | None, events: Path | None, without: tuple[str, ...]) -> None:
    """Write the pages of STORE that count as a click log for 'logs compare', also while the experiment runs."""
    out = out or OUT_FILE.convert(f"{store.stem}.parquet", None, click.get_current_context())
    rows = live.export_log(store, out, events=events, without=without)
    click.echo(f"{out}: {several(rows, 'impression')}")
    if not rows:
        click.echo("no page of several rankers counts yet: its window must be over, see the settings", err=True)


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


@command.command()
@click.argument("config", type=PATH)
@tables
@click.option("--log", "file", help="Click log of all earlier plans: a file, folder or glob.")
@format_option
@click.option(
    "-o", "--out", type=Place(continues=True), default=Path("plan.json"), show_default=True,
    help="The plan to write; a copy is kept beside it.",
)  # fmt: skip
@click.option(
    "--keys", type=PATH, help="Key file; created for the first plan.  [default: key_file in CONFIG, or live.keys]"
)
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

    settings, begins = live.read_settings(config), time.time() if at is None else _moment(at)
    key_file = keys or config.parent / str(settings.serve.get("key_file", "live.keys"))
    logged = given["file"] or given["exposures"] or given["source"]
    if not key_file.exists() and logged:
        raise InputError(f"{key_file}: is missing; machines that follow the earlier plans accept only its keys")
    signing = live.read_keys(key_file, create=True)
    kept = live.kept_plans(out, signing)
    condition = "(kind = '{}')".format(settings.credit.replace("'", "''"))  # in brackets, the kind may be missing
    credited = logs.Outcome(settings.credit, condition, window=settings.window)
    log = opened([credited], given | {"kind": kind, "skip_bad": None}) if logged else None
    if log is not None and not kept:
        raise InputError(f"{out}: the plans that the log has followed are not beside this file")
    if log is not None and checks:
        complaints = live.check_plans(log, kept, settings)
        echo_lines(complaints)
        if complaints:
            raise InputError(f"{log.path}: no plan is made from this log")
    last = kept[max(before)] if (before := [v for v, one in kept.items() if one.at < int(begins)]) else None
    made = live.next_plan(settings, log, at=begins, last=last, winner=serve)
    path = live.keep_plan(made, out, signing)
    learned = f"from {several(made.learned, 'impression')}" if made.learned else "before any impression"
    answer = f"; the policy's answer so far: {made.recommended}" if made.learned else ""
    held = f" except {made.holdback:g} of them" if made.holdback else ""
    sets = f"{made.winner} is shown to all users{held}" if serve else f"{several(len(made.sets), 'set')} of rankers"
    click.echo(f"{out}: plan {made.version} of '{made.experiment}', {learned}; {sets}{answer}; kept as {path}")
    for names, count in made.sets[: 0 if serve else _SETS_SHOWN]:
        click.echo(f"  {count / made.draws:7.2%}  {' | '.join(names)}")
    if len(made.sets) > _SETS_SHOWN and not serve:
        click.echo(f"  ... and {several(len(made.sets) - _SETS_SHOWN, 'set')} more in the file")
    together = live.compared_pairs(made)
    gone = [pair for pair in combinations(settings.rankers, 2) if frozenset(pair) not in together]
    if made.learned and gone and not serve:
        some = ", ".join([*map(" and ".join, gone[:3]), *["..."] * (len(gone) > 3)])
        click.echo(f"no longer shown together, so this plan cannot decide them: {some} ({several(len(gone), 'pair')})")
    if log is not None and log.bad.count:
        click.echo(f"{several(log.bad.count, 'line')} of the log skipped; the first: {log.bad.sentences[0]}")


def _moment(text: str) -> float:
    from datetime import UTC, datetime

    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(f"--at must be a date and time such as 2026-11-23T12:00, not '{text}'") from None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
