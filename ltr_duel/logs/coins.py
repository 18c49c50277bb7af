"""Test whether the team draft is fair, by the owners of positions: in total, over time, and combined with clicks.

In a team draft, fair coins decide the order in which rankers contribute documents; a ranker owns the positions of its
documents. The engine returns two tables: the number of lists with each pattern of owners of the first ten positions,
and the number of lists with each set of clicks.

An experiment may show a user the same set of rankers every time, so that the user's pages are not independent samples.
If a test of the sets of rankers raises an alarm, a third table therefore has the number of pages of each user. The
alarm is kept only if a second test, which sums all pages of a user, confirms it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ltr_duel.core import FloatVector, IntMatrix, IntVector
from ltr_duel.logs.by_user import PERIODS, Sets, Users, empty_pages, pages_of_users
from ltr_duel.logs.findings import ERROR, Finding, even, fair, least_p, mirrored, tested, unchanged, unchanged_by_users

_BLOCKS = 10  # number of blocks of time between which shares are compared
_PLACES = 10  # number of positions whose owners are tested
_EACH = 20  # minimum number of pages per ranker of a set for the test of position 1
_LEADERS = "owners of position 1, three or more rankers"
_LISTS = 8_000_000  # of the log's first 8 million lists, one in eight is used for its clicks only


class _Patterns(NamedTuple):
    """Patterns of owners; one entry for all lists with the same rankers, owners and tenth of the time."""

    owners: IntMatrix  # (patterns, 10) 1: the alphabetically first ranker; -1: the second ranker; 0: no owner
    first: IntVector  # owner of the first owned position; 0 if none is owned, or if there are more than two rankers
    leader: IntVector  # for more than two rankers: the owner of position 1, an index in the set; -1 if none
    owned: IntVector  # 1 if any position is owned, 0 if none is, -1 for lists without a document
    rankers: IntVector  # index of the set of rankers in `_Coins.names`
    block: IntVector  # tenth of the time, from 0
    weighs: IntVector  # 1 for lists that are used for their clicks only, else 0
    n: IntVector  # number of lists


class _Coins(NamedTuple):
    """The lists whose coins are tested."""

    engine: Any
    rows: Any  # with ``rankers``, ``owners``, and the columns of `_columns`
    orders: Sets  # the values of ``rankers``
    names: Sets  # sets of rankers, each sorted
    seen: _Patterns


def owner_findings(
    engine: Any, rows: Any, ends: tuple[float, float], planned: str, policies: list[str], orders: Sets
) -> list[Finding]:
    """Test the coins of the draft and the frequencies of the sets of rankers (``orders``), in total and over time."""
    names, seen = _patterns(engine, rows, ends, orders)
    of = _Coins(engine, rows.mutate(**_columns(rows, ends, orders)), orders, names, seen)
    if not names:  # the rows have page tokens or rankings instead of owners
        return []
    found = _sets_shown(of, planned, policies)
    if len(names) > 1:
        period = ((rows.time - ends[0]) / _span(ends) * PERIODS).floor().cast("int64")
        found.append(_empty(of._replace(rows=of.rows.mutate(period=period))))
    if any(len(name) > 2 for name in names):
        found.append(_leaders(names, seen))
    if not seen.first.any():
        said = "these tests are for pages of two rankers, and no such page has an owned position"
        return [*found, Finding("owners of positions and over time, A/A", "not checked", np.nan, said)]
    side = np.where(seen.first > 0, 0, 1)
    some = seen._replace(n=seen.n * (seen.first != 0))
    by_set, by_time = (
        _sums(side, key, some.n, (2, size)) for key, size in ((seen.rankers, len(names)), (seen.block, _BLOCKS))
    )
    share = by_set[0].sum() / by_set.sum()
    whose = names[0][0] if len(names) == 1 else "the ranker with the alphabetically first name"
    sentence = f"{whose} owns {share:.2%} of the first owned positions"
    found.append(tested("owners of position 1", fair(by_set[0], by_set.sum(axis=0)), sentence))
    found.append(
        tested("owners over time", unchanged(by_time), "owner of the first owned position, by tenths of the time")
    )
    by_place = [((seen.owners[:, 1:] == one) * seen.n[:, None]).sum(axis=0) for one in (1, -1)]
    place_p = fair(by_place[0], sum(by_place))
    said = f"positions 2 to {_PLACES} are {'not ' * (place_p < ERROR)}shared evenly"
    found.append(tested("owners by position", place_p, said))
    return [*found, _identical_rankers(of)]


def _sets_shown(of: _Coins, planned: str, policies: list[str]) -> list[Finding]:
    """Test how often each set of rankers was shown, in total and over time."""
    engine, rows, orders, names, seen = of
    shown = _sums(seen.rankers, seen.block, seen.n, (len(names), _BLOCKS))
    p = {"shown": even(shown.sum(axis=1)) if planned == "even" else 1.0}
    shifting = not policies and _propensities(engine, rows) > len(orders)
    p["over time"] = 1.0 if policies or shifting else unchanged(shown)
    if "user" in rows.columns and min(p.values()) < ERROR:
        by_user = pages_of_users(Users(engine, rows, orders, names), _BLOCKS)
        alike = np.full(len(names), 1 / len(names))
        of_users = {"shown": unchanged_by_users(by_user.sum(axis=2)[:, :, None], alike)}
        of_users["over time"] = unchanged_by_users(by_user)
        p |= {name: float(np.maximum(p[name], one)) for name, one in of_users.items() if p[name] < ERROR}
    found = []
    kinds = f"{len(names)} set{'s' if len(names) > 1 else ''} of rankers"
    if planned == "even":
        found.append(tested("pairs shown", p["shown"], f"{kinds}, planned to be shown equally often"))
    elif len(names) > 1:
        found.append(
            Finding("pairs shown", "not checked", np.nan, f"{kinds}; --planned even tests for equal frequencies")
        )
    if shifting:
        said = "propensities of the same rankers differ, so shares change"
        found.append(Finding("pairs over time", "not checked", np.nan, said))
    elif policies:
        shifts = f"{' and '.join(policies)} chose the rankers by earlier outcomes, so shares change"
        found.append(Finding("pairs over time", "not checked", np.nan, shifts))
    elif len(names) > 1:
        said = f"shares of {kinds}, by tenths of the time"
        if p["over time"] < ERROR and _one_after_the_other(shown):
            said += "; the sets shown first are never shown again later: use a separate folder for each experiment"
        found.append(tested("pairs over time", p["over time"], said))
    else:
        found.append(Finding("pairs over time", "sound", 1.0, "there is only one set of rankers"))
    return found


def _propensities(engine: Any, rows: Any) -> int:
    """Return the number of different pairs (rankers, propensity); 0 if the log has no propensities."""
    if "propensity" not in rows.columns:
        return 0
    known = rows.filter(rows.propensity.notnull()).select("rankers", "propensity")
    return int(engine.value(known.distinct().count()))


def _one_after_the_other(shown: IntMatrix) -> bool:
    """Return whether at some time all sets are replaced by different sets; rows are sets, columns are times."""
    seen = shown > 0
    return any(
        not (seen[:, :k].any(axis=1) & seen[:, k:].any(axis=1)).any() and seen[:, :k].any() and seen[:, k:].any()
        for k in range(1, seen.shape[1])
    )


def _empty(of: _Coins) -> Finding:
    """Test pages without a document; also report the share of pages without an owned position."""
    engine, rows, orders, names, seen = of
    without = _sums((seen.owned == 1).astype(np.int64), seen.rankers, seen.n, (2, len(names)))
    share = without[0] / np.maximum(without.sum(axis=0), 1)
    said = (
        f"depending on the set of rankers, {share.min():.1%} to {share.max():.1%} of the pages have no owned position,"
        " e.g. because the rankers agree"
    )
    none = int(seen.n[seen.owned < 0].sum())
    if not none:
        return Finding("empty pages", "sound", 1.0, f"{said}; all usable pages have documents")
    found = empty_pages(Users(engine, rows.mutate(empty=(rows.code < 0).ifelse(1, 0).cast("int64")), orders, names))
    said = f"{none:,} pages show no document; {said}"
    if not found.pages:
        return Finding("empty pages", "not checked", np.nan, f"{said}; no empty page follows a full page")
    some = f"{found.empty:,} of {found.pages:,} pages after a full page (same query and rankers) are empty"
    return tested("empty pages", found.p, f"{some}; {said}")


def _leaders(names: Sets, seen: _Patterns) -> Finding:
    """Test whether the rankers of a set own position 1 equally often, for sets of three or more rankers.

    A log may omit the owners of documents that some rankers share, which favours the other rankers. Therefore only sets
    whose pages all have an owner at position 1 are tested.
    """
    found: list[tuple[float, str]] = []
    for k, name in enumerate(names):
        here = (seen.rankers == k) & (seen.owned > 0)
        owners, n = seen.leader[here], seen.n[here]
        if len(name) > 2 and n.sum() >= _EACH * len(name) and (owners >= 0).all():
            shares = np.bincount(owners, n, len(name))
            most = int(shares.argmax())
            said = f"{name[most]} owns position 1 of {shares[most] / n.sum():.2%} of the pages of {len(name)} rankers"
            found.append((even(shares), said))
    if not found:
        said = "some pages have no owner at position 1, or there are too few pages"
        return Finding(_LEADERS, "not checked", np.nan, said)
    return tested(_LEADERS, least_p([p for p, _ in found]), min(found)[1])


def _patterns(engine: Any, rows: Any, ends: tuple[float, float], orders: Sets) -> tuple[Sets, _Patterns]:
    """Return the sets of rankers, and the patterns of owners."""
    columns = _columns(rows, ends, orders) | {"weighs": _weighs(rows).ifelse(1, 0).cast("int64")}
    found = _counted(engine, rows.select("rankers", **columns), orders)
    sets = [tuple(sorted(one)) for one in found["rankers"]]
    names = sorted(set(sets))
    code, block, weighs, n = (np.array(found[name], np.int64) for name in ("code", "block", "weighs", "n"))
    turned = np.array([1 if one[0] < one[1] else -1 for one in found["rankers"]], np.int64)
    two = np.array([len(one) == 2 for one in sets], np.bool_)
    digits = np.maximum(code, 0)[:, None] // 3 ** np.arange(_PLACES) % 3
    owners = np.array([0, 1, -1])[digits] * (turned * two)[:, None]
    place = (owners != 0).argmax(axis=1)
    kinds = zip(sets, found["rankers"], (code - 2).tolist(), strict=True)
    leader = [one.index(given[k]) if len(one) > 2 and k >= 0 else -1 for one, given, k in kinds]
    numbers = {name: k for k, name in enumerate(names)}
    rankers = np.array([numbers[one] for one in sets], np.int64)
    of = owners[np.arange(len(n)), place]
    return names, _Patterns(
        owners, of, np.array(leader), np.sign(code), rankers, np.minimum(block, _BLOCKS - 1), weighs, n
    )


def _columns(rows: Any, ends: tuple[float, float], orders: Sets) -> dict[str, Any]:
    """Return two columns: owners of the first positions as an integer (-1: no document), and tenth of the time.

    For other numbers of rankers than two, the integer is 0 if no position is owned, else 2 + the owner of position 1.
    """
    import ibis

    code = sum((rows.owners[k] + 1).coalesce(0) * 3**k for k in range(_PLACES))
    if {len(one) for one in orders} != {2}:
        code = ibis.ifelse(rows.rankers.length() == 2, code, code.sign() * (rows.owners[0].coalesce(-1) + 2))
    code = ibis.ifelse(rows.owners.length() == 0, -1, code)
    return {"code": code, "block": ((rows.time - ends[0]) / _span(ends) * _BLOCKS).floor().cast("int64")}


def _span(ends: tuple[float, float]) -> float:
    return max(ends[1] - ends[0], 1e-9) * (1 + 1e-9)


def _counted(engine: Any, t: Any, orders: Sets) -> dict[str, list[Any]]:
    """Return the distinct rows with their counts; ``rankers`` is a grouping key only if there are several values."""
    keys = [name for name in t.columns if name != "rankers" or len(orders) > 1]
    found: dict[str, list[Any]] = engine.run(t.group_by(*keys).agg(n=t.count())).to_pydict()
    return found if len(orders) > 1 else found | {"rankers": orders * len(found["n"])}


def _identical_rankers(of: _Coins) -> Finding:
    """Simulate an A/A test: combine the owners of some lists with the clicks on other lists of the same pair.

    Owners of a list are never combined with the clicks on the same list. For a fair draft, a mean outcome is therefore
    as likely as its negative.
    """
    engine, rows, orders, names, seen = of
    clicked: dict[tuple[str, ...], dict[tuple[int, ...], int]] = {}
    found = _counted(engine, rows.filter(_weighs(rows)).select("rankers", "clicks"), orders)
    for rankers, clicks, n in zip(found["rankers"], found["clicks"], found["n"], strict=True):
        counts = clicked.setdefault(tuple(sorted(rankers)), {})
        places = tuple(sorted({place for place in clicks if place <= _PLACES}))
        counts[places] = counts.get(places, 0) + n
    p, farthest = [], 0.0
    for k, name in enumerate(names):
        if len(name) == 2 and name in clicked:
            here = (seen.rankers == k) & (seen.weighs == 0)
            if not here.any():
                continue
            values = _mean_outcomes(seen.owners[here], clicked[name])
            p.append(mirrored(values, seen.n[here]))
            farthest = max(farthest, float(values @ seen.n[here] / seen.n[here].sum()), key=abs)
    sentence = (
        "with owners exchanged between lists, which makes the rankers identical, the mean outcome is"
        f" {farthest:+z.4f}; it should be near 0"
    )
    return tested("A/A by exchanged owners", least_p(p), sentence)


def _weighs(rows: Any) -> Any:
    """Return the lists that are used for their clicks only: one in eight of the first `_LISTS`, spread irregularly."""
    return (rows.line * 48_271 // 1024 % 8 == 0) & (rows.line <= _LISTS)


def _mean_outcomes(owners: IntMatrix, clicked: dict[tuple[int, ...], int]) -> FloatVector:
    """Return the mean outcome of each pattern of owners over all sets of clicks."""
    marks = np.zeros((len(clicked), _PLACES), np.int64)
    for k, places in enumerate(clicked):
        marks[k, [place - 1 for place in places]] = 1
    n = np.array(list(clicked.values()), np.float64)
    different, of = np.unique(owners, axis=0, return_inverse=True)
    means = np.array([np.sign(marks @ one) @ n for one in different]) / n.sum()
    return np.asarray(means[of.ravel()], np.float64)


def _sums(row: IntVector, column: IntVector, n: IntVector, shape: tuple[int, int]) -> IntMatrix:
    out = np.zeros(shape, np.int64)
    np.add.at(out, (row, column), n)
    return out
