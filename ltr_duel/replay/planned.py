"""Simulate the loop of plans: make a plan, decide searches in several processes, log them, and make the next plan."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ltr_duel.clicks import ClickModel
from ltr_duel.core import InputError, random_below, stream
from ltr_duel.live import Keys, Settings
from ltr_duel.logs import ClickLog, write_log
from ltr_duel.plan import LivePlan, keep_plan, next_plan
from ltr_duel.rankers import Rankings
from ltr_duel.replay.users import SimulatedUsers

_BEGINS, _HOUR = 1_700_000_000.0, 3600.0  # start of the simulated clock, and seconds of an hour
EXPOSURES, EVENTS = "exposures", "events"  # the tables of a log; each is a folder of Parquet files
_COLUMNS = (
    "impression", "time", "query", "user", "shown", "rankers", "owners", "page", "method", "outcome", "policy",
    "propensity",
)  # fmt: skip
_EVENT = ("impression", "time", "item", "position", "kind", "value")


class Followed(NamedTuple):
    """A plan, and how many searches it decided."""

    plan: LivePlan
    searches: int
    logged: int  # number of pages with several rankers; a repeated page counts once


class Loop(NamedTuple):
    """The inputs of all processes."""

    settings: Settings
    keys: dict[str, bytes]
    rankings: Rankings
    clicks: str | ClickModel
    folder: Path  # for plan.json, earlier plans and the log
    users: int  # number of returning users in each process; 0: each search has a new user
    searches: int  # number of searches of each process under each plan
    seed: int


def follow_plans(loop: Loop, *, plans: int, processes: int) -> Iterator[Followed]:
    """Simulate users under plans of one hour; each plan is made from all earlier logs. Each process logs separately."""
    import joblib  # imported here, because loading takes long

    keys, log = Keys(loop.keys), None
    for name in (EXPOSURES, EVENTS):
        if (loop.folder / name).exists():
            raise InputError(f"{loop.folder / name}: exists already; simulated users need a new folder")
        (loop.folder / name).mkdir(parents=True)
    for version in range(1, plans + 1):
        begins = _BEGINS + (version - 1) * _HOUR
        if any((loop.folder / EVENTS).iterdir()):
            log = ClickLog(loop.folder / EXPOSURES, events=loop.folder / EVENTS, skip_bad=None)
        plan = next_plan(loop.settings, log, at=begins, version=version)
        keep_plan(plan, loop.folder / "plan.json", keys)
        work = [(loop, version, number) for number in range(processes)]
        found = joblib.Parallel(processes)(joblib.delayed(_follow)(*one) for one in work)
        yield Followed(plan, loop.searches * processes, sum(found))


def _follow(loop: Loop, version: int, number: int) -> int:
    """Decide searches with the plan, like one of several machines, and log them; return the number of logged pages."""
    plan = LivePlan.read(loop.folder / "plan.json", Keys(loop.keys))
    seed = int(stream(loop.seed, "plans", version, number).integers(1 << 62))
    users = SimulatedUsers(loop.rankings, loop.clicks, top=plan.top, seed=seed)
    coming = stream(loop.seed, "plans", version, number, "users")
    begins = plan.at + number * 1e-3
    rows, clicks, seen = list[dict[str, Any]](), list[dict[str, Any]](), set[str]()
    for k in range(loop.searches):
        query = users.next_query()
        user = f"u{number}-{random_below(loop.users, coming)}" if loop.users else f"{version}-{number}-{k}"
        now = begins + (_HOUR - 2) * k / loop.searches
        page = plan.decide(user, str(query), users.lists(query), now=now)
        if page.record is None or page.record["impression"] in seen:  # a page that is shown again is not logged again
            continue
        seen.add(page.record["impression"])
        rows.append(page.record)
        for item in users.clicks(query, page.shown):
            place = page.shown.index(item) + 1
            event = (page.record["impression"], now + 0.1 * place, str(item), place, "click", 1.0)
            clicks.append(dict(zip(_EVENT, event, strict=True)))
    for name, table, columns in ((EXPOSURES, rows, _COLUMNS), (EVENTS, clicks, _EVENT)):
        if table:
            have = tuple([column for column in columns if column in table[0]])
            with write_log(loop.folder / name / f"{version}-{number}.parquet", have) as log:
                log.write({column: [row[column] for row in table] for column in have})
    return len(rows)
