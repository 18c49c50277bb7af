"""A click log in files or a database, read as a relation of an SQL engine or in batches of checked rows."""

from __future__ import annotations

import re
import shutil
import tempfile
import weakref
from collections.abc import Collection, Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ltr_duel.core import InputError
from ltr_duel.logs.attribution import Outcome, click_lists, outcome_of, suffixes
from ltr_duel.logs.bad_lines import Bad, BadLines
from ltr_duel.logs.engine import Relation, named, quoted
from ltr_duel.logs.files import Position, files_of, format_of
from ltr_duel.logs.mapping import source_of
from ltr_duel.logs.rows import facts_of, faults_of, going_back, kinds_of, without
from ltr_duel.logs.sources import Loaded, own, tables, ubi
from ltr_duel.logs.table import EVENT, LOG_COLUMNS, NO_RANKER, Impressions

_ROWS = 1 << 16
_LONG = {"rankings": 8, "page": 4}  # batches are shorter by these factors if rows contain these columns
_RESERVED = re.compile(  # names of columns that are added to a log
    r"""^(row|line|origin|fault|code|length|different|owned|low|high|rank|pair|part|n|y|square|place|turn|conflict
    |number|reason|before|ltr[ _].*|clicks_.*)$|["\0]""",
    re.VERBOSE,
)


class ClickLog:
    """A click log. It can be read several times; each returned row has been checked.

    Parameters
    ----------
    path : path, data frame or Ibis table, optional
        A table with the columns of `LOG_COLUMNS`: a frame of pandas, polars or Arrow, or an Ibis table. Or a file,
        folder or glob: JSON lines, CSV (both also with ``.gz``) or Parquet with the columns of `LOG_COLUMNS`;
        User Behavior Insights records; or, with ``events`` or ``source``, exposures as Parquet, CSV or JSON. With
        ``connect``, the name of a table. By default the path is read from ``source``.
    format : {"", "jsonl", "csv", "parquet", "ubi"}
        Format of the files; by default recognised by the suffix, or by the first bytes of the file.
    skip_bad : int or None
        Number of unusable lines that may be skipped; None for any number.
    events : path, optional
        Events: users' actions on the items of the exposures.
    source : path, optional
        A TOML file that maps the columns of exposures and events.
    connect : str, optional
        Connection to the database with the tables: a URL of an Ibis backend (extra ``warehouse``).
    outcome : str, Outcome, or a sequence of them
        The events that count: ``click`` or another kind, ``value`` (the ranker with the larger sum of values wins),
        ``dwell>=30`` for clicks of at least 30 seconds, or an `Outcome`. Of several, the first decides.
    within : str
        A duration such as ``7d``: an event without an impression is credited to an exposure of the same user and item
        that was shown at most this long before the event.
    which : {"last", "first", "all"}
        The exposure that is credited if an event matches several.
    context : collection of str
        Further columns to read, by which `subgroups` can divide the log.

    Raises
    ------
    InputError
        If the file does not exist, its format is not recognised, or an option is invalid.

    Examples
    --------
    >>> import tempfile
    >>> row = '{"impression": 1, "time": 0, "query": "q", "shown": ["a", "b"], "clicks": [2]}'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "clicks.jsonl"
    ...     _ = path.write_text(row)
    ...     [batch.table.column("clicks").to_pylist() for batch in ClickLog(path).batches()]
    [[[2]]]
    """

    def __init__(
        self,
        path: str | Path | Any = None,
        *,
        format: str = "",
        skip_bad: int | None = 0,
        events: str | Path | None = None,
        source: str | Path | None = None,
        connect: str = "",
        outcome: str | Outcome | Sequence[str | Outcome] = "click",
        within: str = "",
        which: str = "last",
        context: Collection[str] = (),
    ) -> None:
        if path is None:
            if source is None:
                raise InputError("give a log, or a mapping with the source of the exposures")
            path = source_of(Path(source), table=bool(connect))
        self.path = Path(path) if isinstance(path, str | Path) else _stored(path, self)
        if skip_bad is not None and skip_bad < 0:
            raise InputError(f"the number of bad lines that may be skipped must be at least 0, not {skip_bad}")
        if not isinstance(events, str | Path | None):
            raise InputError(
                f"events are a path, not a value of type {type(events).__name__}: store exposures and events as Parquet"
            )
        given = [outcome] if isinstance(outcome, str | Outcome) else outcome
        self.outcomes = tuple(outcome_of(name, within, which) for name in given)
        self.context = tuple(name for name in context if name not in LOG_COLUMNS)
        for name in self.context:
            if _RESERVED.search(name.lower()) or name.lower() in (*LOG_COLUMNS, *EVENT):
                raise InputError(
                    f"a log cannot be divided by a column named '{name}', a name that is used internally: rename it, or"
                    " map it to another name with --source"
                )
        if events is not None or source is not None or connect:
            where = path if isinstance(path, str) else self.path
            self.format, self._source = "tables", tables(where, events, source, connect, self.context)
        else:
            files = files_of(self.path)
            self.format = format_of(files, format)
            if self.format != "ubi" and any(one.within for one in self.outcomes):
                raise InputError(f"{self.path}: 'within' is for events without an impression; this log has clicks")
            self._source = ubi(files, self.context) if self.format == "ubi" else own(files, self.format, self.context)
        self._allowed = skip_bad
        self.known: dict[Any, Any] = {}  # cached results of queries about the log
        self.bad = BadLines(str, skip_bad)  # replaced in each call of `rows`
        self._kinds: list[dict[str, Any]] = []  # of the newest call of `rows`

    def find(self, line: int) -> Position:
        """Return the file that contains a line of the relation, and the row in that file."""
        return self.loaded.find(int(line))

    @property
    def outcome(self) -> Outcome:
        """The first outcome."""
        return self.outcomes[0]

    def limited(self, window: float) -> ClickLog:
        """Return the log in which only events of a live experiment's window count; see `Outcome`."""
        if self.outcome.window == window:
            return self
        log = copy(self)
        log.outcomes, log.known = tuple(replace(one, window=window) for one in self.outcomes), {}
        for name in ("loaded", "table"):
            vars(log).pop(name, None)
        return log

    @property
    def other_columns(self) -> tuple[str, ...]:
        """Unknown columns of the files, which are not read."""
        return tuple(self.loaded.strange)

    @cached_property
    def loaded(self) -> Loaded:
        """The log as a relation of an engine."""
        return self._source(self.outcomes)

    @property
    def engine(self) -> Any:
        """The engine of the relation."""
        return self.loaded.engine

    @cached_property
    def table(self) -> Relation:
        """The relation with ``line`` and the columns of `LOG_COLUMNS` that the log has."""
        log = self.loaded
        if log.placed is None:
            return log.impressions
        lists = click_lists(log.engine, log.placed, self.outcomes, by_event=self.by_event)
        made = [f"coalesce(c.{name}, CAST([] AS INTEGER[])) AS {name}" for name in lists.columns if name != "row"]
        sql = f"SELECT {', '.join(['x.*', *made])} FROM exposures x LEFT JOIN clicks c ON x.row = c.row"
        return log.engine.view(sql, exposures=log.impressions, clicks=log.engine.keep("FROM t", t=lists))

    @property
    def by_event(self) -> bool:
        """Whether events name the rankers of their items, so that impressions have no lists of owners."""
        columns = self.loaded.impressions.columns
        return self.loaded.placed is not None and not {"owners", "page", "rankings"} & set(columns)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that rows can have: the columns of a table or a Parquet file, otherwise all columns of a log."""
        clicks = () if self.loaded.placed is None else ("clicks", *(["owners"] if self.by_event else []))
        return (*(name for name in self.loaded.impressions.columns if name != "row"), *clicks)

    def rows(self, columns: Collection[str] = tuple(LOG_COLUMNS)) -> Relation:
        """Return the usable rows as a relation with a column ``line``; count the unusable rows.

        Parameters
        ----------
        columns : collection of str
            Columns to read; columns that the log lacks are omitted.

        Raises
        ------
        InputError
            If the file cannot be read, or has more bad lines than may be skipped; the message contains the line number.
        """
        clicks = {f"clicks{ending}" for ending in suffixes(self.outcomes)} if "clicks" in columns else set()
        wanted, source = {*columns, *clicks, "line", "fault"}, self.loaded.impressions
        if self.loaded.placed is not None:  # checks need no clicks, which are on their list
            wanted.add("row")
        table = self._select(source, wanted)
        self.bad = BadLines(self.loaded.find, self._allowed)
        wrong = self._wrong(table)
        self.bad.add(*wrong)
        if not set(self.columns) & wanted <= set(source.columns):
            table = self._select(self.table, wanted)
        return self.without(table, self.bad.lines)

    def _select(self, table: Relation, wanted: Collection[str]) -> Relation:
        chosen = ", ".join(named(name) for name in table.columns if name in wanted)
        return self.engine.view(f"SELECT {chosen} FROM t", t=table)

    def without(self, table: Relation, lines: Collection[int]) -> Relation:
        """Return a relation without some of its lines."""
        return without(self.engine, table, lines)

    def _wrong(self, table: Relation) -> list[Bad]:
        """Return the lines that repeat an impression, fail a check, or go back in time."""
        engine, found, log = self.engine, list[Bad](), self.loaded
        faults = log.faults or faults_of(engine, table, self._given(table), self.find)
        self.bad.lines, self.bad.equal, self.bad.repeated = faults.equal, len(faults.equal), faults.repeated
        self._kinds = faults.kinds
        found += faults.bad
        if log.placed is None:
            return [*found, going_back(engine, table)] if "time" in table.columns else found
        if self.by_event:
            strange = f"SELECT row FROM placed WHERE place IS NOT NULL AND owner = {NO_RANKER}"
            sql = f"SELECT line FROM t WHERE rankers IS NOT NULL AND row IN ({strange})"
            rows = engine.query(sql, t=log.impressions, placed=log.placed)
            lines = rows["line"].to_numpy()
            found.append(Bad(lines, ["owner"] * len(lines), self._strange_owner))
        return found

    def _given(self, rows: Relation) -> str:
        """Return the SQL of whether a row has owners."""
        if self.by_event:
            return "1 = 1"
        return "owners IS NOT NULL" if "owners" in rows.columns else "1 = 0"

    def _strange_owner(self, line: int) -> str:
        """Return the message on an event that names an unknown ranker as the owner of its item."""
        events = self.loaded.events
        assert events is not None
        names = ", ".join(name for name in ("owner", "origin") if name in events.columns)
        (row,) = self.engine.rows(f"SELECT impression, rankers FROM t WHERE line = {line}", t=self.loaded.impressions)
        where = f"impression = {quoted(row['impression'])} AND owner IS NOT NULL"
        some = self.engine.rows(f"SELECT {names} FROM t WHERE {where} ORDER BY {names}", t=events)
        event = next(event for event in some if event["owner"] not in row["rankers"])
        find = self.loaded.find_event
        at = f" in {find(event['origin'])}" if find and "origin" in event else " of an event"
        return f"owner '{event['owner']}'{at} is not a ranker: {' or '.join(row['rankers'])}, null for no ranker"

    def facts(self, rows: Relation, rankers: Collection[str] = ()) -> dict[str, Any]:
        """Return facts of the rows credited to these rankers: `FACTS`, and the number of queries."""
        if ("facts", *rankers) not in self.known:
            about = facts_of(self.kinds(rows))
            if self.loaded.counts is not None:
                about["clicked"] = self.loaded.counts.placed > 0
            (queries,) = self.engine.rows("SELECT count(DISTINCT query) AS queries FROM t", t=rows)
            self.known["facts", *rankers] = about | queries
        return self.known["facts", *rankers]

    def kinds(self, rows: Relation, *, part: bool = False) -> list[dict[str, Any]]:
        """Return the distinct ``rankers``, ``method`` and ``outcome`` of rows from `rows`, in order of appearance.

        part: whether these are not all rows.
        """
        scanned = not part and not self.bad.removed
        kinds = self._kinds if scanned else kinds_of(self.engine, rows, self._given(rows))
        return sorted(kinds, key=lambda kind: kind["first_line"])

    def lines_of(self, rows: Relation, kind: dict[str, Any]) -> list[int]:
        """Return the lines of the rows of a kind."""
        keys = [name for name in ("rankers", "method", "outcome") if name in rows.columns]
        same = [
            f"({self._given(rows)}) = {kind['given']}",
            *(f"{key} IS NOT DISTINCT FROM {_sql(kind[key])}" for key in keys),
        ]
        found = self.engine.query(f"SELECT line FROM t WHERE {' AND '.join(same)}", t=rows)
        return list(found["line"].to_pylist())

    def batches(self, columns: Collection[str] = tuple(LOG_COLUMNS)) -> Iterator[Impressions]:
        """Yield the usable rows in batches of some thousand rows, in the order of the file.

        Parameters
        ----------
        columns : collection of str
            Columns to read; columns that the log lacks are omitted (in Parquet) or null.

        Yields
        ------
        Impressions

        Raises
        ------
        InputError
            If the file cannot be read, or has more bad lines than may be skipped; the message contains the line number.
        """
        yield from self.stream(self.rows(columns))

    def stream(self, rows: Relation) -> Iterator[Impressions]:
        """Yield rows from `rows` in batches, as `batches` does."""
        size = _ROWS // max([1, *(short for name, short in _LONG.items() if name in rows.columns)])
        names = [name for name in LOG_COLUMNS if name in rows.columns]
        sql = f"SELECT {', '.join(map(named, names))}, line FROM t"
        if self.bad.removed or self.loaded.placed is not None:  # a join does not keep the order
            sql += " ORDER BY line"
        for batch in self.engine.stream(sql, size, t=rows):
            yield Impressions(batch.select(names), batch.column("line").to_numpy())


def _sql(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_sql, value))}]"
    return "NULL" if value is None else quoted(value)


def _stored(source: Any, owner: Any) -> Path:
    """Store a data frame or an Ibis table as Parquet, in a folder that is removed with ``owner``."""
    if type(source).__module__.startswith("ibis.") and hasattr(source, "to_parquet"):
        write = source.to_parquet
    elif hasattr(source, "__arrow_c_stream__"):

        def write(path: Path) -> None:
            pq.write_table(pa.table(source), path)

    else:
        raise InputError(
            "a log is a path, a folder, a data frame (pandas, polars, Arrow), an Ibis table or a ClickLog, not a value"
            f" of type {type(source).__name__}"
        )
    folder = tempfile.mkdtemp(prefix="ltr_duel-frame-")
    weakref.finalize(owner, shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder, "frame.parquet")
    try:
        write(path)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InputError(f"the data frame cannot be stored as Arrow: {str(error).splitlines()[0]}") from None
    return path
