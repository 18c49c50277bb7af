"""What is kept beside each run: where it comes from, and what it cost. Imports no simulation: `status` reads it.

Most of this manifest is the same for many runs, so it is a record of its own, named by its SHA-256: the *group* (the
key but for the repetition, the problem, how the policy was called) and the *origin* (experiment, program, libraries,
machine).
"""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ltr_duel.core import InputError
from ltr_duel.experiment.segment import RUN, SHARED, Content, encode_record

_ABOUT = struct.Struct("<32s32sQdd")  # group, origin, repetition, seconds, when it was finished
_AGE = 1e10  # seconds: more than any run takes


class Shared(NamedTuple):
    """What several manifests have in common."""

    name: str  # SHA-256 of the JSON
    data: bytes  # the JSON, compressed


class About(NamedTuple):
    """What is kept of each run alone, beside its result."""

    group: str  # names of the shared parts
    origin: str
    repetition: int
    seconds: float
    finished: float  # seconds since 1970


class Writer:
    """Writes runs into a file, behind each other.

    write: takes whole records, and keeps all of them or, with an error, none.
    """

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write, self._known, self._waiting = write, set[str](), list[bytes]()

    def add(self, digest: str, data: bytes, about: About, shared: Iterable[Shared], generation: int) -> None:
        """Take a run, and before it what it refers to, unless that is there."""
        for one in shared:
            if one.name not in self._known:
                self._waiting.append(encode_record(SHARED, one.name, b"", one.data))
                self._known.add(one.name)
        numbers = bytes.fromhex(about.group), bytes.fromhex(about.origin), *about[2:]
        self._waiting.append(encode_record(RUN, digest, _ABOUT.pack(*numbers), data, generation))

    def flush(self) -> None:
        """Write what was taken. After an error there is nothing more to write: what was taken is lost."""
        records, self._waiting = b"".join(self._waiting), []
        if records:
            self._write(records)


def decode_about(content: Content) -> About:
    """Return what is kept beside a run. Raises `InputError` with a part of a sentence, if that is nothing of ours."""
    if len(content.about) != _ABOUT.size:
        raise InputError("it is not as it was written")
    group, origin, *numbers = _ABOUT.unpack(content.about)
    return About(group.hex(), origin.hex(), *numbers)


def make_shared(content: dict[str, Any]) -> Shared:
    """Make what several runs refer to."""
    text = json.dumps(content, sort_keys=True).encode()
    return Shared(hashlib.sha256(text).hexdigest(), zlib.compress(text, 9))


def seconds_of(contents: Iterable[Content | None]) -> list[float]:
    """Return how long runs took, of their records; those that are damaged are left out."""
    sound = (decode_about(one).seconds for one in contents if one is not None)
    return [seconds for seconds in sound if 0 <= seconds < _AGE]
