"""Execute runs in a separate process, which is killed if a run exceeds its time limit.

Each worker thread uses one such process for all its tasks, and starts a new process after a kill. The process is
``python -m ltr_duel.experiment.backends.killable``. It reads pickled tasks from its standard input and writes pickled
answers to its standard output. (Processes and pools of multiprocessing would run the user's script again, and dask
workers cannot start them.)
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import pickle
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import IO, Any

from ltr_duel.core import InputError
from ltr_duel.experiment.plan import Task
from ltr_duel.experiment.worker import Outcome, PreparedRun, environment
from ltr_duel.simulation import RunKey

_START = 600.0  # seconds for loading and compiling, in addition to the limit of a run
_here = threading.local()


def execute_within(task: Task, limit: float, started: list[KillableWorker] | None = None) -> Outcome:
    """Run a task in another process; a run that takes more than ``limit`` seconds fails, and its process is killed.

    started: a list to which each new process is appended, so that the caller can close it.
    """
    worker = getattr(_here, "worker", None)
    if worker is None or worker.process.poll() is not None:
        worker = _here.worker = KillableWorker()
        if started is not None:
            started.append(worker)
    return worker.run(task, limit)


class KillableWorker:
    """A process that runs one task after another."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ltr_duel.experiment.backends.killable"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            process_group=0,  # so that Ctrl-C reaches only the process that started this one
        )
        assert self.process.stdin and self.process.stdout
        self._tasks, self._answers = self.process.stdin, queue.SimpleQueue[Any]()
        ended = functools.partial(self._answers.put, EOFError())
        arguments = self.process.stdout, self._answers.put, ended
        self._receiver = threading.Thread(target=_receive, args=arguments, daemon=True)
        self._receiver.start()
        atexit.register(self.close)

    def run(self, task: Task, limit: float) -> Outcome:
        """Run one task."""
        began = time.perf_counter()
        try:
            _send(task, self._tasks)
            refused = self._answer(_START)
            if refused:
                raise InputError(refused)
            began = time.perf_counter()
            outcome: Outcome = self._answer(limit)
            return outcome
        except TimeoutError:
            error = f"did not end within the time limit of {limit:g} s"
        except (OSError, EOFError):
            code = self.process.wait()
            error = f"its process died with {'signal' if code < 0 else 'exit code'} {abs(code)}"
        self.close()
        return Outcome(RunKey(**task.key).digest, None, time.perf_counter() - began, 0, error, "", environment())

    def close(self) -> None:
        """Kill the process."""
        self.process.kill()
        self.process.wait()
        with contextlib.suppress(OSError):  # unread tasks are lost
            self._tasks.close()
        self._receiver.join(1.0)  # waits a full second only if a child process still has the pipe open
        atexit.unregister(self.close)

    def _answer(self, seconds: float) -> Any:
        try:
            answer = self._answers.get(timeout=seconds)
        except queue.Empty:
            raise TimeoutError from None
        if isinstance(answer, EOFError):
            raise answer
        return answer


def close_all(workers: list[KillableWorker]) -> None:
    """Kill processes that are no longer needed."""
    for one in workers:
        one.close()


def _send(what: Any, pipe: IO[bytes]) -> None:
    pickle.dump(what, pipe)
    pipe.flush()


def _receive(pipe: IO[bytes], take: Callable[[Any], object], ended: Callable[[], object]) -> None:
    """Pass each object from a pipe to ``take`` until the process at the other end has ended."""
    with pipe, contextlib.suppress(EOFError, OSError, pickle.UnpicklingError):
        while True:
            take(pickle.load(pipe))
    ended()


def main() -> None:
    """For each task, write None when it is compiled, and later its outcome; after an `InputError`, only the message."""
    answers, pipe, tasks = os.fdopen(os.dup(1), "wb"), os.fdopen(os.dup(0), "rb"), queue.SimpleQueue[Task]()
    os.dup2(2, 1)  # keeps the output of policies out of the answers
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # keeps policies from reading the tasks
    dead = functools.partial(os._exit, 0)  # ends this process, even during a run, when its parent ends
    threading.Thread(target=_receive, args=(pipe, tasks.put, dead), daemon=True).start()
    while True:
        task = tasks.get()
        try:
            run = PreparedRun(task)
            run.compile()
            environment()  # cached now, so that reading sources and git does not count as time of the run
        except InputError as error:
            _send(str(error), answers)
            continue
        _send(None, answers)
        _send(run.run(), answers)


if __name__ == "__main__":
    main()
