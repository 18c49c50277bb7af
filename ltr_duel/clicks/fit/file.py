"""Store a fitted click model in a JSON file. The path of the file can then be used as the name of a click model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ltr_duel.clicks.fit.api import FittedClicks
from ltr_duel.clicks.model import ClickFamily, ClickModel
from ltr_duel.core import InputError, files

FORMAT = "ltr-duel click model 3"
_TABLE = ("p_click", "p_stop", "p_leave", "p_notice")


def save_clicks(fitted: FittedClicks, path: str | Path, *, source: str = "") -> None:
    """Write a fitted click model to a ``.json`` file. The text ``source`` says where its sessions come from.

    Raises `InputError` if simulations cannot use the model, the path does not end with .json, or writing fails.
    """
    path = Path(path)
    check_clicks_path(path)
    (model, errors), (_, cluster, clusters) = fitted.table(path.name), fitted.errors
    content: dict[str, Any] = {"format": FORMAT, "model": fitted.form.name, "source": source}
    content |= {name: getattr(model, name) for name in _TABLE}
    content |= {"errors": errors, "errors_by": cluster, "clusters": clusters}
    content |= {"train": fitted.train.log_likelihood, "held_out": fitted.test and fitted.test.log_likelihood}
    files.write_text(path, json.dumps(content, indent=1, allow_nan=False) + "\n")


def check_clicks_path(path: Path) -> None:
    """Raise `InputError` for a path that cannot be the name of a click model."""
    if path.suffix != ".json" or set(str(path)) & set(":#"):
        raise InputError(f"{path}: the name of a click model's file must end with .json, and not contain ':' or '#'")


def read_family(path: Path, name: str) -> ClickFamily:
    """Read the file of a fitted click model, and give the model a name.

    Raises `InputError` if the file is not a click model, or if its numbers are not probabilities.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["format"] != FORMAT:
            raise InputError(f"not a click model of this version: 'format' must be '{FORMAT}'")
        click, stop, leave, notice = (tuple(map(float, content[key])) for key in _TABLE)
        ClickModel(name, click, stop, p_leave=leave, p_notice=notice)
        errors = {key: tuple(map(float, values)) for key, values in content["errors"].items()}
        where = f"fitted: {content['model']} to {content['source']}"
    except (InputError, OSError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', error)}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(f"{path}: not the JSON file of a click model, or truncated") from None
    tables = {len(click): (click, stop)}
    return ClickFamily(name=name, tables=tables, p_leave=leave, p_notice=notice, errors=errors, where=where)
