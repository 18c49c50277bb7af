"""A log of simulated users: every impression of a policy's run, in the form that a search page would log.

If users do not return, the run equals the first repetition of `simulate` with the same seed, list by list and click by
click. If users return, each user repeats a few queries, so that the outcomes of a user are correlated.
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
    inlined,
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

BEGINS, SECONDS = 1_700_000_000.0, 10.0  # first time and step of the simulated clock
_ROWS = 1 << 14
_OWN_QUERIES = 3  # queries of each returning user
_COLUMNS = (
    "impression", "time", "query", "user", "shown", "clicks", "rankers", "owners", "rankings", "method", "outcome",
    "policy", "grades",
)  # fmt: skip


class Record(NamedTuple):
    """The impressions that have not been written yet, one row per impression."""

    used: IntVector  # (1,)
    query: IntVector  # (rows,)
    user: IntVector  # (rows,)
    size: IntVector  # (rows,) number of rankers
    rankers: IntMatrix  # (rows, K)
    length: IntVector  # (rows,)
    shown: IntMatrix  # (rows, top)
    owner: IntMatrix  # (rows, top)
    clicked: IntVector  # (rows,) number of clicks
    clicks: IntMatrix  # (rows, top) positions from 0


class LoggedOracle(NamedTuple):
    """Simulated users whose impressions are recorded."""

    pairs: Comparison
    slates: Comparison
    wants: IntMatrix  # (users, 3) queries of each user; no rows if users do not return
    record: Record


@inlined
def next_visit(oracle: LoggedOracle, rng: np.random.Generator) -> int:
    """Sample the user and the query of the next impression, and record them."""
    record, users = oracle.record, oracle.wants.shape[0]
    row = record.used[0]
    record.used[0] += 1
    if users == 0:
        record.query[row] = random_below(oracle.pairs.lists.query_ptr.shape[0] - 1, rng)
    else:
        record.user[row] = random_below(users, rng)
        record.query[row] = oracle.wants[record.user[row], random_below(oracle.wants.shape[1], rng)]
    return row


@inlined
def show(oracle: LoggedOracle, c: Comparison, row: int, length: int, rng: np.random.Generator) -> int:
    """Simulate the user's clicks on the drawn list, and record list and clicks; return the number of clicks."""
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
    again = False
    for a in range(size):
        record.rankers[row, a] = slate[a]
        for b in range(a + 1, size):
            won[a, b], again = 0, again or slate[a] == slate[b]
    query = record.query[row]
    length = draw_slate(c.method, c.lists, query, slate, size, c.page, streams.lists)
    n_clicks = show(oracle, c, row, length, streams.clicks)
    if n_clicks > 0:
        credit_slate(c.method, c.lists, query, slate, size, c.page, length, n_clicks, won)
    for a in range(size):
        for b in range(a + 1, size):
            if won[a, b] == 0:
                won[a, b] = coin(streams.feedback)
    record.used[0] -= again  # a set that contains a ranker twice is not an impression


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
        Path of the log; the suffix selects JSON lines, CSV or Parquet.
    rankings : Rankings
        Rankings with a fixed order of ties.
    clicks, pairs, outcome, slates, top
        See `Live`. The default outcome rule of probabilistic interleaving differs: it is ``sampled``, which has the
        same mean and requires no page token.
    policy : str or Policy
        Policy that chooses the rankers of each impression; ``"random"`` samples all pairs uniformly.
    horizon : int
        Number of steps. A step is not an impression if it compares a ranker with itself, or if its set of rankers
        contains a ranker twice.
    users : int
        If positive, the number of returning users, each with three queries; if 0, users do not return.
    seed : int
    compiled : bool
        If False, run the same code as plain Python; the log is the same.

    Returns
    -------
    int
        Number of impressions written.

    Raises
    ------
    InputError
        For arguments that `Live` rejects, numbers out of range, rankings with random order of ties, a rule whose credit
        needs page tokens, or a log without impressions.

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
        raise InputError(f"the rule '{outcome}' uses a coin of the list, which only page tokens contain")
    if rankings.provenance.get("ties") in REDRAWING:
        raise InputError("a log contains one order of tied documents: use rankings with a fixed order of ties")
    if not outcome and METHODS.configure(pairs).component.name == "probabilistic":
        outcome = "sampled"  # its default uses a coin of the list, which only page tokens contain
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
    of, method = ("pairs", pairs) if component.feedback == "duel" else ("slates", slates)
    shown = METHODS.configure(method)
    about = {
        "label": shown.label,
        "foreign": shown.component.foreign,
        "method": live.provenance["method" if of == "pairs" else "slates"],
        "outcome": live.provenance["outcome"] if of == "pairs" else "".join(shown.component.slate_outcomes[:1]),
        "policy": label,
    }
    with write_log(path, _COLUMNS) as log:
        while run.t < horizon:
            run.advance(min(horizon, run.t + _ROWS))
            if logged.record.used[0]:
                log.write(_columns(logged.record, log.rows, rankings, names, about, bool(users)))
            logged.record.used[0] = 0
        if not log.rows:
            raise InputError(f"{path}: no step of '{label}' compares different rankers, so the log would be empty")
    return log.rows


def _record(top: int, rankers: int) -> Record:
    vectors = {name: np.zeros(_ROWS, np.int64) for name in ("query", "user", "size", "length", "clicked")}
    tables = {name: np.zeros((_ROWS, top), np.int64) for name in ("shown", "owner", "clicks")}
    return Record(used=np.zeros(1, np.int64), rankers=np.zeros((_ROWS, rankers), np.int64), **vectors, **tables)


def _columns(
    record: Record, before: int, rankings: Rankings, names: Any, about: dict[str, Any], returning: bool
) -> dict[str, Any]:
    """Return the rows as the columns of a log; ``before``: number of impressions written before."""
    n = int(record.used[0])
    query, size, length = record.query[:n], record.size[:n], record.length[:n]
    by_owner = about["method"] == "team_draft" or about["outcome"] == "sampled" or about["foreign"]
    starts = rankings.query_ptr[query]
    arms, clicked = record.rankers[:n], record.clicked[:n]
    places = _flat(record.clicks[:n], clicked) + 1
    shown = _flat(record.shown[:n], length)
    columns = {
        "impression": pa.array(np.arange(before, before + n)).cast(pa.string()),
        "time": pa.array(BEGINS + SECONDS * np.arange(before, before + n)),
        "query": pa.array(query).cast(pa.string()),
        "user": pa.array(record.user[:n]).cast(pa.string()) if returning else pa.nulls(n, pa.string()),
        "shown": _lists(pa.array(shown).cast(pa.string()), length),
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
        inner = _lists(pa.array(np.concatenate(orders)).cast(pa.string()), np.repeat(documents, size))
        columns["rankings"] = _lists(inner, size)
    return columns


def _flat(table: IntMatrix, lengths: IntVector) -> IntVector:
    """Return the first entries of each row, concatenated."""
    flat: IntVector = table[np.arange(table.shape[1]) < lengths[:, None]]
    return flat


def _lists(values: Any, lengths: IntVector) -> Any:
    return pa.ListArray.from_arrays(pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)), values)
