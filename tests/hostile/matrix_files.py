"""Files that claim to be preference matrices, for the tables of hostile cases."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


def npy(shape: object, dtype: str = "<f8", data: bytes = b"") -> bytes:
    """Return an .npy file that claims to hold an array of a shape."""
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + data


def saved(values: Any) -> bytes:
    """Return an .npy file of an array."""
    file = io.BytesIO()
    np.save(file, np.array(values))
    return file.getvalue()


def parquet(about: dict[str, Any] | None = None, metadata: bytes | None = None, **columns: Any) -> bytes:
    """Return a matrix of two rankers, with some of its metadata or columns forged; None leaves a column out."""
    said = {"format": "ltr_duel.preferences/2", "names": ["a", "b"], "provenance": {}} | (about or {})
    table = {
        "first": pa.array(["a"]),
        "second": pa.array(["b"]),
        "p": np.array([0.6]),
        "standard_error": np.array([0.0]),
        "comparisons": np.array([0]),
    } | columns
    file = io.BytesIO()
    written = pa.table({name: column for name, column in table.items() if column is not None})
    content = json.dumps(said).encode() if metadata is None else metadata
    pq.write_table(written.replace_schema_metadata({b"ltr_duel": content}), file)
    return file.getvalue()
