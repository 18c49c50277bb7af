"""Options of commands that read a log: where it is, and what of it counts."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import click

from ltr_duel import logs
from ltr_duel.cli._options import PATH, ROWS
from ltr_duel.core import InputError

format_option = click.option(
    "--format", "kind", default="", help="jsonl, csv, parquet, yandex or ubi, if the name does not say."
)
skip_option = click.option(
    "--skip-bad", type=ROWS, default=0, show_default=True, help="Bad lines to pass over, and count."
)
_SOURCES = (
    click.argument("file", metavar="[LOG]", required=False),
    click.option("--exposures", help="Instead of a LOG: file, folder, glob or table of the lists that were shown."),
    click.option("--events", help="File, folder, glob or table of what users did with their items."),
    click.option("--source", type=PATH, help="TOML file that maps the columns of both."),
    click.option("--connect", default="", help="URL of the engine that holds the tables, as Ibis takes it."),
    click.option("--within", default="", help="Such as 7d: so late events count without the id of an exposure."),
    click.option(
        "--attribute", default="last", show_default=True, help="Late events to the last, first or all exposures."
    ),
)


OUTCOMES = "click, another kind of event, value, dwell>=30"


def sources(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that say where a log is."""
    return reduce(lambda command, option: option(command), reversed(_SOURCES), command)


def tables(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that stand for a LOG."""
    return reduce(lambda command, option: option(command), reversed(_SOURCES[1:]), command)


def opened(outcome: str, given: dict[str, Any]) -> logs.ClickLog:
    """Return the log that the options mean."""
    file, exposures, source = given["file"], given["exposures"], given["source"]
    if (file and exposures) or not (file or exposures or source):
        raise InputError("give either a LOG, or --exposures with --events, or --source")
    return logs.ClickLog(
        file or exposures,
        format=given["kind"],
        skip_bad=given["skip_bad"],
        events=given["events"],
        source=source,
        connect=given["connect"],
        outcome=outcome,
        within=given["within"],
        which=given["attribute"],
        context=given.get("context", ()),
    )
