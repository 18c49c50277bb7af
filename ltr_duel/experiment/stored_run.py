"""A run in the store: its bytes, its key, and its manifest."""

from __future__ import annotations

import hashlib
import json
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ltr_duel.core import InputError
from ltr_duel.experiment.about import About, Shared, decode_about, make_shared
from ltr_duel.experiment.found import Found, Place
from ltr_duel.experiment.record import checked_record, parsed_record
from ltr_duel.experiment.run_record import decisions_of, decode_run
from ltr_duel.experiment.segment import Content
from ltr_duel.experiment.store import Store
from ltr_duel.preferences import load_preferences
from ltr_duel.simulation import AS_GIVEN, RunKey, RunResult

_MOST_SHARED = 1 << 28  # bytes of a group or an origin
_KEY = {
    "oracle": dict,
    "policy": str,
    "params": dict,
    "horizon": int,
    "seed": int,
    "checkpoints_per_decade": int,
    "measured_by": str,
    "source": str,
}
_SINCE = "labels", "batch", "delay"  # which a key has only where they are not as in earlier versions
_GROUP = {"key": dict, "policy": str, "problem": str, "matrix_sha256": str}


class Stored(NamedTuple):
    """A run as it lies in the store."""

    digest: str
    data: bytes
    about: About
    group: dict[str, Any]
    generation: int

    @property
    def key(self) -> RunKey:
        """Its key."""
        return RunKey(**{"labels": AS_GIVEN} | self.group["key"], repetition=self.about.repetition)

    @property
    def horizon(self) -> int:
        """Its last step."""
        return int(self.group["key"]["horizon"])

    @property
    def matrix(self) -> str:
        """Digest of the matrix that its regret is measured by."""
        key = self.group["key"]
        return str(key["measured_by"] or key["oracle"].get("matrix"))

    def result(self, label: str) -> RunResult:
        """Return the run itself. Raises `InputError`, with a part of a sentence, if it is none of its key."""
        return decode_run(self.data, self.key, label)


class Reader:
    """Reads runs of a store.

    found: where they are.
    """

    def __init__(self, store: Store, found: Found) -> None:
        self._store, self._found = store, found
        self._parts: dict[str, dict[str, Any] | str] = {}  # or what is wrong with them
        self._groups: dict[str, tuple[dict[str, Any], Callable[[int], str]]] = {}  # and what names their runs

    @property
    def folder(self) -> Path:
        """The store's."""
        return self._store.folder

    def where(self, digest: str) -> str:
        """Say where a run lies."""
        return f"{self._store.runs / self._found.done[digest].segment}: run {digest}"

    def runs(self, digests: Iterable[str]) -> Iterator[tuple[str, Stored | str]]:
        """Yield runs in the order in which they lie: each digest with the run, or with what is wrong, as a sentence.

        Raises `InputError` if a file cannot be read.
        """
        wanted = sorted((self._found.done[digest], digest) for digest in digests if digest in self._found.done)
        contents = self._store.read(place for place, _ in wanted)
        for (place, digest), content in zip(wanted, contents, strict=True):
            try:
                yield digest, self._stored(digest, content, place)
            except InputError as error:
                yield digest, f"{self.where(digest)}: damaged: {error}"

    def run(self, digest: str) -> Stored:
        """Return one run. Raises `InputError` with what is wrong with it."""
        ((_, run),) = self.runs([digest])
        if isinstance(run, str):
            raise InputError(run)
        return run

    def manifest(self, digest: str) -> dict[str, Any]:
        """Return all that is known of a run beside its result. Raises what `run` does."""
        run = self.run(digest)
        group = {name: value for name, value in run.group.items() if name != "key"}
        own = {name: run.group["key"][name] for name in ("horizon", "seed")}
        seconds, decisions = run.about.seconds, decisions_of(run.data)
        return {
            "run": digest,
            **self.part(run.about.origin),
            **group,
            **own,
            "repetition": run.about.repetition,
            "seconds": seconds,
            "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(run.about.finished)),
            "decisions": decisions,
            "steps_per_second": own["horizon"] / max(seconds, 1e-9),
            "duels_per_second": decisions / max(seconds, 1e-9),
        }

    def part(self, name: str) -> dict[str, Any]:
        """Return what runs have in common. Raises `InputError` with a part of a sentence, if it is not there."""
        if name not in self._parts:
            try:
                self._parts[name] = parsed_record(self._text(name), {})
            except InputError as error:
                self._parts[name] = f"its manifest is {error}"
        part = self._parts[name]
        if isinstance(part, str):
            raise InputError(part)
        return part

    def shared(self, name: str) -> Shared:
        """Return what runs have in common, to copy it. Raises what `part` does."""
        return make_shared(self.part(name))

    def _text(self, name: str) -> bytes:
        places = self._found.shared.get(name, ())
        content = next(filter(None, self._store.read(places)), None)
        if content is None:
            raise InputError("not as it was written" if places else "missing")
        try:
            text = zlib.decompressobj().decompress(content.data, _MOST_SHARED)
        except zlib.error:
            text = b""
        if hashlib.sha256(text).hexdigest() != name:
            raise InputError("not as it was written")
        return text

    def _stored(self, digest: str, content: Content | None, place: Place) -> Stored:
        if content is None:
            raise InputError("it is not as it was written")
        about = decode_about(content)
        group, digest_of = self._group(about.group)
        if (own := digest_of(about.repetition)) != digest:
            raise InputError(f"it is of another run, {own}")
        return Stored(digest, content.data, about, group, place.generation)

    def _group(self, name: str) -> tuple[dict[str, Any], Callable[[int], str]]:
        if name not in self._groups:
            group = checked_record(self.part(name), _GROUP)
            key = checked_record(group["key"], _KEY)
            own = {field: key[field] for field in (*_KEY, *_SINCE) if field in key}
            self._groups[name] = group | {"key": own}, digests(own)
        return self._groups[name]


def digests(key: dict[str, Any]) -> Callable[[int], str]:
    """Return what gives the digest of each repetition: `RunKey.digest`, with the text of the key made once for all."""
    before, after = (
        json.dumps({name: one for name, one in key.items() if (name < "repetition") == early}, sort_keys=True)
        for early in (True, False)
    )
    begun, end = hashlib.sha256(f'{before[:-1]}, "repetition": '.encode()), f", {after[1:]}".encode()

    def digest(repetition: int) -> str:
        whole = begun.copy()
        whole.update(b"%d" % repetition + end)
        return whole.hexdigest()

    return digest


def wrong_with_runs(store: Store, found: Found, digests: Iterable[str]) -> dict[str, str]:
    """Compare runs with their checksums and their names, and read them: by digest, what is wrong, or nothing."""
    reader, wrong = Reader(store, found), {}
    for digest, run in reader.runs(digests):
        if isinstance(run, str):
            wrong[digest] = run
            continue
        try:
            run.result("")
            wrong[digest] = ""
            reader.part(run.about.origin)
        except InputError as error:
            wrong[digest] = f"{reader.where(digest)}: damaged: {error}"
    return wrong


def wrong_with_problem(path: Path, digest: str) -> str:
    """Compare the matrix of a problem with its digest, as plans and manifests say it: say what is wrong, or nothing."""
    try:
        found = load_preferences(path).digest
    except InputError as error:
        return str(error)
    return "" if found == digest else f"{path}: damaged: not the matrix that its runs were measured by"
