"""A click log in files or a database, read as a relation of an SQL engine or in batches of checked rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ltr_duel.core import InputError, IntVector
from ltr_duel.logs.attribution import Outcome, outcome_of, suffixes
from ltr_duel.logs.bad import BadLines, Refused
from ltr_duel.logs.engine import NO_RANKER, named
from ltr_duel.logs.files import Found, files_of, format_of
from ltr_duel.logs.frames import is_path, stored
from ltr_duel.logs.mapping import place_of
from ltr_duel.logs.rows import (
    FACTS,
    SHOWN_AGAIN,
    back_sentence,
    checks_of,
    facts_of,
    going_back,
    kinds_of,
    marked,
    ready,
    refused_in,
    repeating,
    short,
)
from ltr_duel.logs.sources import Loaded, own, tables, ubi
from ltr_duel.logs.table import LOG_COLUMNS, Impressions

_ROWS = 1 << 16
_OF_EVENTS = ("clicks", "worth")
_LONG = {"rankings": 8, "page": 4}  # batches are shorter by these factors if rows contain these columns


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
        Connection to the database with the tables: a URL of an Ibis backend.
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
            path = place_of(Path(source), table=bool(connect))
        path = path if is_path(path) else stored(path, self)
        self.path = Path(path)
        two = events is not None or source is not None or bool(connect)
        if skip_bad is not None and skip_bad < 0:
            raise InputError(f"the number of bad lines that may be skipped must be at least 0, not {skip_bad}")
        given = [outcome] if isinstance(outcome, str | Outcome) else outcome
        self.outcomes = tuple(outcome_of(one, within, which) for one in given)
        self.context = tuple(one for one in context if one not in LOG_COLUMNS)
        if two:
            self.format, self._source = "tables", tables(path, events, source, connect, self.context)
        else:
            files = files_of(path)
            self.format = format_of(files, format)
            kind = self.format
            self._source = ubi(files, self.context) if kind == "ubi" else own(files, kind, self.context)
        self._allowed = skip_bad
        self.known: dict[Any, Any] = {}  # cached results of queries about the log
        self.bad = BadLines(str, skip_bad)  # replaced in each call of `rows`

    def find(self, line: int) -> Found:
        """Return the file that contains a line of the relation, and the row in that file."""
        return self.loaded.find(int(line))

    @property
    def outcome(self) -> Outcome:
        """The first outcome."""
        return self.outcomes[0]

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

    @property
    def table(self) -> Any:
        """The relation: an Ibis table with ``line`` and the columns of `LOG_COLUMNS` that the log has."""
        return self.loaded.table

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that rows can have: the columns of a table or a Parquet file, otherwise all columns of a log."""
        return tuple(self.table.columns)

    def rows(self, columns: Collection[str] = tuple(LOG_COLUMNS)) -> Any:
        """Return the usable rows as an Ibis table with a column ``line``; count the unusable rows.

        Parameters
        ----------
        columns : collection of str
            Columns to read; columns that the log lacks are omitted.

        Raises
        ------
        InputError
            If the file cannot be read, or has more bad lines than may be skipped; the message contains the line number.
        """
        wanted = {
            *columns,
            "line",
            "fault",
            *(f"{name}{end}" for end in suffixes(self.outcomes) for name in ("worth", "clicks") if "clicks" in columns),
        }
        table = self.table.select([name for name in self.table.columns if name in wanted])
        self.bad = BadLines(self.loaded.find, self._allowed)
        wrong = self._wrong(table)
        self.bad.add(*(one for one in wrong if one.reasons))
        return self.without(table, np.concatenate([one.lines for one in wrong])) if wrong else table

    def without(self, table: Any, lines: Collection[int]) -> Any:
        """Return a relation without some of its lines."""
        return table.anti_join(self.engine.small({"line": np.sort(list(lines))}), "line") if len(lines) else table

    def _wrong(self, table: Any) -> list[Refused]:
        """Return the lines that repeat an impression, fail a check, or go back in time."""
        import ibis

        found = list[Refused]()

        def take(bad: Any, sentence: Callable[[dict[str, Any]], str], *kinds: str) -> None:
            known = np.concatenate([np.zeros(0, np.int64), *(one.lines for one in found)])
            found.append(refused_in(self.engine, bad, sentence, known, *kinds))

        exposures = self.loaded.exposures if self.loaded.exposures is not None else table  # without a join
        if "impression" in table.columns and self._any_repeats(exposures.filter(exposures.impression.notnull())):
            again = repeating(table.filter(table.impression.notnull()))
            equal = self._delivered_twice(table, again)
            self.bad.equal = len(equal)
            found.append(Refused(equal, [], lambda lines: {}))
            take(again, self._repeats)
            self.bad.repeated = len(found[1].lines)
        checks, full = checks_of(table.columns), ready(table)
        conditions = [check.wrong(full) for check in checks]
        if conditions and self._any(full, ibis.or_(*conditions).fill_null(False)):

            def say(row: dict[str, Any]) -> str:
                return checks[row["code"]].sentence(row | self._owner(row))

            take(marked(full, conditions), say, "code", "kind")
        if "time" in table.columns and self.loaded.events is None:  # exposures are numbered in order of time
            take(going_back(table), back_sentence)
        return found

    def _any_repeats(self, exposures: Any) -> bool:
        """Return whether any impression has several rows."""
        different = exposures.group_by("impression").agg(n=exposures.count())
        return bool(self.engine.value(exposures.count()) > self.engine.value(different.count()))

    def _delivered_twice(self, table: Any, again: Any) -> IntVector:
        """Return the lines that equal, in all columns that are read, the first line of their impression."""
        joined = self.loaded.events is not None  # then equal exposures have equal events
        names = [name for name in table.columns if name != "line" and not (joined and name.startswith(_OF_EVENTS))]
        alike = " AND ".join(f"a.{named(name)} IS NOT DISTINCT FROM b.{named(name)}" for name in names)
        rows = "JOIN log a ON a.line = r.line JOIN log b ON b.line = r.first"
        found = self.engine.query(f"SELECT r.line FROM again r {rows} WHERE {alike}", again=again, log=table)
        return found["line"].to_numpy()

    def _repeats(self, row: dict[str, Any]) -> str:
        here, first = self.find(row["line"]), self.find(row["first"])
        of = f"line {first.row}" if first.file == here.file else first
        return f"impression '{row['impression']}' repeats {of}{SHOWN_AGAIN}"

    def _owner(self, row: dict[str, Any]) -> dict[str, str]:
        """Return a phrase on an event that names an unknown ranker as the owner of an item; empty if there is none."""
        events = self.loaded.events
        if events is None or not row.get("rankers") or NO_RANKER not in (row.get("owners") or ()):
            return {}
        events = events.filter(events.impression == row["impression"], ~events.owner.isin(row["rankers"]))
        names = [name for name in ("origin", "owner") if name in events.columns]
        found = self.engine.run(events.select(*names).order_by(*names).limit(1)).to_pylist()
        if not found:
            return {}
        at = self.loaded.find_event
        where = f" in {at(found[0]['origin'])}" if at and "origin" in found[0] else " of an event"
        return {"named": f"owner {short(found[0]['owner'])}{where}"}

    def _any(self, full: Any, wrong: Any) -> bool:
        """Return whether any row is unusable; the same scan stores the result of `kinds`, and the facts."""
        if "owners" not in full.columns:
            return bool(self.engine.value(full.filter(wrong).count()))
        kinds = self.engine.run(kinds_of(full, facts_of(full), wrong=wrong)).to_pylist()
        self.known["kinds", full.columns[:-1]] = kinds  # without ``length``, which `ready` adds
        return any(kind["wrong"] for kind in kinds)

    def facts(self, rows: Any, rankers: Collection[str] = ()) -> dict[str, Any]:
        """Return facts of the rows credited to these rankers: `facts_of`, and the numbers of queries and users."""
        if ("facts", *rankers) not in self.known:
            texts = {"queries": rows["query"].nunique()}
            kinds = None if self.bad.removed else self.known.get(("kinds", rows.columns))
            (about,) = self.engine.run(rows.aggregate(**texts, **({} if kinds else facts_of(rows)))).to_pylist()
            if kinds:
                about |= {name: of(kind[name] for kind in kinds) for name, of in FACTS.items()}
            self.known["facts", *rankers] = about
        return self.known["facts", *rankers]

    def kinds(self, rows: Any) -> list[dict[str, Any]]:
        """Return the distinct ``rankers``, ``method`` and ``outcome`` of rows from `rows`, in order of appearance."""
        kinds = None if self.bad.removed else self.known.get(("kinds", rows.columns))
        return sorted(kinds or self.engine.run(kinds_of(rows)).to_pylist(), key=lambda kind: kind["first_line"])

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

    def stream(self, rows: Any) -> Iterator[Impressions]:
        """Yield rows from `rows` in batches, as `batches` does."""
        size = _ROWS // max([1, *(short for name, short in _LONG.items() if name in rows.columns)])
        names = [name for name in LOG_COLUMNS if name in rows.columns]
        rows = rows.select(*names, "line")
        if self.bad.removed or not self.loaded.ordered:  # a join does not keep the order
            rows = rows.order_by("line")
        for batch in self.engine.stream(rows, size):
            yield Impressions(batch.select(names), batch.column("line").to_numpy())
