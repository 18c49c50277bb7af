"""Runs as versions before 0.2 kept them: one Parquet file each, a manifest beside it. `merge` reads them.

A row for each checkpoint, the key in the schema's metadata. Columns: t, recommended (number of the arm), and, each a
list with one entry for each arm, pulls, exposure, best, worst.
"""

from __future__ import annotations

import calendar
import hashlib
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ltr_duel.core import InputError
from ltr_duel.experiment.about import About, Shared, make_shared
from ltr_duel.experiment.found import is_digest
from ltr_duel.experiment.record import NUMBER, Fields, checked_record, parsed_record, read_record
from ltr_duel.experiment.run_record import encode_run
from ltr_duel.experiment.store import Store
from ltr_duel.experiment.stored_run import Stored
from ltr_duel.simulation import AS_GIVEN, RunKey, RunResult, key_fields

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
_MANIFEST: Fields = {
    "sha256": str,
    "policy": str,
    "problem": str,
    "matrix_sha256": str,
    "seconds": NUMBER,
    "finished": str,
}
_OF_GROUP = ("policy", "problem", "data_sha256", "matrix_sha256")
_OWN = {  # of each run, or known by the rest
    "run", "sha256", "horizon", "repetition", "seed", "seconds", "finished", "decisions", "steps_per_second",
    "duels_per_second",
}  # fmt: skip


class OldReader:
    """Reads such runs of a store, as `ltr_duel.experiment.stored_run.Reader` does."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._shared: dict[str, Shared] = {}

    @property
    def folder(self) -> Path:
        """The store's."""
        return self._store.folder

    @property
    def digests(self) -> list[str]:
        """The runs that are there."""
        return sorted(path.stem for path in self._store.runs.glob("*.parquet") if is_digest(path.stem))

    def runs(self, digests: Iterable[str]) -> Iterator[tuple[str, Stored | str]]:
        """Yield each digest with the run, or with what is wrong, as a sentence."""
        for digest in digests:
            path = self._store.runs / f"{digest}.parquet"
            try:
                yield digest, self._run(path)
            except (pa.ArrowException, OSError, InputError) as error:
                why = (str(error).strip().splitlines() or [""])[0]
                yield digest, why if str(path.with_suffix("")) in why else f"{path}: damaged, or no run ({why})"

    def shared(self, name: str) -> Shared:
        """Return what several runs have in common, once one of them has been read."""
        return self._shared[name]

    def _run(self, path: Path) -> Stored:
        content = path.read_bytes()
        manifest = read_record(path.with_suffix(".json"), "a manifest", _MANIFEST)
        if hashlib.sha256(content).hexdigest() != manifest["sha256"]:
            raise InputError("the file is not the one its manifest describes")
        table = pq.read_table(pa.BufferReader(content))
        key, decisions = _key(table.schema.metadata)
        if key.digest != path.stem:
            raise InputError(f"the run is another one, {key.digest}")
        own = {name: value for name, value in key_fields(key).items() if name != "repetition"}
        group = make_shared({"key": own} | {name: manifest.get(name) for name in _OF_GROUP})
        origin = make_shared({name: one for name, one in manifest.items() if name not in {*_OWN, *_OF_GROUP}})
        self._shared |= {one.name: one for one in (group, origin)}
        try:
            finished = calendar.timegm(time.strptime(manifest["finished"], "%Y-%m-%dT%H:%M:%SZ"))
        except ValueError:
            raise InputError("'finished' is not what it should be") from None
        about = About(group.name, origin.name, key.repetition, float(manifest["seconds"]), float(finished))
        data = encode_run(_result(table, key, manifest["policy"], decisions))
        return Stored(path.stem, data, about, {"key": own}, 0)


def _key(metadata: dict[bytes, bytes] | None) -> tuple[RunKey, int]:
    """Return the key, and the number of decisions."""
    about = parsed_record((metadata or {}).get(_KEY, b"{}"), {})
    if about.get("format") != FORMAT:
        raise InputError(f"a Parquet file, but no run of this program: {FORMAT}")
    about = checked_record(about, {"key": dict, "decisions": int})
    key = checked_record(about["key"], _OF_KEY)
    return RunKey(**{name: key[name] for name in _OF_KEY}, labels=AS_GIVEN), about["decisions"]


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
