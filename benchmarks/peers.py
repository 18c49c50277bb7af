"""Measured rates of other programs, with the set-up and the date of each measurement."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

_ALL = tomllib.loads((Path(__file__).parent / "peers.toml").read_text(encoding="utf-8"))


class Peer(NamedTuple):
    """The measured rate of another program."""

    name: str
    rate: float
    setup: str


def of_policy(policy: str, size: int) -> Peer | None:
    """Return the best other program's rate for a policy with ``size`` rankers."""
    about = _ALL["bandits"].get(policy, {})
    return _found(about, lambda given: given.get(str(size)))


def of_comparison(row: str) -> Peer | None:
    """Return the best other program's rate for a row of the comparisons."""
    return _found(_ALL["comparisons"].get(row, {}), lambda given: given)


def sentences(peers: Iterable[Peer]) -> list[str]:
    """Describe how and when the rates were measured, each set-up once."""
    known = dict.fromkeys(peer.setup for peer in peers)
    return [f"({_letter(setup)}) {_ALL['setups'][setup]['text']}; {_ALL['setups'][setup]['date']}." for setup in known]


def cell(peer: Peer | None, rate: str) -> str:
    """Return a program's rate with the letter of its set-up."""
    return f"{rate} ({_letter(peer.setup)})" if peer else ""


def _letter(setup: str) -> str:
    return "abc"[list(_ALL["setups"]).index(setup)]


def _found(about, figure) -> Peer | None:
    for setup in _ALL["setups"]:
        if setup in about and (rate := figure(about[setup])):
            return Peer(about["peer"], float(rate), setup)
    return None
