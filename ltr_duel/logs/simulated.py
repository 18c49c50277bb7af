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
from ltr_duel.logs.table import LOG_COLUMNS
from ltr_duel.logs.writer import write_log
from ltr_duel.rankers import REDRAWING, Rankings
from ltr_duel.simulation import Live, RunKey, checkpoints, run_order, run_streams

BEGINS, SECONDS = 1_700_000_000.0, 10.0  # first time and step of the simulated clock
_ROWS = 1 << 14  # impressions that are written at a time
_OWN_QUERIES = 3  # queries of each returning user
_COLUMNS = tuple(name for name in LOG_COLUMNS if name not in ("page", "propensity", "dwell"))


class Record(NamedTuple):
    """The impressions that have not been written yet, one row per impression."""

    filled: IntVector  # (1,) number of impressions
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
    interests: IntMatrix  # (users, 3) queries of each user; no rows if users do not return
    record: Record


@inlined
def next_visit(oracle: LoggedOracle, size: int, rng: np.random.Generator) -> int:
    """Sample user and query of the next impression, which compares ``size`` rankers; return its row in the record."""
    record, users = oracle.record, oracle.interests.shape[0]
    row = record.filled[0]
    record.filled[0] += 1
    record.size[row] = size
    if users == 0:
        record.query[row] = random_below(oracle.pairs.lists.query_ptr.shape[0] - 1, rng)
    else:
        record.user[row] = random_below(users, rng)
        record.query[row] = oracle.interests[record.user[row], random_below(oracle.interests.shape[1], rng)]
    return row


@inlined
def show(record: Record, c: Comparison, row: int, length: int, rng: np.random.Generator) -> int:
    """Simulate the user's clicks on the drawn list, and record list and clicks; return the number of clicks."""
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
    row = next_visit(oracle, 2, streams.queries)
    record.rankers[row, 0] = first
    record.rankers[row, 1] = second
    query, outcome = record.query[row], 0
    length = draw_pair(c.method, c.lists, query, first, second, c.page, streams.lists)
    n_clicks = show(record, c, row, length, streams.clicks)
    if n_clicks > 0:
        outcome = vector.sign(credit_pair(c.method, c.lists, query, first, second, c.page, length, n_clicks), 0.0)
    return outcome if outcome != 0 else coin(streams.feedback)


def _multiduel(oracle: LoggedOracle, slate: IntVector, size: int, won: SignMatrix, streams: Streams) -> None:
    c, record = oracle.slates, oracle.record
    row, repeated = next_visit(oracle, size, streams.queries), False
    for a in range(size):
        record.rankers[row, a] = slate[a]
        for b in range(a + 1, size):
            won[a, b], repeated = 0, repeated or slate[a] == slate[b]
    query = record.query[row]
    length = draw_slate(c.method, c.lists, query, slate, size, c.page, streams.lists)
    n_clicks = show(record, c, row, length, streams.clicks)
    if n_clicks > 0:
        credit_slate(c.method, c.lists, query, slate, size, c.page, length, n_clicks, won)
    for a in range(size):
        for b in range(a + 1, size):
            if won[a, b] == 0:
                won[a, b] = coin(streams.feedback)
    record.filled[0] -= repeated  # a set that contains a ranker twice is not an impression


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
    duels, oracle = component.feedback == "duel", live.open()
    method = METHODS.configure(pairs if duels else slates)
    rule = live.provenance["outcome"] if duels else "".join(method.component.slate_outcomes[:1])
    team_draft = method.component.name == "team_draft"
    constant = {"method": method.label, "outcome": rule or None, "policy": label}
    owned = team_draft or rule == "sampled" or method.component.foreign
    given = {"user": users > 0, "rankings": not team_draft, "owners": owned}
    constant |= dict.fromkeys(name for name, present in given.items() if not present)
    interests = stream(seed, "logs", "users").integers(0, rankings.n_queries, (users, _OWN_QUERIES))
    logged = LoggedOracle(oracle.pairs, oracle.slates, interests, _empty_record(top, len(rankings)))
    key = RunKey(live.provenance, component.name, params._asdict(), horizon, 0, seed, 20, "")
    run = Run(
        component, params, len(rankings), relabelled(logged, run_order(key, len(rankings))), run_streams(key),
        new_recorder(len(rankings), checkpoints(horizon)), horizon=horizon,
        compiled=compiled and component.compiled and live.compiled,
    )  # fmt: skip
    with write_log(path, _COLUMNS) as log:
        while run.t < horizon:
            run.advance(min(horizon, run.t + _ROWS))
            if n := int(logged.record.filled[0]):
                columns = _columns(logged.record, np.arange(log.rows, log.rows + n), rankings, orders=not team_draft)
                log.write(columns | {name: [value] * n for name, value in constant.items()})
            logged.record.filled[0] = 0
        if not log.rows:
            raise InputError(f"{path}: no step of '{label}' compares different rankers, so the log would be empty")
    return log.rows


def _empty_record(top: int, rankers: int) -> Record:
    widths = {"rankers": rankers, "shown": top, "owner": top, "clicks": top}
    arrays = {name: np.zeros((_ROWS, widths[name]) if name in widths else _ROWS, np.int64) for name in Record._fields}
    return Record(**arrays | {"filled": np.zeros(1, np.int64)})


def _columns(record: Record, number: IntVector, rankings: Rankings, *, orders: bool) -> dict[str, Any]:
    """Return the recorded impressions, with these numbers, as columns of a log; ``orders``: also the rankings."""
    _, query, user, size, rankers, length, shown, owner, clicked, clicks = (field[: len(number)] for field in record)
    first, documents = rankings.query_ptr[query], np.diff(rankings.query_ptr)[query]
    document, names = _flat(shown, length), np.array(rankings.names)
    columns = {
        "impression": _texts(number),
        "time": pa.array(BEGINS + SECONDS * number),
        "query": _texts(query),
        "user": _texts(user),
        "shown": _lists(_texts(document), length),
        "clicks": _lists(pa.array((_flat(clicks, clicked) + 1).astype(np.int32)), clicked),
        "rankers": _lists(pa.array(names[_flat(rankers, size)].tolist(), pa.string()), size),
        "owners": _lists(pa.array(_flat(owner, length).astype(np.int32)), length),
        "grades": _lists(pa.array(rankings.relevance[np.repeat(first, length) + document].astype(np.int32)), length),
    }
    if orders:
        arms, row = _flat(rankers, size), np.repeat(np.arange(len(number)), size)
        each = [rankings.order[a, first[r] : first[r] + documents[r]] for a, r in zip(arms, row, strict=True)]
        columns["rankings"] = _lists(_lists(_texts(np.concatenate(each)), documents[row]), size)
    return columns


def _texts(numbers: Any) -> Any:
    return pa.array(numbers).cast(pa.string())


def _flat(table: IntMatrix, lengths: IntVector) -> IntVector:
    """Return the first entries of each row, concatenated."""
    flat: IntVector = table[np.arange(table.shape[1]) < lengths[:, None]]
    return flat


def _lists(values: Any, lengths: IntVector) -> Any:
    return pa.ListArray.from_arrays(pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)), values)
