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
from ltr_duel.experiment.record import checked_record, parsed_record
from ltr_duel.simulation import RunKey, RunResult

FORMAT = "ltr_duel.run/1"
_KEY = b"ltr_duel"
_ARRAYS = {"pulls": pa.int64(), "exposure": pa.float64(), "best": pa.int64(), "worst": pa.int64()}
_OF_KEY = {
    "oracle": dict,
    "policy": str,
    "params": dict,
    "horizon": int,
    "repetition": int,
    "seed": int,
    "checkpoints_per_decade": int,
    "measured_by": str,
    "source": str,
}


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
    try:
        return _key(pq.read_metadata(path).metadata)[0]
    except (pa.ArrowException, OSError, InputError) as error:
        raise _refused(path, error) from None


def read_run(path: Path, label: str) -> RunResult:
    """Read a run back. ``label`` is how its policy was called.

    Raises
    ------
    InputError
        If the file is no run, not a whole one, or that of another key than its name says.
    """
    try:
        table = pq.read_table(path)
        key, decisions = _key(table.schema.metadata)
        if key.digest != path.stem:
            raise InputError(f"the run is another one, {key.digest}")
        return _result(table, key, label, decisions)
    except (pa.ArrowException, OSError, InputError) as error:
        raise _refused(path, error) from None


def _key(metadata: dict[bytes, bytes] | None) -> tuple[RunKey, int]:
    """Return the key, and the number of decisions."""
    about = parsed_record((metadata or {}).get(_KEY, b"{}"), {})
    if about.get("format") != FORMAT:
        raise InputError(f"a Parquet file, but no run of this program: {FORMAT}")
    about = checked_record(about, {"key": dict, "decisions": int})
    key = checked_record(about["key"], _OF_KEY)
    return RunKey(**{name: key[name] for name in _OF_KEY}), about["decisions"]


def _result(table: pa.Table, key: RunKey, label: str, decisions: int) -> RunResult:
    """Take the columns, if they are those of the key."""
    kinds = {"t": pa.int64(), "recommended": pa.int64()}
    found = dict(zip(table.schema.names, table.schema.types, strict=True))
    arms = getattr(found.get("pulls"), "list_size", 0)
    kinds |= {name: pa.list_(kind, arms) for name, kind in _ARRAYS.items()}
    for name, kind in kinds.items():
        if found.get(name) != kind:
            raise InputError(f"the column '{name}' is missing, or of another type")
    columns = {name: table[name].combine_chunks() for name in kinds}
    flat = {name: columns[name].flatten() if name in _ARRAYS else columns[name] for name in kinds}
    if any(column.null_count for column in (*columns.values(), *flat.values())):
        raise InputError("values are missing")
    values = {name: one.to_numpy() for name, one in flat.items()}
    times = values["t"]
    if len(times) == 0 or times[0] < 1 or times[-1] != key.horizon or (np.diff(times) < 1).any():
        raise InputError("the checkpoints are not those of the run")
    if values["recommended"].min() < 0 or values["recommended"].max() >= arms:
        raise InputError("an arm is recommended that does not exist")
    arrays = {name: values[name].reshape(len(times), arms) for name in _ARRAYS}
    return RunResult(
        key,
        label,
        times,
        arrays["pulls"],
        arrays["exposure"],
        values["recommended"],
        decisions,
        arrays["best"],
        arrays["worst"],
    )


def _refused(path: Path, error: Exception) -> InputError:
    return InputError(f"{path}: damaged, or no run ({(str(error).strip().splitlines() or [''])[0]})")
