"""The one-table form: files of impressions become the relation ``log`` of an engine."""

from __future__ import annotations

import json
from itertools import accumulate
from pathlib import Path

from ltr_duel.logs.columns import require_columns, typed
from ltr_duel.logs.engine import Engine, named, quoted
from ltr_duel.logs.files import Files
from ltr_duel.logs.lines import load_lines
from ltr_duel.logs.table import LOG_COLUMNS

_NO_OBJECT = """CASE WHEN fault IS NOT NULL THEN fault WHEN NOT json_valid(text) THEN '"no JSON, or not all of it"'
    WHEN json_type(text) <> 'OBJECT' THEN '"not a JSON object with the columns as keys"' END"""


def create_log(engine: Engine, paths: tuple[Path, ...], kind: str, context: tuple[str, ...]) -> tuple[Files, list[str]]:
    """Make files a relation; return where its lines stand, and the columns that it leaves out.

    It has those columns of the table that the files have, further ones as texts, and ``line``: where a row stands
    (in Parquet its number from 1), counted through all files.

    Raises
    ------
    InputError
        If a file cannot be read at all.
    """
    columns = (*LOG_COLUMNS, *context)
    if kind == "parquet":
        rows, before = parquet_rows(engine, paths)
        kinds = [row["column_name"] for row in engine.rows(f"DESCRIBE {rows}") if row["column_name"] != "ltr_line"]
        require_columns(paths[0], kinds, "log")
        chosen = [
            named(name) if name in LOG_COLUMNS else f"{named(name)}::VARCHAR AS {named(name)}" for name in columns
        ]
        own = [one for name, one in zip(columns, chosen, strict=True) if name in kinds]
        raw = f"SELECT {', '.join(own)}, ltr_line AS line FROM ({rows})"
        engine.execute(f"CREATE VIEW log AS {typed(engine, raw)}")
        return Files(paths, before), [name for name in kinds if name not in columns]
    before = load_lines(engine, paths, kind)
    structure = quoted(json.dumps(dict.fromkeys(columns, "JSON" if kind == "jsonl" else "VARCHAR")))
    given = f"unnest(from_json(CASE WHEN json_valid(text) THEN text END, {structure}))"
    raw = f"SELECT line, {_NO_OBJECT} AS fault, {given} FROM lines"
    engine.execute(f"CREATE TABLE log AS {typed(engine, raw)}")
    keys = "SELECT line, unnest(json_keys(CASE WHEN json_valid(text) THEN text END)) AS key FROM lines"
    met = engine.rows(f"SELECT key FROM ({keys}) GROUP BY key ORDER BY min(line), key")
    engine.drop("lines")
    if met and kind == "jsonl":  # the first line of CSV has said it
        require_columns(paths[0], [row["key"] for row in met], "log")
    return Files(paths, before), [row["key"] for row in met if row["key"] not in columns]


def parquet_rows(engine: Engine, paths: tuple[Path | str, ...]) -> tuple[str, tuple[int, ...]]:
    """Return the SQL of the rows of Parquet files with ``ltr_line``, and how many lines are before each file."""
    names = f"[{', '.join(quoted(str(one)) for one in paths)}]"
    sizes = {
        row["file_name"]: row["num_rows"]
        for row in engine.rows(f"SELECT file_name, num_rows FROM parquet_file_metadata({names})")
    }
    before = (0, *accumulate(sizes[str(one)] for one in paths[:-1]))
    earlier = f"{list(before)}[file_index::BIGINT + 1]" if len(paths) > 1 else "0"
    union = ", union_by_name = true" * (len(paths) > 1)
    line = f"(file_row_number + 1 + {earlier})::BIGINT AS ltr_line"
    read = f"read_parquet({names}, file_row_number = true{union})"
    return f"SELECT * EXCLUDE (file_row_number), {line} FROM {read}", before
