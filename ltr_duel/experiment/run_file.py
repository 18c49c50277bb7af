"""One run as one Parquet file: a row for each checkpoint, the key in the schema's metadata.

Columns: t, recommended (number of the arm), and, each a list with one entry for each arm, pulls, exposure, best, worst
(see `ltr_duel.simulation.result.RunResult`). The bytes depend on the key and the result, on nothing else.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ltr_duel.core import InputError
from ltr_duel.simulation import RunKey, RunResult

FORMAT = "ltr_duel.run/1"
_KEY = b"ltr_duel"
_ARRAYS = {"pulls": pa.int64(), "exposure": pa.float64(), "best": pa.int64(), "worst": pa.int64()}


def encode_run(run: RunResult) -> bytes:
    """Return the file's bytes."""
    columns: dict[str, Any] = {"t": run.checkpoints, "recommended": run.recommended}
    for name, kind in _ARRAYS.items():
        values = np.ascontiguousarray(getattr(run, name))
        columns[name] = pa.FixedSizeListArray.from_arrays(pa.array(values.ravel(), kind), values.shape[1])
    about = {"format": FORMAT, "key": run.key.__dict__, "decisions": run.decisions}
    table = pa.table(columns).replace_schema_metadata({_KEY: json.dumps(about, sort_keys=True).encode()})
    data = io.BytesIO()
    pq.write_table(table, data, compression="zstd")
    return data.getvalue()


def read_key(path: Path) -> RunKey:
    """Read the key of a run from the end of its file.

    Raises
    ------
    InputError
        If the file is no run, or not a whole one.
    """
    return RunKey(**_about(path)["key"])


def read_run(path: Path, label: str) -> RunResult:
    """Read a run back."""
    about = _about(path)
    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: damaged ({str(error).splitlines()[0]})") from None
    checkpoints = table["t"].to_numpy()
    arrays = {name: table[name].combine_chunks().flatten().to_numpy().reshape(len(checkpoints), -1) for name in _ARRAYS}
    return RunResult(
        RunKey(**about["key"]),
        label,
        checkpoints,
        arrays["pulls"],
        arrays["exposure"],
        table["recommended"].to_numpy(),
        about["decisions"],
        arrays["best"],
        arrays["worst"],
    )


def _about(path: Path) -> dict[str, Any]:
    try:
        metadata = pq.read_metadata(path).metadata or {}
        about: dict[str, Any] = json.loads(metadata.get(_KEY, b"{}"))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(f"{path}: not a whole Parquet file ({str(error).splitlines()[0]})") from None
    if about.get("format") != FORMAT:
        raise InputError(f"{path}: a Parquet file, but no run of this program ({FORMAT})")
    return about
