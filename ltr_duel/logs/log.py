"""Read a click log from files, a data frame or a database. The log may be larger than memory."""

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
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ltr_duel.core import InputError, IntVector, errors
from ltr_duel.logs.attribution import Outcome, clicked_places, outcome_of
from ltr_duel.logs.checks import BadLines, checked, given_owners, without
from ltr_duel.logs.engine import Relation, named
from ltr_duel.logs.files import Position, files_of, format_of
from ltr_duel.logs.mapping import source_of
from ltr_duel.logs.sources import Loaded, load_table, load_tables
from ltr_duel.logs.table import EVENT, LOG_COLUMNS, Impressions

if TYPE_CHECKING:
    from ltr_duel.clicks import Sessions

_ITEMS = ("auto", "document", "grade")
_ROWS = 1 << 16  # number of rows of a batch; with page tokens, a quarter of this number
_RESERVED = re.compile(  # names of columns that are added to a log
    r"""^(row|line|origin|fault|code|length|different|owned|low|high|rank|pair|part|n|y|square|place|turn|conflict
    |number|reason|ltr[ _].*)$|["\0]""",
    re.VERBOSE,
)


class ClickLog:
    """A click log. It can be read several times, and its rows are checked.

    Parameters
    ----------
    path : path, data frame or Ibis table, optional
        The log: a file, a folder, a glob pattern, or a table in memory (pandas, polars, Arrow or Ibis). With
        ``connect``, give the name of a table in the database. `LOG_COLUMNS` describes the columns. If ``events`` has
        the clicks, this file has only the exposures, which are the lists that users saw. By default, the mapping
        ``source`` names the file or table.
    format : {"", "jsonl", "csv", "parquet", "ubi"}
        Format of the files. By default, the suffix of the files tells the format.
    skip_bad : int or None
        The number of unusable lines that may be skipped. None permits any number.
    events : path, optional
        The file of the events, if clicks are not stored with the lists. An event is an action of a user, such as a
        click on an item.
    source : path, optional
        A TOML file (a mapping) that says which of your columns are the columns of exposures and events.
    connect : str, optional
        The URL of a database, if the log is a table in a database. This requires the extra ``warehouse``.
    outcome : str, Outcome, or a sequence of them
        The rule that decides which ranker wins an impression. With ``click``, the ranker with more clicked documents
        wins. Other kinds of events, such as ``purchase``, are counted in the same way. With ``value``, the ranker with
        the larger sum of values wins. With ``dwell>=30``, only clicks of at least 30 seconds count. Write any other
        rule as an `Outcome`. If you give several outcomes, the first is the primary outcome.
    within : str
        The longest time between an exposure and an event, such as ``7d``, if the event names no impression. The event
        then counts for the last exposure of its item to its user. By default, events that name no impression do not
        count.
    context : collection of str
        Further columns to read, such as the user's device. The function `subgroups` can compare the rankers for each
        device.

    Raises
    ------
    InputError
        If the file does not exist, its format is not recognised, or an option is invalid.

    Examples
    --------
    >>> import pandas as pd
    >>> row = {"impression": 1, "time": 0, "query": "q", "shown": ["a", "b"], "clicks": [2]}
    >>> [batch.table.column("clicks").to_pylist() for batch in ClickLog(pd.DataFrame([row])).batches()]
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
        context: Collection[str] = (),
    ) -> None:
        mapping = Path(source) if source is not None else None
        if path is None:
            if mapping is None:
                raise InputError("give a log, or a mapping with the source of the exposures")
            path = source_of(mapping, table=bool(connect))
        self._frame = not isinstance(path, str | Path)
        self.path = _stored(path, self) if self._frame else Path(path)
        if skip_bad is not None and skip_bad < 0:
            raise InputError(f"the number of bad lines that may be skipped must be at least 0, not {skip_bad}")
        if not isinstance(events, str | Path | None):
            raise InputError(
                f"events are a path, not a value of type {type(events).__name__}: store exposures and events as Parquet"
            )
        names = [outcome] if isinstance(outcome, str | Outcome) else outcome
        self.outcomes = tuple(outcome_of(name, within) for name in names)
        self.context = tuple(name for name in context if name not in LOG_COLUMNS)
        for name in self.context:
            if _RESERVED.search(name.lower()) or name.lower() in (*LOG_COLUMNS, *EVENT):
                raise InputError(
                    f"a log cannot be divided by a column named '{name}', a name that is used internally: rename it, or"
                    " map it to another name with --source"
                )
        self._tables: tuple[Any, Any, Any, str] | None = None
        if events is not None or mapping is not None or connect:
            self._tables = path if isinstance(path, str) else self.path, events, mapping, connect
        self.format = "tables" if self._tables else format_of(files_of(self.path), format)
        self._allowed = skip_bad
        self.credit: dict[Any, Any] = {}  # results of `credited`
        self.bad = BadLines(str, skip_bad)  # the bad lines of the newest call of `rows`
        self.kinds: list[dict[str, Any]] = []  # `Checked.kinds` of the newest call of `rows`

    @property
    def outcome(self) -> Outcome:
        """The first outcome."""
        return self.outcomes[0]

    @property
    def other_columns(self) -> tuple[str, ...]:
        """The names of the columns that are not read, because a log has no columns of these names."""
        return tuple(self.loaded.strange)

    @cached_property
    def loaded(self) -> Loaded:
        """The log, loaded into an SQL engine."""
        if self._tables:
            return load_tables(*self._tables, self.context, self.outcomes)
        return load_table(self.path, self.format, self.context, self.outcomes)

    @property
    def engine(self) -> Any:
        """The SQL engine that reads the log."""
        return self.loaded.engine

    @property
    def table(self) -> Relation:
        """All impressions of the log, including unusable ones. The column ``line`` numbers the rows."""
        return self.loaded.impressions

    def find(self, line: int) -> Position:
        """Return the file and the row from which a line was read."""
        at = self.loaded.find(int(line))
        return Position("data frame", f"row {at.row}") if self._frame else at

    def limited(self, window: float) -> ClickLog:
        """Return a log in which an event counts only if it comes within ``window`` seconds after its exposure."""
        if self.outcome.window == window:
            return self
        log = copy(self)
        log.outcomes, log.credit = tuple(replace(outcome, window=window) for outcome in self.outcomes), {}
        vars(log).pop("loaded", None)
        return log

    def rows(self, columns: Collection[str] = tuple(LOG_COLUMNS), number: int = 0) -> Relation:
        """Return the usable rows as a relation. Raises `InputError` if too many rows are unusable.

        number: index of the outcome whose events become the column ``clicks``.
        """
        log, engine = self.loaded, self.engine
        chosen = [name for name in self.table.columns if name in {*columns, "line", "row", "fault"}]
        table = engine.view(f"SELECT {', '.join(map(named, chosen))} FROM t", t=self.table)
        faults = log.checked or checked(engine, table, given_owners(chosen, by_event=log.by_event), self.find)
        bad = BadLines(self.find, self._allowed)
        bad.add(faults.reasons, faults.sentence)
        self.bad, bad.equal, self.kinds = bad, len(faults.equal), faults.kinds
        table = self.without(table, faults.lines)
        wanted = {"clicks", *["owners"] * log.by_event} & set(columns)
        if log.placed is None or not wanted:
            return table
        places = clicked_places(engine, log.placed, number, by_event=log.by_event)
        lists = ", ".join(f"coalesce(c.{name}, CAST([] AS INTEGER[])) AS {name}" for name in sorted(wanted))
        return engine.view(f"SELECT x.*, {lists} FROM x LEFT JOIN c ON x.row = c.row", x=table, c=places)

    def without(self, table: Relation, lines: Collection[int]) -> Relation:
        """Return a relation without the given lines."""
        return without(self.engine, table, lines)

    def facts(self, rows: Relation) -> dict[str, Any]:
        """Return facts about rows, such as their number, and how many of them have a user."""
        clicked = "max(CASE WHEN array_length(clicks) > 0 THEN 1 ELSE 0 END)" if "clicks" in rows.columns else "0"
        sql = f"""SELECT count(*) AS n, {'count("user")' if "user" in rows.columns else "0"} AS named,
          {clicked} AS clicked, min(time) AS first, max(time) AS last, count(DISTINCT query) AS queries FROM t"""
        (facts,) = self.engine.rows(sql, t=rows)
        counts = self.loaded.counts
        return facts if counts is None else facts | {"clicked": counts.placed > 0}

    def batches(self, columns: Collection[str] = tuple(LOG_COLUMNS)) -> Iterator[Impressions]:
        """Yield the usable rows in batches, in the order of the file."""
        yield from self.stream(self.rows(columns))

    def stream(self, rows: Relation) -> Iterator[Impressions]:
        """Yield the rows of a relation in batches."""
        names = [name for name in LOG_COLUMNS if name in rows.columns]
        sql = f"SELECT {', '.join(map(named, names))}, line FROM t"
        if self.bad.count or self.bad.equal or self.loaded.placed is not None:  # a join does not keep the order
            sql += " ORDER BY line"
        for batch in self.engine.stream(sql, _ROWS // 4 if "page" in names else _ROWS, t=rows):
            yield Impressions(batch.select(names), batch.column("line").to_numpy())

    def sessions(self, by: str = "auto") -> Sessions:
        """Read all lists and clicks into memory, in the form that `fit_click_models` needs.

        Parameters
        ----------
        by : {"auto", "document", "grade"}
            What the click model treats as an item: each document of a query, or each relevance grade. By default,
            grades are used if every row has grades.

        Returns
        -------
        Sessions

        Raises
        ------
        InputError
            If the log cannot be read or is empty, or if `by` is "grade" and a row has no grades.

        Examples
        --------
        >>> row = {"impression": 1, "time": 0, "query": "q", "shown": ["a", "b"], "clicks": [2], "grades": [0, 1]}
        >>> sessions = ClickLog(pa.Table.from_pylist([row])).sessions()
        >>> sessions.graded, sessions.item.tolist(), sessions.click.tolist()
        (True, [0, 1], [False, True])
        """
        from ltr_duel.clicks import Sessions  # here, because other uses of a log do not need it

        errors.require_one_of("kind of items", by, _ITEMS)
        batches = list(self.batches(("query", "shown", "user", "clicks", "grades")))
        if not sum(len(batch.lines) for batch in batches):
            raise InputError(f"{self.path}: the log has no impression that can be used")
        table = pa.Table.from_batches([batch.table for batch in batches])
        named, graded = (
            table[name].is_valid().to_numpy() if name in table.column_names else np.zeros(len(table), np.bool_)
            for name in ("user", "grades")
        )
        if by == "grade" and not graded.all():
            line = np.concatenate([batch.lines for batch in batches])[graded.argmin()]
            raise InputError(f"{self.find(line)}: no grades; use 'document' instead of 'grade'")
        length, clicks = (pc.list_value_length(table[name]).to_numpy() for name in ("shown", "clicks"))
        click = np.zeros(length.sum(), np.bool_)
        click[np.repeat(np.cumsum(length) - length, clicks) + pc.list_flatten(table["clicks"]).to_numpy() - 1] = True
        user = np.where(named, _numbers(table["user"])[0], -1) if named.any() else None
        query, queries = _numbers(table["query"])
        document, documents = _numbers(pc.list_flatten(table["shown"]))
        sessions = Sessions.from_documents(length, query, document, click, user, queries, documents)
        if by == "document" or not graded.all():
            return sessions
        grades = pc.list_flatten(table["grades"]).to_numpy().astype(np.int64)
        return sessions._replace(item=grades, items=int(grades.max()) + 1, graded=True, names=None)


def _numbers(texts: Any) -> tuple[IntVector, list[str]]:
    codes = texts.fill_null("").dictionary_encode().combine_chunks()
    return codes.indices.to_numpy().astype(np.int64), codes.dictionary.to_pylist()


def _stored(source: Any, owner: Any) -> Path:
    is_ibis = type(source).__module__.startswith("ibis.") and hasattr(source, "to_parquet")
    if not is_ibis and not hasattr(source, "__arrow_c_stream__"):
        raise InputError(
            "a log is a path, a folder, a data frame (pandas, polars, Arrow), an Ibis table or a ClickLog, not a value"
            f" of type {type(source).__name__}"
        )
    folder = tempfile.mkdtemp(prefix="ltr_duel-frame-")
    # the folder is deleted together with the owner
    weakref.finalize(owner, shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder, "frame.parquet")
    try:
        source.to_parquet(path) if is_ibis else pq.write_table(pa.table(source), path)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InputError(f"the data frame cannot be stored as Arrow: {str(error).splitlines()[0]}") from None
    return path
