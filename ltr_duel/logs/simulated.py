"""Simulate users and write their clicks to a log, as a search page would.

By default, each impression has a new user. The log then contains the lists and clicks of the first repetition of
`simulate` with the same seed. If users return, they repeat a few queries, and the outcomes of a user are correlated.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ltr_duel.bandits import POLICIES, Policy, Run, duel, new_recorder, relabelled, separate
from ltr_duel.clicks import ClickModel
from ltr_duel.core import (
    InputError,
    IntMatrix,
    IntVector,
    Streams,
    coin,
    errors,
    implement,
    random_below,
    stream,
)
from ltr_duel.interleaving import (
    METHODS,
    Comparison,
    Method,
    click_list,
    credit_pair,
    draw_pair,
)
from ltr_duel.logs.table import LOG_COLUMNS
from ltr_duel.logs.writer import write_log
from ltr_duel.rankers import REDRAWING, Rankings
from ltr_duel.simulation import RunKey, SimulatedUsers, checkpoints, run_order, run_streams

BEGINS, SECONDS = 1_700_000_000.0, 10.0  # first time and step of the simulated clock
_ROWS = 1 << 14  # impressions that are written at a time
_OWN_QUERIES = 3  # queries of each returning user
_COLUMNS = tuple(name for name in LOG_COLUMNS if name not in ("page", "propensity"))


class Record(NamedTuple):
    """The impressions that have not been written yet. In ``shown`` and ``clicks``, -1 fills the rest of a row."""

    filled: IntVector  # (1,) number of impressions
    query: IntVector  # (rows,)
    user: IntVector  # (rows,)
    rankers: IntMatrix  # (rows, 2)
    shown: IntMatrix  # (rows, top)
    owner: IntMatrix  # (rows, top) as long as the list; -1 for none
    clicks: IntMatrix  # (rows, top) positions from 0


@separate
class LoggedOracle(NamedTuple):
    """Simulated users whose impressions are recorded."""

    pairs: Comparison
    interests: IntMatrix  # (users, 3) queries of each user; no rows if users do not return
    record: Record


def _duel(oracle: LoggedOracle, first: int, second: int, streams: Streams) -> int:
    c, record, outcome = oracle.pairs, oracle.record, 0
    users = oracle.interests.shape[0]
    row = record.filled[0]
    record.filled[0] += 1
    if users == 0:
        query = random_below(c.lists.query_ptr.shape[0] - 1, streams.queries)
    else:
        record.user[row] = random_below(users, streams.queries)
        query = oracle.interests[record.user[row], random_below(oracle.interests.shape[1], streams.queries)]
    record.query[row] = query
    record.rankers[row, 0], record.rankers[row, 1] = first, second
    length = draw_pair(c.method, c.lists, query, first, second, c.page, streams.lists)
    n_clicks = click_list(c, query, length, streams.clicks)
    record.shown[row, :], record.clicks[row, :] = -1, -1
    for k in range(length):
        record.shown[row, k], record.owner[row, k] = c.page.shown[k], c.page.owner[k]
    for k in range(n_clicks):
        record.clicks[row, k] = c.page.clicks[k]
    if n_clicks > 0:
        won = credit_pair(c.method, c.lists, query, first, second, c.page, length, n_clicks)
        outcome = int(won > 0.0) - int(won < 0.0)
    return outcome if outcome != 0 else coin(streams.feedback)


implement(duel, LoggedOracle, _duel)


def simulate_log(
    path: str | Path,
    rankings: Rankings,
    clicks: str | ClickModel = "navigational",
    *,
    policy: str | Policy = "random",
    pairs: str | Method = "probabilistic",
    outcome: str = "",
    top: int = 10,
    horizon: int = 10_000,
    returning: int = 0,
    seed: int = 0,
    compiled: bool = True,
) -> int:
    """Run a policy on simulated users, write the log of the run, and return its number of impressions.

    Parameters
    ----------
    path : path
        The file to write. The suffix of the file selects JSON lines, CSV or Parquet.
    rankings : Rankings
        The lists of the rankers, with a fixed order of tied documents. The log names queries and documents by their ids
        in the corpus. If the corpus has no ids, the log has numbers from 0.
    clicks, pairs, outcome, top
        The click model, the comparison method, its outcome rule and the length of the lists, as in `SimulatedUsers`.
        The method must be team draft or probabilistic interleaving. The default rule of probabilistic interleaving is
        ``sampled``.
    policy : str or Policy
        The policy that chooses the two rankers of each impression. By default, each pair is equally likely.
    horizon : int
        The number of steps. A step that compares a ranker with itself is not written to the log.
    returning : int
        The number of users who return. Each of them has three queries. By default, users do not return.
    seed : int
        Seed of all random numbers.
    compiled : bool
        Whether to compile the simulation. The log does not depend on it.

    Raises
    ------
    InputError
        If an argument is invalid, if the policy chooses sets of rankers, or if the log would be empty.

    Examples
    --------
    >>> import tempfile
    >>> from ltr_duel.data import make_corpus
    >>> from ltr_duel.logs import compare_log
    >>> from ltr_duel.rankers import feature_rankers
    >>> rankings = feature_rankers(make_corpus(queries=20, documents=8, features=2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "clicks.parquet"
    ...     _ = simulate_log(path, rankings, pairs="team_draft", horizon=100)
    ...     sorted(compare_log(path).names)
    ['1', '2']
    """
    errors.require_between("the horizon", horizon, 1)
    errors.require_between("the number of returning users", returning, 0)
    if rankings.provenance.get("ties") in REDRAWING:
        raise InputError("a log contains one order of tied documents: use rankings with a fixed order of ties")
    if not outcome and METHODS.configure(pairs).component.name == "probabilistic":
        outcome = "sampled"
    source = SimulatedUsers(rankings, clicks, pairs=pairs, outcome=outcome, top=top)
    label, component, params = POLICIES.configure(policy)
    if component.feedback != "duel":
        raise InputError(f"'{label}' compares sets of rankers; a log is simulated with a policy that compares two")
    method, rule = METHODS.configure(pairs), source.provenance["outcome"]
    if method.component.name != "team_draft" and rule != "sampled":
        raise InputError(
            f"a simulated log is credited by owners, which '{method.label}' ({rule}) cannot do: use team_draft, or"
            " probabilistic with the rule 'sampled'"
        )
    constant = {"method": method.label, "outcome": rule, "policy": label}
    interests = stream(seed, "logs", "users").integers(0, rankings.n_queries, (returning, _OWN_QUERIES))
    shapes: list[Any] = [1, _ROWS, _ROWS, *((_ROWS, width) for width in (2, top, top, top))]
    record, size = Record(*(np.zeros(shape, np.int64) for shape in shapes)), len(rankings)
    logged = LoggedOracle(source.open().pairs, interests, record)
    key = RunKey(source.provenance, component.name, params._asdict(), horizon, 0, seed, 20, "")
    run = Run(
        component, params, size, relabelled(logged, run_order(key, size)), run_streams(key),
        new_recorder(size, checkpoints(horizon)), horizon=horizon,
        compiled=compiled and component.compiled and source.compiled,
    )  # fmt: skip
    with write_log(path, _COLUMNS) as log:
        while run.t < horizon:
            run.advance(min(horizon, run.t + _ROWS))
            if n := int(record.filled[0]):
                number = np.arange(log.rows, log.rows + n)
                if not returning:
                    record.user[:n] = number  # a new user for each impression
                columns = _columns(record, number, rankings)
                log.write(columns | {name: [value] * n for name, value in constant.items()})
            record.filled[0] = 0
        if not log.rows:
            raise InputError(f"{path}: no step of '{label}' compares different rankers, so the log would be empty")
    return log.rows


def _columns(record: Record, number: IntVector, rankings: Rankings) -> dict[str, Any]:
    _, query, user, rankers, shown, owner, clicks = (field[: len(number)] for field in record)
    listed, clicked = shown >= 0, clicks >= 0
    documents = (rankings.query_ptr[query][:, None] + shown)[listed]
    names, length = np.array(rankings.names), listed.sum(axis=1)
    return {
        "impression": _texts(number),
        "time": pa.array(BEGINS + SECONDS * number),
        "query": _texts(query if rankings.query_ids is None else rankings.query_ids[query]),
        "user": _texts(user),
        "shown": _lists(_texts(shown[listed] if rankings.doc_ids is None else rankings.doc_ids[documents]), length),
        "clicks": _lists(pa.array((clicks[clicked] + 1).astype(np.int32)), clicked.sum(axis=1)),
        "rankers": _lists(pa.array(names[rankers].ravel().tolist(), pa.string()), np.full(len(number), 2)),
        "owners": _lists(pa.array(owner[listed].astype(np.int32)), length),
        "grades": _lists(pa.array(rankings.relevance[documents].astype(np.int32)), length),
    }


def _texts(ids: Any) -> Any:
    return pa.array(ids).cast(pa.string())


def _lists(values: Any, lengths: IntVector) -> Any:
    return pa.ListArray.from_arrays(pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)), values)
