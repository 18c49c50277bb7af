"""The plan in the store: a row for each run; in the metadata the spec, and whatever else determines the runs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from types import NoneType
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ltr_duel.core import InputError
from ltr_duel.experiment.record import NUMBER, Fields, checked_record, parsed_record
from ltr_duel.experiment.store import Store

FORMAT = "ltr_duel.plan/2"
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
_CHUNK = 1_000  # rows that are in memory at once


class StoredPlan(NamedTuple):
    """A plan read back."""

    path: Path
    about: dict[str, Any]  # `Plan.about`
    runs: pa.Table

    def key(self, label: str, problem: int, horizon: int) -> dict[str, Any]:
        """Return the fields of the keys of the runs of a policy on a problem; their repetition is missing."""
        of_problem = {name: self.about["problems"][problem][name] for name in ("oracle", "measured_by")}
        return {**of_problem, **self.about["policies"][label], **self.about["key"], "horizon": horizon}


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


def read_plans(store: Store) -> list[StoredPlan]:
    """Read all plans of a store, in the order of their files' names. Raises what `read_plan` does."""
    return [read_plan(path) for path in store.files(store.plans)]


def read_plan(path: Path) -> StoredPlan:
    """Read a plan back.

    Raises `InputError` if the file is damaged, or no plan.
    """
    try:
        with pq.ParquetFile(path) as file:  # read_table would import pandas, which takes longer than `status`
            table = file.read(use_threads=False)
        about = parsed_record((table.schema.metadata or {}).get(_KEY, b"{}"), {})
        if about.pop("format", None) != FORMAT:
            raise InputError(f"a Parquet file, but no plan of this program: {FORMAT}")
        about = checked_record(about, _ABOUT)
        for problem in about["problems"]:
            _check_problem(problem)
        for policy in about["policies"].values():
            _only(policy, _OF_POLICY)
        _only(about["key"], _OF_KEY)
        about["plugins"] = [checked_record(plugin, _OF_PLUGIN) for plugin in about["plugins"]]
        if not all(isinstance(name, str) for name in about["regrets"]):
            raise InputError("'regrets' is not what it should be")
        if not table.schema.remove_metadata().equals(_SCHEMA) or any(one.null_count for one in table.columns):
            raise InputError("its columns are others")
        numbers = pc.min_max(table["problem"]).as_py()
        if len(table) and not 0 <= numbers["min"] <= numbers["max"] < len(about["problems"]):
            raise InputError("runs are on problems that it does not name")
        if not about["policies"].keys() >= set(pc.unique(table["label"]).to_pylist()):
            raise InputError("runs are of policies that it does not name")
    except (pa.ArrowException, OSError, InputError) as error:
        why = (str(error).strip().splitlines() or [""])[0]
        raise InputError(
            f"{path}: damaged, or not a plan ({why}); 'ltr-duel run' with the experiment's file writes it anew"
        ) from None
    return StoredPlan(path, about, table)


def _only(given: Any, fields: Fields) -> None:
    """Refuse what is not an object with exactly these fields."""
    if len(checked_record(given, fields)) > len(fields):
        raise InputError("it has fields of another version")


def _check_problem(given: Any) -> None:
    """Refuse what is no problem of a plan."""
    if not all(isinstance(fact, _FACT) for fact in checked_record(given, _OF_PROBLEM)["facts"].values()):
        raise InputError("'facts' is not what it should be")
    for one in given["values"].values():
        if not isinstance(one, list) or not all(isinstance(each, NUMBER) for each in one):
            raise InputError("'values' is not what it should be")
