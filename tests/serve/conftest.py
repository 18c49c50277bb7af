"""A service with the example's experiment, for tests of clients and pages."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import NamedTuple

import pytest

from ltr_duel.live import export_log
from tests.serve.test_process import process

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "live.toml"


class Running(NamedTuple):
    """The address of a service, and the folder of its store."""

    url: str
    folder: Path

    def counted(self, query):
        """Return the clicked documents, as strings, of each closed page of a query."""
        log = self.folder / "log.jsonl"
        export_log(self.folder / "live.db", log)
        rows = [json.loads(line) for line in log.read_text().splitlines()]
        return [sorted(row["shown"][place - 1] for place in row["clicks"]) for row in rows if row["query"] == query]


@pytest.fixture(scope="session")
def running(tmp_path_factory):
    """Run the example's experiment with a policy that shows two rankers on each page."""
    folder = tmp_path_factory.mktemp("service")
    text = EXAMPLE.read_text().replace("port = 8080", "port = 0").replace("rucb:alpha=0.51", "random")
    (folder / "live.toml").write_text(text)
    with process(folder, ends_with=128 + signal.SIGTERM) as (url, service):
        yield Running(url, folder)
        service.send_signal(signal.SIGTERM)
