"""Read records of User Behavior Insights 1.3. A record is a query or an event in JSON, on a line of its own.

A query is an exposure. Queries with the same ``query_id`` are merged, because several components of a site may record
the same query: each field has the first value that is not empty. The shown list is ``query_response_hit_ids``. If
this field is missing, the list consists of the objects in the query's events with the action ``impression``. Positions
count from 0, or from the smallest position in events of this action.

The interleaved rankers and other columns of a log are in ``query_attributes``. If these have no ``page`` and no
``owners``, the field ``search_config`` of an event names the ranker of its item.
"""

from __future__ import annotations

from collections.abc import Sequence

from ltr_duel.core import several
from ltr_duel.logs.columns import seconds, typed
from ltr_duel.logs.engine import Engine, named, quoted
from ltr_duel.logs.mapping import NO_OBJECT
from ltr_duel.logs.table import EVENT

_TEXTS = ("page", "method", "outcome", "policy")
_LISTS = ("rankers", "owners", "propensity")  # columns that are read as JSON
_USER = "coalesce(nullif(json ->> '$.user_id', ''), json ->> '$.client_id')"
_EVENTS = f"""CREATE TABLE all_events AS SELECT line, (json ->> '$.query_id') AS impression, {_USER} AS user,
  (json ->> '$.application') AS application, (json ->> '$.action_name') AS kind, (json ->> '$.timestamp') AS time,
  (json ->> '$.event_attributes.object.object_id') AS item,
  try_cast((json ->> '$.event_attributes.position.ordinal') AS BIGINT) AS ordinal,
  (json ->> '$.event_attributes.search_config') AS owner, (json ->> '$.event_attributes.value') AS value,
  (json ->> '$.event_attributes.dwell_time') AS dwell
  FROM records WHERE (json ->> '$.action_name') IS NOT NULL"""
_SEEN = """SELECT line AS origin, nullif(impression, '') AS impression, nullif(e.user, '') AS user,
  nullif(item, '') AS item, ordinal - coalesce(base, 0) + 1 AS position, nullif(owner, '') AS owner, kind, value,
  dwell, time
  FROM all_events e LEFT JOIN (SELECT application, min(ordinal) AS base FROM all_events WHERE kind = 'impression'
    GROUP BY application) b ON e.application IS NOT DISTINCT FROM b.application
  WHERE kind <> 'impression'"""
_LISTED = """SELECT impression, list(item ORDER BY ordinal, line) AS listed FROM
  (SELECT impression, item, min(ordinal) AS ordinal, min(line) AS line FROM all_events
   WHERE kind = 'impression' AND item <> '' GROUP BY impression, item) GROUP BY impression"""
_SHOWN = f"""SELECT q.* EXCLUDE (hits), coalesce(hits, listed) AS shown FROM
  (SELECT (json ->> '$.query_id') AS impression, min(line) AS origin, {{more}},
   arg_min(time, coalesce({seconds("time")}, 'inf')) AS time,
   arg_min(nullif(try_cast((json -> '$.query_response_hit_ids') AS VARCHAR[]), []), line) AS hits
   FROM (SELECT *, (json ->> '$.timestamp') AS time FROM records)
   WHERE (json ->> '$.query_id') IS NOT NULL AND (json ->> '$.action_name') IS NULL GROUP BY 1) q
  LEFT JOIN ({_LISTED}) USING (impression)"""

_IS_QUERY = "(json ->> '$.action_name') IS NULL AND (json ->> '$.query_id')"  # IS NULL, or IS NOT NULL
_UNREAD = f"""SELECT * FROM (SELECT line AS origin, line, {NO_OBJECT} AS fault FROM lines) WHERE fault IS NOT NULL
  UNION ALL SELECT line, line, 'a query has no query_id' FROM records
    WHERE {_IS_QUERY} IS NULL AND (json ->> '$.user_query') IS NOT NULL"""
_MERGED = f"""SELECT count(*) AS ids, CAST(sum(n) AS BIGINT) AS queries, count(CASE WHEN lists > 1 THEN 1 END) AS many
  FROM (SELECT count(*) AS n, count(DISTINCT nullif(json ->> '$.query_response_hit_ids', '[]')) AS lists
    FROM records WHERE {_IS_QUERY} IS NOT NULL GROUP BY json ->> '$.query_id')"""


def create_views(engine: Engine, context: Sequence[str] = ()) -> list[str]:
    """Create ``exposures`` and ``events`` from the table ``lines``, and return a sentence if queries were merged.

    Context columns are attributes of queries.
    """
    engine.execute("CREATE TABLE records AS SELECT line, text::JSON AS json FROM lines WHERE json_valid(text)")
    engine.execute(f"CREATE TABLE unread AS {_UNREAD}")
    engine.execute("DROP TABLE lines")
    engine.execute(_EVENTS)
    engine.execute(f"CREATE VIEW events AS {typed(engine, _SEEN, EVENT)}")
    texts = {"query": "json ->> '$.user_query'", "user": _USER}
    texts |= {name: f"json ->> {quoted('$.query_attributes.' + name)}" for name in (*_TEXTS, *context)}
    first = {name: f"nullif(({value}), '')" for name, value in texts.items()}
    first |= {name: f"nullif((json -> '$.query_attributes.{name}'), 'null')" for name in _LISTS}
    more = ", ".join(f"arg_min({value}, line) AS {named(name)}" for name, value in first.items())
    shown = f"SELECT *, origin AS line FROM ({typed(engine, _SHOWN.format(more=more))})"
    engine.create("exposures", f"{shown} UNION ALL BY NAME SELECT * FROM unread")
    owners = ("owners", "page")
    (given,) = engine.rows(f"SELECT {', '.join(f'count({name}) AS {name}' for name in owners)} FROM exposures")
    if not any(given.values()) and engine.rows("SELECT count(owner) AS n FROM events")[0]["n"]:
        for name in owners:
            engine.execute(f"ALTER TABLE exposures DROP COLUMN {name}")
    ids, queries, many = engine.rows(_MERGED)[0].values()
    if queries == ids:
        return []
    different = f"; {several(many, 'id')} with different lists: the first list counts" * (many > 0)
    return [f"{queries:,} queries have {ids:,} ids: queries of the same id are one impression{different}"]
