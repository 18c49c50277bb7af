"""The JSON file of a fitted click model, which `save_clicks` writes; its path is accepted as a click model's name."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from ltr_duel.clicks.fit.api import FittedClicks
from ltr_duel.clicks.model import ClickFamily, ClickModel
from ltr_duel.core import InputError, files

FORMAT = "ltr-duel click model 2"
_TABLE = ("p_click", "p_stop", "p_leave", "p_notice")


def save_clicks(fitted: FittedClicks, path: str | Path, *, source: str = "") -> None:
    """Write the table of a fitted click model, and the source of its sessions, to a ``.json`` file for ``--clicks``.

    Raises `InputError` if the model has no table by grade, the path does not end with .json, or the file cannot be
    written.
    """
    path = Path(path)
    check_clicks_path(path)
    table, scores = asdict(fitted.model(path.name)), {"train": fitted.train, "held_out": fitted.test}
    content = {"format": FORMAT, "model": fitted.form.name, "source": source} | {name: table[name] for name in _TABLE}
    content |= {"errors": fitted.table_errors(), "errors_by": fitted.cluster, "users": fitted.users}
    content |= {name: score.log_likelihood for name, score in scores.items() if score}
    files.write_text(path, json.dumps(content, indent=1, allow_nan=False) + "\n")


def check_clicks_path(path: Path) -> None:
    """Raise `InputError` for a path that could not be given as the name of a click model."""
    if path.suffix != ".json":
        raise InputError(f"{path}: the name of a click model's file must end with .json")
    if set(str(path)) & set(":#"):
        raise InputError(f"{path}: the name of a click model's file must not contain ':' or '#'")


def read_family(path: Path, name: str) -> ClickFamily:
    """Read the file of a fitted click model as a component with the given name.

    Raises `InputError` if the path is not such a file, or its numbers are not probabilities.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        version = content["format"]
        click, stop, leave, notice = (tuple(map(float, content.get(key, ()))) for key in _TABLE)
        errors = {key: tuple(map(float, content["errors"][key])) for key in _TABLE if key in content["errors"]}
        where = f"fitted: {content['model']} to {content['source']}"
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(f"{path}: not the JSON file of a click model, or truncated") from None
    if version != FORMAT:
        raise InputError(f"{path}: not a click model of this version: 'format' must be '{FORMAT}'")
    if not all(notice or (1.0,)):
        raise InputError(f"{path}: 'p_notice' must be above 0 at each position")
    try:
        ClickModel(name, click, stop, p_leave=leave, p_notice=notice)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    tables = {len(click): (click, stop)}
    return ClickFamily(name=name, tables=tables, p_leave=leave, p_notice=notice, errors=errors, where=where)
