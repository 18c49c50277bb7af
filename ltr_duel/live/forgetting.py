"""What a store forgets: who a user was, and what was asked. Counts and outcomes stay as they are."""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from ltr_duel.core import InputError, arguments, errors
from ltr_duel.live.schema import connected
from ltr_duel.live.users import hashed_user, require_own_key

_DAY = 86_400.0
_FORGOTTEN = "forgotten-"
_PATIENCE = 10_000  # milliseconds for a service to end its transaction


def forget(
    store: str | Path,
    *,
    user: str = "",
    older_than: float | None = None,
    user_key: bytes = b"",
    now: float | None = None,
) -> int:
    """Forget the queries and the name of a user, or those of all pages of a time; a service may go on meanwhile.

    Queries become empty. In place of the user stands a random name, the same on all pages that are forgotten together,
    so an exported log still groups them. A user who comes back afterwards is a new one, and of a user whose pages are
    forgotten in part the log has two.

    Parameters
    ----------
    store : path
    user : str
        As the search page names the user.
    older_than : float, optional
        Days, at least 0; of pages that were shown earlier, all users and queries are forgotten.
    user_key : bytes
        By which the users of the store are hashed; empty if they are not.
    now : float, optional
        The time, in seconds; that of the clock if not given.

    Returns
    -------
    int
        How many pages were concerned.

    Raises
    ------
    InputError
        If neither or both of ``user`` and ``older_than`` are given, the key is not that of the store, or the file is no
        store or cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from ltr_duel.live import Experiment, Settings
    >>> settings = Settings(name="shoes", rankers=("old", "new"), policy="rucb")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Path(folder) / "shoes.db"
    ...     with Experiment.open(store, settings) as experiment:
    ...         _ = experiment.decide("red shoes", {"old": ["a", "b"], "new": ["c", "a"]}, user="ann")
    ...     forget(store, user="ann"), b"red shoes" in store.read_bytes()
    (1, False)
    """
    if bool(user) == (older_than is not None):
        raise InputError("name a user, or a number of days, and not both")
    before = 0.0
    if older_than is not None:
        errors.require_between("the number of days", older_than, 0, 1e6)
        before = (time.time() if now is None else now) - older_than * _DAY
    path = arguments.as_path("a store", store)
    with closing(connected(path, writes=True)) as db:
        try:
            for pragma in (f"busy_timeout = {_PATIENCE}", "secure_delete = ON"):  # the second wipes what is replaced
                db.execute(f"PRAGMA {pragma}")
            db.execute("BEGIN IMMEDIATE")
            if user:
                require_own_key(dict(db.execute("SELECT key, value FROM about")), user_key, path)
                pages = _forget(db, "user = ?", hashed_user(user_key, user))
            else:
                pages = _forget(db, f"at < ? AND (query <> '' OR user NOT LIKE '{_FORGOTTEN}%')", before)
            db.execute("COMMIT")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()  # the log holds the former rows
        except sqlite3.Error as error:
            raise InputError(f"{path}: cannot be written: {error}") from None
    return pages


def _forget(db: sqlite3.Connection, which: str, value: str | float) -> int:
    """Give the users of some pages random names, here and, of those who have no other page, in the table of users."""
    key = secrets.token_bytes(16)

    def other(name: str) -> str:
        return f"{_FORGOTTEN}{hashlib.blake2b(str(name).encode(), key=key, digest_size=8).hexdigest()}"

    db.create_function("other_name", 1, other, deterministic=True)
    db.execute(f"CREATE TEMP TABLE former AS SELECT DISTINCT user FROM pages WHERE {which}", (value,))
    done = db.execute(
        f"UPDATE pages SET query = '', user = CASE WHEN user IS NULL THEN NULL ELSE other_name(user) END WHERE {which}",
        (value,),
    ).rowcount
    db.execute(
        "UPDATE users SET user = other_name(user) WHERE user IN (SELECT user FROM former)"
        " AND user NOT IN (SELECT user FROM pages WHERE user IS NOT NULL)"
    )
    return int(done)
