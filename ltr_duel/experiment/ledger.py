"""What a driver writes of its runs: each into its file of the store, with where it comes from."""

from __future__ import annotations

import json
import time
from functools import partial

from ltr_duel.experiment.about import About, Shared, Writer, make_shared
from ltr_duel.experiment.found import SUFFIX
from ltr_duel.experiment.plan import Plan, PlannedRun
from ltr_duel.experiment.store import Store
from ltr_duel.experiment.worker import Outcome, failure, group, origin


class Ledger:
    """The file of one driver.

    Parameters
    ----------
    plan : Plan
    store : Store
    driver : str
        The id, by which the file is called.
    """

    def __init__(self, plan: Plan, store: Store, driver: str) -> None:
        self.segment = driver + SUFFIX
        self._plan, self._store = plan, store
        self._writer = Writer(partial(store.append, self.segment))
        self._groups: dict[tuple[str, int, int], Shared] = {}
        self._origins: list[tuple[dict[str, object], Shared]] = []  # few: one for each process that does runs

    def keep(self, run: PlannedRun, outcome: Outcome, generation: int) -> None:
        """Put a finished run into the store, or how it failed. Raises what `Store.append` does."""
        failed = self._store.place("failed", f"{run.digest}.json")
        if outcome.error:
            self._store.write(failed, json.dumps(failure(self._plan, run, outcome), indent=1).encode())
            return
        shared = self._group(run), self._origin(outcome)
        about = About(shared[0].name, shared[1].name, run.repetition, outcome.seconds, time.time())
        self._writer.add(run.digest, outcome.data, about, shared, generation)
        self._store.remove(failed)

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
