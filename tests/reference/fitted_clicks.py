"""Click models the slow way: sessions sampled event by event, EM by enumeration of all possible events."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ltr_duel.clicks.fit.sessions import Sessions


class Truth(NamedTuple):
    """Parameters of a model by name; parameters that a model lacks are empty."""

    attract: Sequence[float]
    satisfy: Sequence[float] = ()
    place: Sequence[float] = ()
    shared: Sequence[float] = ()


def attention_key(form, k, last, places):
    return k * places + (last if last >= 0 else places - 1) if form == "ubm" else k


def worlds(form, value, items, places, k=0, last=-1):
    """Yield (probability, clicks, events) of all continuations from position k on; events are (parameter, success)."""
    if k == len(items):
        yield 1.0, (), ()
        return
    i, end = items[k], k == len(items) - 1

    def tossed(key):
        p = value(*key)
        return ((p, ((key, True),)), (1 - p, ((key, False),)))

    noticing = [(1.0, ())]
    if form in ("pbm", "ubm", "table"):
        noticing = tossed(("place", attention_key(form, k, last, places)))
    for p_notice, noticed in noticing:
        for p_attract, attracted in tossed(("attract", i)):
            click = all(true for _, true in (*noticed, *attracted))
            for p_on, events, on in after(form, tossed, i, k, click, end):
                here = p_notice * p_attract * p_on
                if on:
                    for p, clicks, later in worlds(form, value, items, places, k + 1, k if click else last):
                        yield here * p, (click, *clicks), (*noticed, *attracted, *events, *later)
                else:
                    yield here, (click,) + (False,) * (len(items) - k - 1), (*noticed, *attracted, *events)


def after(form, tossed, i, k, click, end):
    """Yield (probability, events, whether the user goes on)."""
    if form == "cascade":
        yield 1.0, (), not click
    elif end or (not click and form != "dbn") or form in ("pbm", "ubm"):
        yield 1.0, (), True
    elif form in ("sdbn", "table"):
        for p, events in tossed(("satisfy", i)):
            yield p, events, not events[0][1]
    else:
        for p, events in tossed(("satisfy", i)) if click else ((1.0, ()),):
            if events and events[0][1]:
                yield p, events, False
            else:
                for p_on, going in tossed(("shared", 0)):
                    yield p * p_on, events + going, going[0][1]


def em(form, sessions, places, steps, smoothing=1.0):
    """Return the parameters after the given number of steps, by (kind, number); sessions are (items, clicks)."""
    theta = defaultdict(lambda: 0.5)
    for _ in range(steps):
        true, asked = defaultdict(float), defaultdict(float)
        for items, clicks in sessions:
            fitting = [
                (p, events)
                for p, said, events in worlds(form, lambda *key, theta=theta: theta[key], items, places)
                if said == tuple(clicks)
            ]
            whole = sum(p for p, _ in fitting)
            for p, events in fitting:
                for key, came in events:
                    true[key] += p / whole * came
                    asked[key] += p / whole
        theta = defaultdict(lambda: 0.5, {key: (true[key] + smoothing) / (asked[key] + 2 * smoothing) for key in asked})
    return theta


def drawn(form, truth, lists, n, rng):
    """Draw sessions: each shows one of the lists of grades, shape (lists, places); without ``n``, each list once."""
    chosen = np.arange(len(lists)) if n is None else rng.integers(0, len(lists), n)
    n = len(chosen)
    item = np.asarray(lists)[chosen]
    places = item.shape[1]
    attract, satisfy, place, shared = (np.array(part) for part in truth)
    click = np.zeros(item.shape, np.bool_)
    there, last = np.ones(n, np.bool_), np.full(n, -1)
    for k in range(places):
        i = item[:, k]
        click[:, k] = there & (rng.random(n) < attract[i])
        if form in ("pbm", "table"):
            click[:, k] &= rng.random(n) < place[k]
        elif form == "ubm":
            click[:, k] &= rng.random(n) < place[k * places + np.where(last >= 0, last, places - 1)]
        c = click[:, k]
        last[c] = k
        if form == "cascade":
            there &= ~c
        elif form in ("sdbn", "table", "dbn"):
            there &= ~c | (rng.random(n) >= satisfy[i])
        if form == "dbn":
            there &= rng.random(n) < shared[0]
    ptr = np.arange(0, n * places + 1, places)
    return Sessions(ptr, item.ravel(), click.ravel(), chosen, len(truth.attract), True)
