"""``ltr-duel live``: inspect and control live experiments, and make plans."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from getpass import getuser
from itertools import combinations
from pathlib import Path

import click

from ltr_duel import live, logs
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import CONTINUED_FILE, OUT_FILE, PATH, LogOptions, option, plan_log_options
from ltr_duel.cli._output import echo_lines, print_answer, print_note
from ltr_duel.cli._words import Commands
from ltr_duel.core import InputError, several

_TIMES = ("%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d")


@click.group(cls=Commands)
def command() -> None:
    """Inspect and control live experiments; 'ltr-duel serve' runs them."""


def _store_command(function: Callable[..., None]) -> click.Command:
    return command.command()(click.argument("store", type=PATH)(options.plugin(function)))


@_store_command
@click.option("-o", "--out", type=OUT_FILE, required=True, help="The copy, a new file.")
def backup(store: Path, out: Path) -> None:
    """Copy STORE to a new file. The experiment may be running. To restore, copy the new file to a new STORE."""
    click.echo(f"{out}: {several(live.backup_store(store, out), 'page')}")


@_store_command
def check(store: Path) -> None:
    """Check that STORE is not damaged. The exit code is 1 if something is wrong."""
    complaints = live.check_store(store)
    echo_lines([f"{store}: {complaint}" for complaint in complaints or ["no complaints"]])
    if complaints:
        sys.exit(1)


@_store_command
@click.option("-o", "--out", type=OUT_FILE, required=True, help="The log: .parquet, .csv or .jsonl.")
@click.option("--events", type=OUT_FILE, help="Table of all events to write (same suffixes).")
@click.option("--without", multiple=True, type=click.Choice(["query", "user"]), help="A column to omit.")
def export(store: Path, out: Path, events: Path | None, without: tuple[str, ...]) -> None:
    """Write the click log of STORE for 'ltr-duel logs compare'. The experiment may be running."""
    impressions = live.export_log(store, out, events=events, without=without)
    click.echo(f"{out}: {several(impressions, 'impression')}")
    if not impressions:
        print_note("no page of several rankers counts yet: its window must be over, see the settings")


@_store_command
@click.argument("user", default="")
@click.option("--older-than", type=float, metavar="DAYS", help="Instead of one user: all queries shown before.")
def forget(store: Path, user: str, older_than: float | None) -> None:
    """Remove the id and the queries of USER from STORE. No count changes. The experiment may be running."""
    click.echo(f"{store}: {several(live.forget(store, user=user, older_than=older_than), 'page')} forgotten")


@_store_command
@click.argument("action", default="")
@click.argument("value", default="")
@click.option("--holdback", type=float, help="With 'share': share of the users who always get the incumbent's list.")
def control(store: Path, action: str, value: str, holdback: float | None) -> None:
    """Pause, change or end the experiment of STORE. A running service applies this within a second.

    With 'pause', all users get the incumbent's list. With 'winner' RANKER, all users get the list of RANKER. With
    'resume', the experiment goes on after 'pause' or 'winner'. With 'share' NUMBER, from 0 to 1, this share of users
    takes part. With 'drop' RANKER, this ranker is removed for good, and the policy starts again with the outcomes of
    the other rankers. With 'end', the experiment ends for good. All users then get the list of the winner, or the list
    of the incumbent if there is no winner. Without ACTION, the earlier actions are printed.
    """
    if not action:
        state, uses = live.read_controls(store)
        click.echo(f"{store}: {state.words}")
        echo_lines(json.dumps(use._asdict()) for use in uses)
        return
    if bool(value) != (action in ("winner", "share", "drop")):
        raise InputError(f"'{action}' {'takes no' if value else 'needs a'} value: see 'ltr-duel live control --help'")
    share = click.FLOAT(value) if action == "share" else None
    operator = ""
    with suppress(OSError, KeyError, ImportError):  # the system does not know the user's name
        operator = getuser()
    ranker = "" if action == "share" else value
    state = live.control_store(store, live.Control(action, ranker, share, holdback, operator))
    click.echo(f"{store}: {state.words} (a running service applies this within a second)")


@command.command()
@click.argument("config", type=PATH)
@plan_log_options
@option("-o", "--out", type=CONTINUED_FILE, default="plan.json", help="The plan; a copy is kept beside it.")
@click.option("--keys", type=PATH, help="Key file.  [default: key_file in CONFIG, or live.keys]")
@click.option("--at", type=click.DateTime(_TIMES), help="Time from which the plan is used, UTC.  [default: now]")
@click.option("--serve", metavar="RANKER", help="Show RANKER to all users who are not held back.")
@click.option("--check", "checks", is_flag=True, help="Fail if the log is not sound, or contradicts the stored plans.")
@options.plugin
@options.explain
def plan(
    config: Path, log: LogOptions, out: Path, keys: Path | None, at: datetime | None, serve: str | None,
    checks: bool,
) -> None:  # fmt: skip
    """Make the next plan of the experiment in CONFIG, from the log of all earlier plans.

    A plan says how often each set of rankers is shown. Any number of machines can follow a plan, in Python or
    JavaScript, without a service. They write the log that this command reads. The same settings, earlier plans, log and
    time give the same plan on every machine.
    """
    settings, begin = live.read_settings(config), at.replace(tzinfo=UTC).timestamp() if at else time.time()
    key_file = keys or config.parent / str(settings.serve.get("key_file", "live.keys"))
    if not key_file.exists() and log.is_given:
        raise InputError(f"{key_file}: is missing; machines that follow the earlier plans accept only its keys")
    signing = live.read_keys(key_file, create=True)
    earlier = live.kept_plans(out, signing)
    click_log = None
    if log.is_given:
        condition = "(kind = '{}')".format(settings.credit.replace("'", "''"))  # in brackets, the column need not exist
        click_log = log.open([logs.Outcome(settings.credit, condition, window=settings.window)], skip_bad=None)
        if not earlier:
            raise InputError(f"{out}: the plans that the log has followed are not beside this file")
        if checks and (complaints := live.check_plans(click_log, earlier, settings)):
            echo_lines(complaints)
            raise InputError(f"{click_log.path}: no plan is made from this log")
    used = (old for old in earlier.values() if old.at < int(begin))
    last = max(used, key=lambda old: old.version, default=None)
    plan = live.next_plan(settings, click_log, at=begin, last=last, winner=serve)
    stored = live.keep_plan(plan, out, signing)
    together, notes = live.compared_pairs(plan), [f"kept as {stored}"]
    apart = [" and ".join(pair) for pair in combinations(settings.rankers, 2) if frozenset(pair) not in together]
    if plan.learned and apart and not serve:
        notes.insert(0, f"no longer shown together, so this plan cannot decide them: {', '.join(apart)}")
    if click_log is not None and click_log.bad.count:
        bad = click_log.bad
        notes.insert(0, f"{several(bad.count, 'line')} of the log skipped; the first: {bad.sentences[0]}")
    learned = f"from {several(plan.learned, 'impression')}" if plan.learned else "before any impression"
    sets = f"{plan.winner} is shown to all users" if serve else f"{several(len(plan.sets), 'set')} of rankers"
    held = f" except {plan.holdback:g} of them" * bool(serve and plan.holdback)
    answer = f"The policy's answer so far: {plan.recommended}" * bool(plan.learned)
    print_answer(f"{out}: plan {plan.version} of '{plan.experiment}', {learned}; {sets}{held}", answer, notes)
