"""Several services as in the guide: each user belongs to one service, and the logs are joined."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd

from ltr_duel.live import Experiment, Settings, export_log
from ltr_duel.logs import ClickLog, compare_log
from tests.site.snippets import blocks

LISTS = {"old": ["a", "b", "c"], "new": ["c", "d", "a"]}
ROUTE, JOIN = (block.text for block in blocks("deployment.md") if block.kind == "python")


def route(services):
    """Return the guide's function."""
    names = {"given": services}
    exec(ROUTE.replace("services = [first, second]", "services = given"), names)
    return names["service_of"]


def test_each_user_is_asked_about_at_one_service_and_services_have_equal_shares():
    service_of = route(["a", "b", "c"])
    users = [f"user {k}" for k in range(3000)]
    assert [service_of(user) for user in users] == [service_of(user) for user in users]
    counts = Counter(map(service_of, users))
    assert all(abs(count - 1000) < 4 * np.sqrt(3000 * (1 / 3) * (2 / 3)) for count in counts.values())


def test_joined_logs_say_what_the_stores_say_together(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "exports").mkdir()
    service_of, rng, now = route([0, 1]), np.random.default_rng(1), [1_700_000_000.0]
    stores = [tmp_path / f"shop{k}.db" for k in range(2)]
    settings = Settings(name="shoes", rankers=("old", "new"), policy="random")
    experiments = [Experiment.open(store, settings, clock=lambda: now[0]) for store in stores]
    for _ in range(300):
        now[0] += 1.0
        user = f"u{rng.integers(80)}"
        experiment = experiments[service_of(user)]
        page = experiment.decide("red", LISTS, user=user)
        experiment.record(page.token, [page.shown[rng.integers(2)]])
    credit = sum(experiment.state().clicked for experiment in experiments)
    for store, experiment in zip(stores, experiments, strict=True):
        experiment.close()
        export_log(store, tmp_path / "exports" / f"{store.stem}.parquet")
    exec(JOIN, {})
    joined = pd.read_parquet("all.parquet")
    parts = [pd.read_parquet(path) for path in sorted((tmp_path / "exports").iterdir())]
    assert min(map(len, parts)) > 100 and len(joined) == sum(map(len, parts)) == credit
    assert joined["impression"].is_unique and joined["time"].is_monotonic_increasing
    assert not set(parts[0]["user"]) & set(parts[1]["user"])
    assert compare_log(ClickLog("all.parquet")).impressions == 300
