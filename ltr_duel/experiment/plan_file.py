"""The plan as it lies in the store: a row for each run; the spec and the problems in the metadata."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from types import NoneType
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ltr_duel.core import InputError
from ltr_duel.experiment.record import NUMBER, checked_record, parsed_record
from ltr_duel.experiment.store import Store
from ltr_duel.simulation import AS_GIVEN

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
_ABOUT = {"name": str, "spec": str, "spec_path": str, "regrets": list, "problems": list, "plugins": list}
_OF_PROBLEM = {"name": str, "digest": str, "facts": dict, "values": dict}
_OF_PLUGIN = {"path": str, "sha256": str, "components": list}
_FACT = (str, int, float, NoneType)
_CHUNK = 1_000  # rows that are in memory at once


class StoredPlan(NamedTuple):
    """A plan read back."""

    path: Path
    about: dict[str, Any]  # spec (text), spec_path, name, regrets, problems, plugins
    runs: pa.Table

    @property
    def labels(self) -> str:
        """By which numbers policies knew the arms; plans did not say so when these were the rows of the matrix."""
        return str(self.about.get("labels", AS_GIVEN))


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
        table = pq.read_table(path)
        about = parsed_record((table.schema.metadata or {}).get(_KEY, b"{}"), {})
        if about.pop("format", None) != FORMAT:
            raise InputError(f"a Parquet file, but no plan of this program: {FORMAT}")
        about = checked_record(about, _ABOUT)
        for problem in about["problems"]:
            _check_problem(problem)
        about["plugins"] = [checked_record(plugin, _OF_PLUGIN) for plugin in about["plugins"]]
        if not all(isinstance(name, str) for name in about["regrets"]):
            raise InputError("'regrets' is not what it should be")
        if not table.schema.remove_metadata().equals(_SCHEMA) or any(one.null_count for one in table.columns):
            raise InputError("its columns are others")
        numbers = pc.min_max(table["problem"]).as_py()
        if len(table) and not 0 <= numbers["min"] <= numbers["max"] < len(about["problems"]):
            raise InputError("runs are on problems that it does not name")
    except (pa.ArrowException, OSError, InputError) as error:
        why = (str(error).strip().splitlines() or [""])[0]
        raise InputError(
            f"{path}: damaged, or not a plan ({why}); 'ltr-duel run' with the experiment's file writes it anew"
        ) from None
    return StoredPlan(path, about, table)


def require_same_labels(stores: Iterable[Store], wanted: Iterable[str] = ()) -> None:
    """Refuse to put runs whose arms were numbered at random beside runs whose arms kept the rows of the matrix."""
    found = dict.fromkeys(wanted, "")
    for store in stores:
        for path in store.files(store.plans):
            with suppress(pa.ArrowException, OSError, InputError):  # damaged: refused or written again elsewhere
                about = parsed_record((pq.read_schema(path).metadata or {}).get(_KEY, b"{}"), {})
                found.setdefault(about.get("labels", AS_GIVEN), f"{store.folder}: ")
    if len(found) > 1:
        raise InputError(
            f"{found[AS_GIVEN]}the runs there were made by a version in which policies numbered the arms as the matrix"
            " does, which the results depend on; they cannot be put together with runs of this version: take another"
            " folder"
        )


def _check_problem(given: Any) -> None:
    """Refuse what is no problem of a plan; ``values`` may be missing."""
    facts = checked_record({"values": {}} | given if isinstance(given, dict) else given, _OF_PROBLEM)["facts"]
    if not all(isinstance(fact, _FACT) for fact in facts.values()):
        raise InputError("'facts' is not what it should be")
    for one in given.get("values", {}).values():
        if not isinstance(one, list) or not all(isinstance(each, NUMBER) for each in one):
            raise InputError("'values' is not what it should be")
