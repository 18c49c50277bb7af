"""The file of a plan. It has a row for each run; its metadata contain the spec and the components of the runs' keys."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from types import NoneType
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ltr_duel.core import InputError
from ltr_duel.experiment.record import NUMBER, Fields, checked_record, parsed_record, require_ordinary
from ltr_duel.experiment.store import Store

FORMAT = "ltr_duel.plan/2"
_KEY, _CHECKSUM = b"ltr_duel", b"ltr_duel.sha256"  # keys of the JSON and its checksum; Parquet itself checks the rows
_SCHEMA = pa.schema(
    [
        ("digest", pa.string()),
        ("label", pa.string()),
        ("problem", pa.int32()),
        ("horizon", pa.int64()),
        ("repetition", pa.int64()),
    ]
)
_ABOUT = {
    "name": str, "spec": str, "spec_path": str, "regrets": list, "problems": list, "policies": dict, "plugins": list,
    "key": dict,
}  # fmt: skip
_OF_PROBLEM: Fields = {
    "name": str, "digest": str, "facts": dict, "values": dict, "oracle": dict, "measured_by": str,
    "matrix_sha256": str, "data_sha256": (str, NoneType),
}  # fmt: skip
_OF_POLICY = {"policy": str, "params": dict, "source": str}
_OF_KEY = {"seed": int, "checkpoints_per_decade": int, "labels": str, "batch": int, "delay": int}
_OF_PLUGIN = {"path": str, "sha256": str, "components": list}
_FACT = (str, int, float, NoneType)
_CHUNK = 1_000  # number of rows in memory at once
MOST_RUNS = 10**7  # largest number of runs of a plan, which is one table in memory


class StoredPlan(NamedTuple):
    """A plan, read from the store."""

    path: Path
    about: dict[str, Any]  # `Plan.about`
    runs: pa.Table

    def key(self, label: str, problem: int, horizon: int) -> dict[str, Any]:
        """Return all fields of a run's key except the repetition, for a policy on a problem."""
        of_problem = {name: self.about["problems"][problem][name] for name in ("oracle", "measured_by")}
        return {**of_problem, **self.about["policies"][label], **self.about["key"], "horizon": horizon}


def write_plan(file: BinaryIO, about: dict[str, Any], runs: Iterable[Any]) -> None:
    """Write the file of a plan; each column contains an attribute of the runs."""
    text = json.dumps({"format": FORMAT, **about}, sort_keys=True).encode()
    schema = _SCHEMA.with_metadata({_KEY: text, _CHECKSUM: hashlib.sha256(text).hexdigest()})
    # Digests never repeat, so a dictionary of them would only waste memory.
    options = {"compression": "zstd", "use_dictionary": ["label"], "write_page_checksum": True}
    with pq.ParquetWriter(file, schema, **options) as writer:
        chunk: dict[str, list[Any]] = {name: [] for name in schema.names}
        for run in runs:
            for name, values in chunk.items():
                values.append(getattr(run, name))
            if len(chunk["digest"]) == _CHUNK:
                writer.write_table(pa.table(chunk, schema))
                chunk = {name: [] for name in schema.names}
        writer.write_table(pa.table(chunk, schema))


def read_plans(store: Store) -> list[StoredPlan]:
    """Read all plans of a store, sorted by file name. Raises the errors of `read_plan`."""
    return [read_plan(path) for path in store.files(store.plans)]


def read_plan(path: Path) -> StoredPlan:
    """Read a plan from the store.

    Raises `InputError` if the file is damaged or not a plan.
    """
    try:
        require_ordinary(path)
        # read_table would import pandas, which takes longer than the whole command `ltr-duel status`
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            if file.metadata.num_rows > MOST_RUNS:
                raise InputError(f"it has {file.metadata.num_rows:,} runs, but a plan has at most {MOST_RUNS:,}")
            table = file.read(use_threads=False)
        metadata = table.schema.metadata or {}
        about = parsed_record(text := metadata.get(_KEY, b"{}"), {})
        if about.pop("format", None) != FORMAT:
            raise InputError("made by another version")
        if metadata.get(_CHECKSUM, b"").decode(errors="replace") != hashlib.sha256(text).hexdigest():
            raise InputError("its checksum does not match")
        about = checked_record(about, _ABOUT)
        for problem in about["problems"]:
            _check_problem(problem)
        for policy in about["policies"].values():
            _only(policy, _OF_POLICY)
        _only(about["key"], _OF_KEY)
        about["plugins"] = [checked_record(plugin, _OF_PLUGIN) for plugin in about["plugins"]]
        if not all(isinstance(name, str) for name in about["regrets"]):
            raise InputError("'regrets' has values of the wrong type")
        if not table.schema.remove_metadata().equals(_SCHEMA) or any(one.null_count for one in table.columns):
            raise InputError("its columns are wrong")
        numbers = pc.min_max(table["problem"]).as_py()
        if len(table) and not 0 <= numbers["min"] <= numbers["max"] < len(about["problems"]):
            raise InputError("a run has a problem that the plan does not contain")
        if not about["policies"].keys() >= set(pc.unique(table["label"]).to_pylist()):
            raise InputError("a run has a policy that the plan does not contain")
    except (pa.ArrowException, OSError, ValueError) as error:  # the file is unreadable, or names are not UTF-8
        why = (str(error).strip().splitlines() or [""])[0]
        raise InputError(
            f"{path}: damaged, or not a plan ({why}); 'ltr-duel run' with the experiment's file writes it again"
        ) from None
    return StoredPlan(path, about, table)


def _only(given: Any, fields: Fields) -> None:
    """Raise an error unless a value is a dictionary with exactly these fields."""
    if len(checked_record(given, fields)) > len(fields):
        raise InputError("it has fields of another version")


def _check_problem(given: Any) -> None:
    """Raise an error unless a value describes a problem of a plan."""
    if not all(isinstance(fact, _FACT) for fact in checked_record(given, _OF_PROBLEM)["facts"].values()):
        raise InputError("'facts' has values of the wrong type")
    for one in given["values"].values():
        if not isinstance(one, list) or not all(isinstance(each, NUMBER) for each in one):
            raise InputError("'values' are not lists of numbers")
