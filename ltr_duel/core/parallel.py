"""Run independent tasks in parallel, with one progress line.

Threads are sufficient, because kernels release the interpreter's lock; and threads share memory, so no data is copied.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from multiprocessing import get_context
from multiprocessing.pool import Pool, ThreadPool
from typing import TypeVar

from ltr_duel.core.errors import InputError, require_whole, shown
from ltr_duel.core.progress import PlainLine, progress_bar

Task = TypeVar("Task")
Answer = TypeVar("Answer")

MOST_JOBS = 4096  # threads; each needs memory and an entry in the system's tables


class _Threads(ThreadPool):
    """A thread pool that, unlike `ThreadPool`, does not fix the start method of multiprocessing."""

    def __init__(self, workers: int) -> None:
        Pool.__init__(self, workers, context=get_context("spawn"))


def run_tasks(
    function: Callable[[Task], Answer],
    tasks: Iterable[Task],
    *,
    total: int,
    jobs: int,
    label: str,
    unit: str,
    weight: Callable[[Task], int] | None = None,
    first_alone: bool = True,
) -> Iterator[Answer]:
    """Run ``function`` for each task on ``jobs`` threads (-1: all cores); yield the results in the order of the tasks.

    A task must not depend on another task, nor on the number of workers. ``total`` is the sum of all weights.

    first_alone: whether the first task compiles the kernels before the other tasks start, because numba can fail if two
        threads compile the same kernel. False if the caller has compiled the kernels.
    """
    work = list(tasks)
    workers = min(checked_jobs(jobs), max(1, len(work)))
    lead = 1 if first_alone and workers > 1 else 0

    def all_answers() -> Generator[Answer, None, None]:
        if workers == 1:
            yield from map(function, work)
            return
        yield from map(function, work[:lead])
        if work[lead:]:
            with _Threads(workers) as pool:  # its exit, also after Ctrl-C, does not wait for tasks
                yield from pool.imap(function, work[lead:])

    line, done = PlainLine(), 0
    with (
        closing(all_answers()) as answers,  # closed here, not at some later garbage collection
        progress_bar(total=total, desc=label, unit=unit, unit_scale=True) as bar,
    ):
        for task, answer in zip(work, answers, strict=True):
            yield answer
            step = weight(task) if weight else 1
            bar.update(step)
            done += step
            if line.due():
                line.show(f"{label}: {done / total:.0%}")


def checked_jobs(jobs: int) -> int:
    """Return the number of workers for ``jobs``; -1 means all cores."""
    number = require_whole("the number of jobs", jobs)
    if number == -1:
        return os.cpu_count() or 1
    if number < 1:
        raise InputError(f"the number of jobs must be at least 1, or -1 for all cores, not {shown(jobs)}")
    return require_whole("the number of jobs", jobs, 1, MOST_JOBS)
