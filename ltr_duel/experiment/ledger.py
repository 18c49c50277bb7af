"""What a driver writes of its runs: each into its file of the store, with where it comes from."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from functools import partial

from ltr_duel.experiment.about import About, Shared, Writer, make_shared
from ltr_duel.experiment.found import SUFFIX
from ltr_duel.experiment.plan import Plan, PlannedRun
from ltr_duel.experiment.store import Store
from ltr_duel.experiment.worker import Outcome, failure, group, origin


class Ledger:
    """The file of one driver.

    driver: the id, by which the file is called.
    """

    def __init__(self, plan: Plan, store: Store, driver: str) -> None:
        self.segment = driver + SUFFIX
        self._plan, self._store = plan, store
        self._writer = Writer(partial(store.append, self.segment))
        self._groups: dict[tuple[str, int, int], Shared] = {}
        self._origins: list[tuple[dict[str, object], Shared]] = []  # few: one for each process that does runs

    def keep(self, done: Iterable[tuple[PlannedRun, Outcome, int]]) -> None:
        """Put runs into the store, or how they failed: of each its outcome and its generation, 0 if it is the first.

        Raises what `Store.append` does.
        """
        for run, outcome, generation in done:
            if outcome.error:
                content = json.dumps(failure(self._plan, run, outcome), indent=1).encode()
                self._store.write(self._store.place("failed", f"{run.digest}.json"), content)
            else:
                shared = self._group(run), self._origin(outcome)
                about = About(shared[0].name, shared[1].name, run.repetition, outcome.seconds, time.time())
                self._writer.add(run.digest, outcome.data, about, shared, generation)
        self._writer.flush()

    def _group(self, run: PlannedRun) -> Shared:
        which = run.label, run.problem, run.horizon
        if which not in self._groups:
            self._groups[which] = make_shared(group(self._plan, run))
        return self._groups[which]

    def _origin(self, outcome: Outcome) -> Shared:
        for environment, known in self._origins:
            if environment == outcome.environment:
                return known
        made = make_shared(origin(self._plan, outcome.environment))
        self._origins.append((outcome.environment, made))
        return made
