"""The file of runs of one driver."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable

from ltr_duel.experiment.plan import Plan, PlannedRun
from ltr_duel.experiment.runs_file import SUFFIX, Row, encode_rows
from ltr_duel.experiment.store import Store
from ltr_duel.experiment.worker import Outcome, failure, origin


class Ledger:
    """Writes the finished runs of a driver.

    driver: its id, the name of the file.
    """

    def __init__(self, plan: Plan, store: Store, driver: str) -> None:
        self.file = driver + SUFFIX
        self._plan, self._store = plan, store
        self._origins: list[tuple[dict[str, object], str]] = []  # one for each process that does runs: few

    def keep(self, done: Iterable[tuple[PlannedRun, Outcome, int]]) -> None:
        """Store runs, or how they failed: each with its outcome and its generation, 0 for the first.

        Raises what `Store.append` does.
        """
        rows, now = [], time.time()
        for run, outcome, generation in done:
            if outcome.counts is None:
                content = json.dumps(failure(self._plan, run, outcome), indent=1).encode()
                self._store.write(self._store.place("failed", f"{run.digest}.json"), content)
            else:
                about = run.repetition, generation, outcome.seconds, now, self._origin(outcome)
                rows.append(Row(run.digest, *about, *outcome.counts))
        if rows:
            self._store.append(self.file, encode_rows(rows))

    def _origin(self, outcome: Outcome) -> str:
        for environment, known in self._origins:
            if environment == outcome.environment:
                return known
        name = self._store.keep_origin(origin(self._plan, outcome.environment))
        self._origins.append((outcome.environment, name))
        return name
