"""Run independent tasks in parallel, and show their progress.

The tasks run on threads, because kernels let other threads run, and threads need no copies of data.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from multiprocessing import get_context
from multiprocessing.pool import Pool, ThreadPool
from typing import TypeVar

from ltr_duel.core.errors import require_whole
from ltr_duel.core.progress import PlainLine, progress_bar

Task = TypeVar("Task")
Answer = TypeVar("Answer")

MOST_JOBS = 4096  # threads; each needs memory and an entry in the system's tables
_MOMENT = 0.2  # seconds
_abandoned: list[threading.Thread] = []


class _Threads(ThreadPool):
    def __init__(self, workers: int) -> None:  # `ThreadPool` would set the start method of all processes
        Pool.__init__(self, workers, context=get_context("spawn"))


def run_tasks(
    function: Callable[[Task], Answer],
    tasks: Iterable[Task],
    *,
    total: int,
    jobs: int,
    label: str,
    unit: str,
    weight: Callable[[Task], int] = lambda task: 1,
    first_alone: bool = True,
) -> Iterator[Answer]:
    """Run ``function`` for each task on ``jobs`` threads; yield the results in the order of the tasks.

    A result must not depend on other tasks, nor on the number of threads.

    total: the sum of the weights of all tasks.
    first_alone: whether the first task runs alone. It compiles the kernels, which two threads must not do at once.
    """
    work = list(tasks)
    workers = min(checked_jobs(jobs), max(1, len(work)))
    lead = len(work) if workers == 1 else int(first_alone)

    def all_answers() -> Generator[Answer, None, None]:
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
            bar.update(weight(task))
            done += weight(task)
            if line.due():
                line.show(f"{label}: {done / total:.0%}")


def checked_jobs(jobs: int) -> int:
    """Return the number of workers. -1 means one for each core."""
    return os.cpu_count() or 1 if jobs == -1 else require_whole("the number of jobs", jobs, 1, MOST_JOBS)


def abandon(thread: threading.Thread) -> None:
    """Remember a thread that cannot be stopped and for which nobody waits."""
    _abandoned.append(thread)


def abandoned_threads_run() -> bool:
    """Return whether an abandoned thread still runs. The caller must then end the process by ``os._exit``.

    Python may crash if it shuts down while a thread runs compiled code.
    """
    for thread in _abandoned:
        thread.join(_MOMENT)
    return any(thread.is_alive() for thread in _abandoned)
