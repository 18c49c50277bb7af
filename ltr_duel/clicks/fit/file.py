"""The JSON file of a fitted click model, which `save_clicks` writes; its path is accepted as a click model's name."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ltr_duel.clicks.fit.api import FittedClicks
from ltr_duel.clicks.fit.walk import TINY
from ltr_duel.clicks.model import ClickFamily, ClickModel
from ltr_duel.core import FloatVector, InputError, files

FORMAT = "ltr-duel click model 1"
_LARGEST = 1 << 22  # maximum size in bytes
_UNKNOWN = 12**-0.5  # error of a probability that the sessions do not determine: the sd of a uniform distribution
_TABLES = ("click", "stop", "leave", "attention")


def save_clicks(fitted: FittedClicks, path: str | Path, *, source: str = "") -> None:
    """Write the table of a fitted click model, and the source of its sessions, to a ``.json`` file for ``--clicks``.

    Raises `InputError` if the model has no table by grade, the path does not end with .json, or the file cannot be
    written.
    """
    path = Path(path)
    check_clicks_path(path)
    model = fitted.model(path.name)
    about: dict[str, Any] = {
        "format": FORMAT,
        "model": fitted.form.name,
        "source": source,
        "click": model.p_click,
        "stop": model.p_stop,
        "leave": model.p_leave,
        "attention": model.p_notice,
        "errors": {
            name: [None if math.isnan(error) else error for error in one.errors] for name, one in fitted.blocks.items()
        },
        "errors_by": _errors_by(fitted),
        "train": _figures(fitted.train),
        "held_out": _figures(fitted.test),
    }
    files.write_text(path, json.dumps(about, indent=1, allow_nan=False) + "\n")


def _errors_by(fitted: FittedClicks) -> str:
    users = f"{fitted.users} users" if fitted.users else "session"
    return users if fitted.cluster == "user" else fitted.cluster


def check_clicks_path(path: Path) -> None:
    """Raise `InputError` for a path that could not be given as the name of a click model.

    The path must end with .json and contain no character that separates a click model's parameters.
    """
    if path.suffix != ".json":
        raise InputError(f"{path}: the name of a click model's file must end with .json")
    if set(str(path)) & set(":#"):
        raise InputError(f"{path}: the name of a click model's file must not contain ':' or '#'")


def _figures(score: Any) -> dict[str, Any] | None:
    if score is None:
        return None
    return {
        "sessions": score.sessions,
        "log_likelihood": score.log_likelihood,
        "perplexity": score.perplexity,
        "perplexity_by_place": np.asarray(score.by_place).tolist(),
    }


def read_family(path: Path, name: str) -> ClickFamily:
    """Read the file of a fitted click model as a component with the given name.

    Raises `InputError` if the path is not such a file, or its numbers are not probabilities.
    """
    try:
        if path.stat().st_size > _LARGEST:
            raise InputError(f"{path}: too large for the file of a click model (at most {_LARGEST >> 20} MB)")
        about = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise InputError(f"{path}: not the JSON file of a click model, or truncated") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise InputError(f"{path}: not the file of a click model: 'format' must be '{FORMAT}'")
    tables = {key: _probabilities(path, key, about.get(key, [])) for key in _TABLES}
    click, stop = tables["click"], tables["stop"]
    if len(click) < 2:
        raise InputError(f"{path}: 'click' must contain a probability for each of 2 or more grades")
    if not all(tables["attention"] or (1.0,)):
        raise InputError(f"{path}: 'attention' must be above 0 at each position")
    try:
        ClickModel(name, click, stop, p_leave=tables["leave"], p_notice=tables["attention"])
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return ClickFamily(
        name=name,
        tables={len(click): (click, stop)},
        p_leave=tables["leave"],
        p_notice=tables["attention"],
        errors=_errors_in(about, tables),
        where=f"fitted: {about.get('model')} to {about.get('source')}",
    )


def _probabilities(path: Path, key: str, values: Any) -> tuple[float, ...]:
    """Read a list of probabilities."""
    if not isinstance(values, list) or len(values) > 1001:
        raise InputError(f"{path}: '{key}' must be a list of at most 1,001 probabilities")
    for place, value in enumerate(values, 1):
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise InputError(
                f"{path}: number {place} of '{key}' must be a probability between 0 and 1, not {value!r}"[:300]
            )
    return tuple(map(float, values))


def _errors_in(about: dict[str, Any], tables: dict[str, tuple[float, ...]]) -> dict[str, tuple[float, ...]]:
    """Return the standard errors of the tables; tables for which no error is known are omitted.

    The error of p_stop = 1 - (going on) (1 - satisfaction) is computed as if the two factors were independent.
    """
    stated = about.get("errors")
    known = {
        name: [error if isinstance(error, int | float) and 0 <= error < 1 else None for error in errors]
        for name, errors in (stated.items() if isinstance(stated, dict) else ())
        if isinstance(errors, list)
    }
    going_on = 1 - np.array(tables["leave"] or [0.0] * len(tables["click"]))
    unsatisfied = np.clip((1 - np.array(tables["stop"])) / np.maximum(going_on, TINY), 0, 1)
    leave = _filled(known.get("going on", []) * len(going_on), going_on)
    satisfaction = _filled(known.get("satisfaction", []), unsatisfied)
    errors = {
        "p_click": _filled(known.get("attraction", []), tables["click"]),
        "p_stop": np.hypot(going_on * satisfaction, unsatisfied * leave),
        "p_leave": leave[: len(tables["leave"])],
        # the only attention without an error is the attention that defines the scale
        "p_notice": _filled(known.get("attention", []), tables["attention"], missing=0.0),
    }
    return {name: tuple(values.tolist()) for name, values in errors.items() if values.any()}


def _filled(errors: list[Any], values: Sequence[float] | FloatVector, missing: float = _UNKNOWN) -> FloatVector:
    """Replace the missing errors of some probabilities; all are 0 if no error is stated.

    Estimates of 0 and 1 have no errors in the file; their missing errors are replaced by 0.
    """
    if len(errors) != len(values) or not any(errors):
        return np.zeros(len(values))
    inside = [2 * TINY < value < 1 - 2 * TINY for value in values]
    filled = [missing * within if error is None else error for error, within in zip(errors, inside, strict=True)]
    return np.array(filled, np.float64)
