"""The plan as it lies in the store: a row for each run; the spec and the problems in the metadata."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from ltr_duel.core import InputError

FORMAT = "ltr_duel.plan/1"
_KEY = b"ltr_duel"
_SCHEMA = pa.schema(
    [
        ("digest", pa.string()),
        ("label", pa.string()),
        ("problem", pa.int32()),
        ("horizon", pa.int64()),
        ("repetition", pa.int64()),
    ]
)
_CHUNK = 1_000  # rows that are in memory at once


class StoredPlan(NamedTuple):
    """A plan read back."""

    path: Path
    about: dict[str, Any]  # spec (text), spec_path, name, regrets, problems, plugins
    runs: pa.Table


def write_plan(file: BinaryIO, about: dict[str, Any], runs: Iterable[Any]) -> None:
    """Write the file. ``runs`` have the attributes that are the columns."""
    schema = _SCHEMA.with_metadata({_KEY: json.dumps({"format": FORMAT, **about}, sort_keys=True).encode()})
    # Digests never repeat: a dictionary of them would only be memory.
    with pq.ParquetWriter(file, schema, compression="zstd", use_dictionary=["label"]) as writer:
        chunk: dict[str, list[Any]] = {name: [] for name in schema.names}
        for run in runs:
            for name, values in chunk.items():
                values.append(getattr(run, name))
            if len(chunk["digest"]) == _CHUNK:
                writer.write_table(pa.table(chunk, schema))
                chunk = {name: [] for name in schema.names}
        writer.write_table(pa.table(chunk, schema))


def read_plans(folder: Path) -> list[StoredPlan]:
    """Read all plans of a store, in the order of their files' names.

    Raises
    ------
    InputError
        If one of the files is damaged.
    """
    plans = []
    for path in sorted(folder.glob("*.parquet")):
        try:
            table = pq.read_table(path)
            about = json.loads((table.schema.metadata or {})[_KEY])
        except (pa.ArrowException, OSError, ValueError, KeyError) as error:
            raise InputError(f"{path}: not a plan ({str(error).splitlines()[0]})") from None
        if about.pop("format", None) != FORMAT:
            raise InputError(f"{path}: not a plan of this program ({FORMAT})")
        plans.append(StoredPlan(path, about, table))
    return plans
