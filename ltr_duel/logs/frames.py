"""Logs given as data frames or as Ibis tables: they are stored as Parquet, so that there is one way to read a log."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ltr_duel.core import InputError


def is_path(source: Any) -> bool:
    """Return whether a source of a log is a path."""
    return isinstance(source, str | Path)


def stored(source: Any, owner: Any) -> Path:
    """Store a table as Parquet, in a folder that is removed with ``owner``; return the path of the file.

    Raises
    ------
    InputError
        If the source is not a data frame (pandas, polars, Arrow or another frame with Arrow's interface) or an Ibis
        table.
    """
    write = _writer_of(source)
    folder = tempfile.mkdtemp(prefix="ltr_duel-frame-")
    weakref.finalize(owner, shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder, "frame.parquet")
    try:
        write(path)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InputError(f"the data frame cannot be stored as Arrow: {str(error).splitlines()[0]}") from None
    return path


def _writer_of(source: Any) -> Any:
    if type(source).__module__.startswith("ibis.") and hasattr(source, "to_parquet"):
        return source.to_parquet
    if hasattr(source, "__arrow_c_stream__"):
        return lambda path: pq.write_table(pa.table(source), path)
    raise InputError(
        "a log is a path, a folder, a data frame (pandas, polars, Arrow), an Ibis table or a ClickLog, not a value of"
        f" type {type(source).__name__}"
    )
