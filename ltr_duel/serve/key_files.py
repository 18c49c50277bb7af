"""The files of keys, read at the start and again whenever they change: keys are exchanged without a restart."""

from __future__ import annotations

import hashlib
from pathlib import Path

from ltr_duel.core import InputError
from ltr_duel.live import Keys
from ltr_duel.serve.events import EventLog
from ltr_duel.serve.keys import ApiKeys, read_api_keys, read_by_others, signing_keys
from ltr_duel.serve.settings import ServiceSettings

_MOST = 200_000  # bytes that are compared


class KeyFiles:
    """The keys of a service. A file that cannot be read, or holds what is no key, leaves the former keys in use.

    folder: where the names of files start.

    Raises `InputError` if a file cannot be read at the start, or holds what is no key.
    """

    def __init__(self, folder: Path, settings: ServiceSettings, log: EventLog) -> None:
        self._log, self._settings = log, settings
        self._api, self._signing, self._users = (
            folder / name if name else None
            for name in (settings.api_key_file, settings.key_file, settings.user_key_file)
        )
        self.api_keys, self.signing = ApiKeys(read_api_keys(self._api)), signing_keys(self._signing)
        users: Keys | None = signing_keys(self._users) if self._users else None
        self.user_key = next(iter(users.values())) if users else b""  # another key would let each user count again
        self._seen: dict[Path, bytes] = {}
        for path in filter(None, (self._api, self._signing, self._users)):
            self._seen[path] = _digest(path)  # as it was read
            if read_by_others(path):
                log.write("keys", file=path.name, message="other users of this machine can read it: chmod 600")

        self._latest = dict(self._seen)  # as it was found; it may have been half-written

    def look(self) -> None:
        """Read again what has changed and was the same at the look before, and log it."""
        for path, before in self._seen.items():
            now = _digest(path)
            whole, self._latest[path] = now == self._latest[path], now
            if now == before or not whole:
                continue
            self._seen[path] = now
            try:
                message = self._read(path)
            except InputError as error:
                message = f"the former keys stay in use: {error}"
            self._log.write("keys", file=path.name, message=message)

    def _read(self, path: Path) -> str:
        if path == self._users:
            return "the key of the users is read at the start only: under another one each user would count again"
        if path == self._api:
            self.api_keys.take(read_api_keys(path))
            return f"read again: {len(self.api_keys)} keys"
        if not path.exists():
            raise InputError(f"{path}: there is no such file")
        self.signing.take(signing_keys(path))
        return f"read again: {', '.join(self.signing)}"


def _digest(path: Path) -> bytes:
    """Return a digest of a file, empty for one that cannot be read; its time may be that of before."""
    try:
        with path.open("rb") as file:
            return hashlib.sha256(file.read(_MOST)).digest()
    except OSError:
        return b""
