"""The session logs of the Yandex challenges: Relevance Prediction (WSCD 2012), Personalized Web Search (WSCD 2014).

Fields are separated by tabs. The first challenge has

    SessionID  TimePassed  Q  QueryID  RegionID  URLID ...
    SessionID  TimePassed  C  URLID

and the second has

    SessionID  M  Day  UserID
    SessionID  TimePassed  Q  SERPID  QueryID  TermID,TermID...  URLID,DomainID ...
    SessionID  TimePassed  C  SERPID  URLID

A query action is an impression. A click is credited to the last impression of its session that shows the document; in
the second challenge, to the impression with the click's SERPID. Clicks on other documents (advertisements, later pages)
are omitted. The logs have no time of day, so all impressions have time 0.
"""

from __future__ import annotations

from ltr_duel.logs.engine import Engine

_VIEWS = """
CREATE TABLE actions AS SELECT line, p[1] AS session, p, contains(coalesce(p[7], ''), ',') AS second, CASE
  WHEN len(p) = 4 AND p[2] = 'M' THEN 'M' WHEN len(p) >= 6 AND p[3] IN ('Q', 'T') THEN 'Q'
  WHEN len(p) IN (4, 5) AND p[3] = 'C' THEN 'C' END AS kind
  FROM (SELECT line, string_split(text, chr(9)) AS p FROM lines);
CREATE VIEW shown AS SELECT line, session,
  CASE WHEN second THEN p[4] ELSE (row_number() OVER (PARTITION BY session ORDER BY line) - 1)::VARCHAR END AS number,
  CASE WHEN second THEN p[5] ELSE p[4] END AS query,
  CASE WHEN second THEN list_transform(p[7:], lambda one: split_part(one, ',', 1)) ELSE p[6:] END AS shown
  FROM actions WHERE kind = 'Q';
CREATE VIEW clicked AS SELECT target AS line, list_sort(list(DISTINCT place::INTEGER)) AS clicks FROM (
  SELECT c.line, max(s.line) AS target, arg_max(list_position(s.shown, c.p[-1]), s.line) AS place
  FROM actions c JOIN shown s ON s.session = c.session AND s.line < c.line AND list_contains(s.shown, c.p[-1])
  AND (len(c.p) = 4 OR s.number = c.p[4]) WHERE c.kind = 'C' GROUP BY c.line) GROUP BY target;
CREATE TABLE log AS SELECT s.session || '/' || number AS impression, 0.0::DOUBLE AS time, query, user_id AS user, shown,
  coalesce(clicks, []::INTEGER[]) AS clicks, line, NULL::VARCHAR AS fault
  FROM shown s LEFT JOIN clicked USING (line)
  LEFT JOIN (SELECT session, any_value(p[4]) AS user_id FROM actions WHERE kind = 'M' GROUP BY session) USING (session)
  UNION ALL SELECT NULL, NULL, NULL, NULL, NULL, NULL, line,
  'neither a query (Q), a click (C) nor a session (M) of a Yandex log' FROM actions WHERE kind IS NULL
  ORDER BY line;
DROP VIEW clicked; DROP VIEW shown; DROP TABLE actions; DROP TABLE lines
"""


def create_sessions(engine: Engine) -> None:
    """Create the relation ``log`` from the table ``lines``."""
    engine.execute(_VIEWS)
