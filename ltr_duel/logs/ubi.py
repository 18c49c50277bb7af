"""User Behavior Insights 1.3: queries and events as JSON, one a line, or as a bulk request writes them.

A query is an exposure; records with the same ``query_id`` are one, of which the first value of each kind counts. What
it showed are its ``query_response_hit_ids``, or else the objects of its events with the action ``impression`` in the
order of their positions, which count from 0 or from 1, whichever the application does. Who was interleaved stands in
``query_attributes``: ``page`` (a page token), or ``rankers`` and ``owners``.
"""

from __future__ import annotations

from json import loads
from pathlib import Path
from typing import Any

from ltr_duel.logs.engine import Engine, named, owner_numbers, quoted
from ltr_duel.logs.mapping import seconds


def create_views(engine: Engine, paths: tuple[Path, ...], context: tuple[str, ...] = ()) -> None:
    """Make the views ``exposures`` and ``events`` of some files; further columns are attributes of queries."""
    names = ", ".join(quoted(str(path)) for path in paths)
    read = f"read_ndjson_objects([{names}], ignore_errors = true, maximum_object_size = 16777216, filename = 'file')"
    run = engine.duckdb.execute
    run(f"CREATE TABLE records AS SELECT json, file, row_number() OVER () AS line FROM {read}")

    def text(*names: str) -> str:
        found = ", ".join(f"nullif((json ->> {quoted('$.' + name)}), '')" for name in names)
        return f"coalesce({found})" if len(names) > 1 else found

    def first(value: str) -> str:
        return f"arg_min({value}, line)"  # of those that are not null

    time = seconds("(json ->> '$.timestamp')", "VARCHAR")
    run(f"""CREATE TABLE all_events AS SELECT line, {text("query_id")} AS impression,
        {text("user_id", "client_id")} AS user, {text("application")} AS application,
        {text("action_name")} AS kind, {time} AS time,
        {text("event_attributes.object.object_id")} AS item,
        try_cast((json ->> '$.event_attributes.position.ordinal') AS BIGINT) AS ordinal,
        try_cast((json ->> '$.event_attributes.value') AS DOUBLE) AS value,
        try_cast((json ->> '$.event_attributes.dwell_time') AS DOUBLE) AS dwell
        FROM records WHERE (json ->> '$.action_name') IS NOT NULL""")
    base = "SELECT application, min(ordinal) AS base FROM all_events WHERE kind = 'impression' GROUP BY application"
    run(f"""CREATE VIEW events AS SELECT impression, e.user, item, ordinal - coalesce(base, 1) + 1 AS position,
        CAST(NULL AS VARCHAR) AS owner, kind, value, dwell, time
        FROM all_events e LEFT JOIN ({base}) b ON e.application IS NOT DISTINCT FROM b.application
        WHERE kind <> 'impression'""")
    more = "".join(f"{first(text('query_attributes.' + name))} AS {named(name)}, " for name in context)
    listed = """SELECT impression, list(item ORDER BY ordinal, line) AS listed FROM
        (SELECT impression, item, min(ordinal) AS ordinal, min(line) AS line FROM all_events
         WHERE kind = 'impression' AND item IS NOT NULL GROUP BY impression, item) GROUP BY impression"""
    given, rankers = "(json -> '$.query_attributes.owners')", "(json -> '$.query_attributes.rankers')"
    numbers = owner_numbers(f"try_cast({given} AS VARCHAR[])", f"try_cast({rankers} AS VARCHAR[])")
    owners = f"CASE WHEN contains({given}::VARCHAR, '\"') THEN {numbers} ELSE try_cast({given} AS INTEGER[]) END"
    run(f"""CREATE VIEW exposures AS SELECT q.* EXCLUDE (hits), coalesce(hits, listed) AS shown FROM
        (SELECT {text("query_id")} AS impression, min({time}) AS time, {first(text("user_query"))} AS query,
         {first(text("user_id", "client_id"))} AS user, {first(text("query_attributes.page"))} AS page,
         {first("try_cast((json -> '$.query_attributes.rankers') AS VARCHAR[])")} AS rankers,
         {first(owners)} AS owners, {more}
         {first("nullif(try_cast((json -> '$.query_response_hit_ids') AS VARCHAR[]), [])")} AS hits
         FROM records WHERE (json ->> '$.query_id') IS NOT NULL AND (json ->> '$.action_name') IS NULL
         GROUP BY impression) q
        LEFT JOIN ({listed}) l USING (impression)""")


def find_query(engine: Engine, impression: str | None) -> tuple[str, int, dict[str, Any]]:
    """Return the file and the line of the first record of a query, and what it says in our words."""
    (found, *_) = engine.rows(
        """SELECT file, json, line - (SELECT min(line) FROM records r WHERE r.file = q.file) + 1 AS row FROM records q
        WHERE nullif((json ->> '$.query_id'), '') IS NOT DISTINCT FROM ? AND (json ->> '$.action_name') IS NULL
        ORDER BY line""",
        impression,
    )
    record = loads(found["json"])
    attributes = record.get("query_attributes")
    owners = attributes.get("owners") if isinstance(attributes, dict) else None
    return found["file"], found["row"], {"time": record.get("timestamp"), "owners": owners}
