"""A click log that is read as a stream: in a little memory, however long it is."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

import numpy as np

from ltr_duel.core import InputError
from ltr_duel.logs.bad import BadLines
from ltr_duel.logs.files import LogFile, format_of
from ltr_duel.logs.table import LOG_COLUMNS, Impressions
from ltr_duel.logs.values import RowChecks


class ClickLog:
    """A click log on disk. It can be read several times; each row that comes out is checked.

    Parameters
    ----------
    path : path
        JSON lines, CSV (both also with ``.gz``) or Parquet with the columns of `LOG_COLUMNS`, or a session log of the
        Yandex challenges.
    format : {"", "jsonl", "csv", "parquet", "yandex"}
        By default told by the suffix, or by how the file begins.
    skip_bad : int or None
        How many lines that cannot be used are passed over and counted; None for any number.

    Raises
    ------
    InputError
        If there is no such file, or its format cannot be told.

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

    def __init__(self, path: str | Path, *, format: str = "", skip_bad: int | None = 0) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            raise InputError(f"{self.path}: no such file; 'ltr-duel logs --help' says what a click log is")
        if skip_bad is not None and skip_bad < 0:
            raise InputError(f"the number of bad lines that may be skipped must be at least 0, not {skip_bad}")
        self._file = LogFile(self.path, format_of(self.path, format))
        self._allowed = skip_bad
        self.bad = BadLines(self.path, skip_bad)

    @property
    def format(self) -> str:
        """One of jsonl, csv, parquet, yandex."""
        return self._file.kind

    @property
    def other_columns(self) -> tuple[str, ...]:
        """Columns, met so far, that are none of a log's and are not read."""
        return tuple(self._file.strange)

    def has(self, column: str) -> bool:
        """Whether rows can have that column: in Parquet those of the file, elsewhere any."""
        return self._file.has(column)

    def batches(self, columns: Collection[str] = tuple(LOG_COLUMNS)) -> Iterator[Impressions]:
        """Yield the rows that can be used, some thousand at a time, in the order of the file.

        Parameters
        ----------
        columns : collection of str
            Those to read; those that the log lacks are left out (in Parquet) or null.

        Yields
        ------
        Impressions

        Raises
        ------
        InputError
            If the file cannot be read, or has more bad lines than may be skipped; the sentence names the line.
        """
        self.bad = BadLines(self.path, self._allowed)
        checks = RowChecks()
        for batch, other in self._file.parts(columns):
            wrong = checks(batch)
            good = np.ones(batch.table.num_rows, np.bool_)
            good[list(wrong)] = False
            found = other | {int(batch.lines[row]): sentence for row, sentence in wrong.items()}
            for line in sorted(found):
                self.bad.add(line, found[line])
            yield batch.kept(good)
