"""A log of simulated users: every impression of a policy's run, as a search page would have logged it.

The run is that of `simulate` with the same seed (its first repetition), list by list and click by click; or users
return, each with a few queries that he asks again and again, so that his outcomes go together.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ltr_duel.bandits import POLICIES, Policy, Run, duel, multiduel, new_recorder, relabelled
from ltr_duel.clicks import ClickModel
from ltr_duel.core import (
    InputError,
    IntMatrix,
    IntVector,
    SignMatrix,
    Streams,
    coin,
    errors,
    implement,
    kernel,
    random_below,
    stream,
    vector,
)
from ltr_duel.interleaving import (
    METHODS,
    Comparison,
    Method,
    click_list,
    credit_pair,
    credit_slate,
    draw_pair,
    draw_slate,
)
from ltr_duel.logs.writer import write_log
from ltr_duel.rankers import REDRAWING, Rankings
from ltr_duel.simulation import Live, RunKey, checkpoints, run_order, run_streams

BEGINS, SECONDS = 1_700_000_000.0, 10.0  # of the simulated clock
_ROWS = 1 << 14
_OWN_QUERIES = 3  # of a user who returns
_COLUMNS = (
    "impression", "time", "query", "user", "shown", "clicks", "rankers", "owners", "rankings", "method", "outcome",
    "policy", "grades",
)  # fmt: skip


class Record(NamedTuple):
    """The impressions since the last were written; one row each."""

    used: IntVector  # (1,)
    query: IntVector  # (rows,)
    user: IntVector  # (rows,)
    size: IntVector  # (rows,) rankers
    rankers: IntMatrix  # (rows, K)
    length: IntVector  # (rows,)
    shown: IntMatrix  # (rows, top)
    owner: IntMatrix  # (rows, top)
    clicked: IntVector  # (rows,) number of clicks
    clicks: IntMatrix  # (rows, top) places from 0


class LoggedOracle(NamedTuple):
    """Simulated users whose impressions are recorded."""

    pairs: Comparison
    slates: Comparison
    wants: IntMatrix  # (users, 3) queries of each user; no rows where nobody returns
    record: Record


@kernel
def next_visit(oracle: LoggedOracle, rng: np.random.Generator) -> int:
    """Draw who comes with which query, and note it."""
    record, users = oracle.record, oracle.wants.shape[0]
    row = record.used[0]
    record.used[0] += 1
    if users == 0:
        record.query[row] = random_below(oracle.pairs.lists.query_ptr.shape[0] - 1, rng)
    else:
        record.user[row] = random_below(users, rng)
        record.query[row] = oracle.wants[record.user[row], random_below(oracle.wants.shape[1], rng)]
    return row


@kernel
def show(oracle: LoggedOracle, c: Comparison, row: int, length: int, rng: np.random.Generator) -> int:
    """Let the user click on the list that was drawn, and note both; return the number of clicks."""
    record = oracle.record
    n_clicks = click_list(c, record.query[row], length, rng)
    record.length[row] = length
    record.clicked[row] = n_clicks
    for k in range(length):
        record.shown[row, k] = c.page.shown[k]
        record.owner[row, k] = c.page.owner[k]
    for k in range(n_clicks):
        record.clicks[row, k] = c.page.clicks[k]
    return n_clicks


def _duel(oracle: LoggedOracle, first: int, second: int, streams: Streams) -> int:
    c, record = oracle.pairs, oracle.record
    row = next_visit(oracle, streams.queries)
    record.size[row] = 2
    record.rankers[row, 0] = first
    record.rankers[row, 1] = second
    query, outcome = record.query[row], 0
    length = draw_pair(c.method, c.lists, query, first, second, c.page, streams.lists)
    n_clicks = show(oracle, c, row, length, streams.clicks)
    if n_clicks > 0:
        outcome = vector.sign(credit_pair(c.method, c.lists, query, first, second, c.page, length, n_clicks), 0.0)
    if outcome == 0:
        outcome = coin(streams.feedback)
    return outcome


def _multiduel(oracle: LoggedOracle, slate: IntVector, size: int, won: SignMatrix, streams: Streams) -> None:
    c, record = oracle.slates, oracle.record
    row = next_visit(oracle, streams.queries)
    record.size[row] = size
    for a in range(size):
        record.rankers[row, a] = slate[a]
        for b in range(a + 1, size):
            won[a, b] = 0
    query = record.query[row]
    length = draw_slate(c.method, c.lists, query, slate, size, c.page, streams.lists)
    n_clicks = show(oracle, c, row, length, streams.clicks)
    if n_clicks > 0:
        credit_slate(c.method, c.lists, query, slate, size, c.page, length, n_clicks, won)
    for a in range(size):
        for b in range(a + 1, size):
            if won[a, b] == 0:
                won[a, b] = coin(streams.feedback)


implement(duel, LoggedOracle, _duel)
implement(multiduel, LoggedOracle, _multiduel)


def simulate_log(
    path: str | Path,
    rankings: Rankings,
    clicks: str | ClickModel = "navigational",
    *,
    policy: str | Policy = "random",
    pairs: str | Method = "probabilistic",
    outcome: str = "",
    slates: str | Method = "sosm",
    top: int = 10,
    horizon: int = 10_000,
    users: int = 0,
    seed: int = 0,
    compiled: bool = True,
) -> int:
    """Write the log of one run of a policy on simulated users.

    Parameters
    ----------
    path : path
        A log's file, by the suffix JSON lines, CSV or Parquet.
    rankings : Rankings
        With ties ordered once and for all.
    clicks, pairs, outcome, slates, top
        As of `Live`, but the outcome rule is by default the first of the method: ``marginal_sign`` for probabilistic
        interleave, whose credit needs no page token.
    policy : str or Policy
        Which rankers are compared in each impression; ``"random"`` compares all pairs alike.
    horizon : int
        Steps. One in which a ranker is compared with itself is no impression.
    users : int
        If positive, so many users come back, each with three queries of his own; else nobody does.
    seed : int
    compiled : bool
        False runs the same text as plain Python, for the same log.

    Returns
    -------
    int
        Impressions written.

    Raises
    ------
    InputError
        For what `Live` refuses, numbers out of range, rankings whose ties are ordered anew each time, or a rule whose
        credit a log without page tokens cannot hold.

    Examples
    --------
    >>> import tempfile
    >>> from ltr_duel.data import make_corpus
    >>> from ltr_duel.logs import ClickLog, compare_log
    >>> from ltr_duel.rankers import feature_rankers
    >>> rankings = feature_rankers(make_corpus(queries=20, documents=8, features=2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "clicks.parquet"
    ...     _ = simulate_log(path, rankings, pairs="team_draft", horizon=100)
    ...     sorted(compare_log(ClickLog(path)).names)
    ['1', '2']
    """
    errors.require_between("the horizon", horizon, 1)
    errors.require_between("the number of users", users, 0)
    if outcome == "marginal_bernoulli":
        raise InputError(f"the rule '{outcome}' tosses a coin with the list, which a log without page tokens lacks")
    if rankings.provenance.get("ties") in REDRAWING:
        raise InputError(
            "a log holds one order of tied documents: take rankings whose ties are ordered once and for all"
        )
    # The first rule of each method needs no page token: without one a log cannot hold the coin of an unbiased rule.
    outcome = outcome or METHODS.configure(pairs).component.outcomes[0]
    live = Live(rankings, clicks, pairs=pairs, outcome=outcome, slates=slates, top=top)
    label, component, params = POLICIES.configure(policy)
    oracle = live.open()
    n_queries, names = rankings.n_queries, np.array(rankings.names)
    wants = stream(seed, "logs", "users").integers(0, n_queries, (users, _OWN_QUERIES))
    logged = LoggedOracle(oracle.pairs, oracle.slates, wants, _record(top, len(rankings)))
    key = RunKey(live.provenance, component.name, params._asdict(), horizon, 0, seed, 20, "")
    compiled = compiled and component.compiled and live.compiled
    counts = new_recorder(len(rankings), checkpoints(horizon))
    known = relabelled(logged, run_order(key, len(rankings)))
    run = Run(component, params, len(rankings), known, run_streams(key), counts, horizon=horizon, compiled=compiled)
    of = "pairs" if component.feedback == "duel" else "slates"
    about = {
        "label": METHODS.configure(pairs if of == "pairs" else slates).label,
        "method": live.provenance["method" if of == "pairs" else "slates"],
        "outcome": live.provenance["outcome"] if of == "pairs" else "",
        "policy": label,
    }
    with write_log(path, _COLUMNS) as log:
        while run.t < horizon:
            run.advance(min(horizon, run.t + _ROWS))
            if logged.record.used[0]:
                log.write(_columns(logged.record, log.rows, rankings, names, about, bool(users)))
            logged.record.used[0] = 0
    return log.rows


def _record(top: int, rankers: int) -> Record:
    vectors = {name: np.zeros(_ROWS, np.int64) for name in ("query", "user", "size", "length", "clicked")}
    tables = {name: np.zeros((_ROWS, top), np.int64) for name in ("shown", "owner", "clicks")}
    return Record(used=np.zeros(1, np.int64), rankers=np.zeros((_ROWS, rankers), np.int64), **vectors, **tables)


def _columns(
    record: Record, before: int, rankings: Rankings, names: Any, about: dict[str, str], returning: bool
) -> dict[str, Any]:
    """Return the rows as the columns of a log; ``before``: impressions written already."""
    n = int(record.used[0])
    query, size, length = record.query[:n], record.size[:n], record.length[:n]
    by_owner = about["method"] == "team_draft" or about["outcome"] == "sampled"
    starts = rankings.query_ptr[query]
    arms, clicked = record.rankers[:n], record.clicked[:n]
    places = _flat(record.clicks[:n], clicked) + 1
    shown = _flat(record.shown[:n], length)
    columns = {
        "impression": _texts(np.arange(before, before + n)),
        "time": pa.array(BEGINS + SECONDS * np.arange(before, before + n)),
        "query": _texts(query),
        "user": _texts(record.user[:n]) if returning else pa.nulls(n, pa.string()),
        "shown": _lists(_texts(shown), length),
        "clicks": _lists(pa.array(places.astype(np.int32)), clicked),
        "rankers": _lists(pa.array(names[_flat(arms, size)].tolist(), pa.string()), size),
        "method": pa.array([about["label"]] * n),
        "outcome": pa.array([about["outcome"] or None] * n, pa.string()),
        "policy": pa.array([about["policy"]] * n),
        "grades": _lists(pa.array(rankings.relevance[np.repeat(starts, length) + shown].astype(np.int32)), length),
        "owners": [None] * n,
        "rankings": [None] * n,
    }
    if by_owner:
        columns["owners"] = _lists(pa.array(_flat(record.owner[:n], length).astype(np.int32)), length)
    if about["method"] != "team_draft":
        documents = np.diff(rankings.query_ptr)[query]
        orders = [
            rankings.order[arms[r, a], starts[r] : starts[r] + documents[r]] for r in range(n) for a in range(size[r])
        ]
        inner = _lists(_texts(np.concatenate(orders)), np.repeat(documents, size))
        columns["rankings"] = _lists(inner, size)
    return columns


def _flat(table: IntMatrix, lengths: IntVector) -> IntVector:
    """Return the first entries of each row, one row after the other."""
    flat: IntVector = table[np.arange(table.shape[1]) < lengths[:, None]]
    return flat


def _texts(numbers: Any) -> Any:
    return pa.array(numbers).cast(pa.string())


def _lists(values: Any, lengths: IntVector) -> Any:
    return pa.ListArray.from_arrays(pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)), values)
