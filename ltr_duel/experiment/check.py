"""Repeat finished runs, and check that the results equal the stored results."""

from __future__ import annotations

import random
from pathlib import Path

from ltr_duel.core import InputError, errors
from ltr_duel.experiment.counts import same_counts
from ltr_duel.experiment.executors import Backend, open_workers
from ltr_duel.experiment.runs import COUNTED, Index
from ltr_duel.experiment.schedule import Schedule
from ltr_duel.experiment.store import Store
from ltr_duel.experiment.worker import execute


def check_runs(schedule: Schedule, folder: str | Path, count: int, backend: Backend) -> tuple[int, list[str]]:
    """Repeat ``count`` finished runs, chosen at random, and compare the results with the stored results.

    Returns the number of repeated runs, and a sentence for each run whose results differ.

    Raises `InputError` if the folder contains no results, or if a repeated run fails.
    """
    store, count = Store(folder), errors.require_whole("the number of runs", count, 1)
    store.require()
    index, scheduled = Index(store), range(schedule.file.spec.repetitions)
    runs = [
        (group, repetition, row)
        for group in schedule.study.groups
        for repetition, row in index.done.get(group.digest, {}).items()
        if repetition in scheduled
    ]
    chosen, different = random.sample(runs, min(count, len(runs))), []
    with open_workers(backend) as workers:
        futures = [
            workers.executor.submit(execute, schedule.task(group, [repetition])) for group, repetition, _ in chosen
        ]
        for (group, repetition, row), future in zip(chosen, futures, strict=True):
            problem = schedule.problems[group.problem].name
            name = f"{group.label} on {problem}, horizon {group.horizon:,}, repetition {repetition}"
            ((outcome,), _) = future.result()
            if outcome.counts is None:
                raise InputError(f"{name}: failed when repeated ({outcome.error})")
            ((_, stored),) = index.read({group.digest: {repetition: row}}, COUNTED)
            if not same_counts(outcome.counts, stored):
                different.append(f"{name}: other counts than in {store.runs / row.file}")
    return len(chosen), different
