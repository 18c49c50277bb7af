"""Runs that may hang: in a process of their own, which is killed when the time is up.

Each worker thread keeps one such process and uses it for task after task; a new one is started after a kill. It is
``python -m ltr_duel.experiment.backends.killable FD``, with one end of a pipe as the file descriptor FD. (Processes and
pools of multiprocessing would run the user's script again, and cannot be started by a worker of dask.)
"""

from __future__ import annotations

import atexit
import contextlib
import os
import queue
import subprocess
import sys
import threading
import time
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

from ltr_duel.core import InputError
from ltr_duel.experiment.plan import Task
from ltr_duel.experiment.worker import Outcome, PreparedRun, environment
from ltr_duel.simulation import RunKey

_START = 600.0  # seconds for loading and compiling, which do not count as the run
_here = threading.local()


def execute_within(task: Task, limit: float) -> Outcome:
    """Run a task in another process; after ``limit`` seconds of the run itself it is killed and counts as failed."""
    worker = getattr(_here, "worker", None)
    if worker is None or worker.process.poll() is not None:
        worker = _here.worker = KillableWorker()
    return worker.run(task, limit)


class KillableWorker:
    """A process that runs one task after the other."""

    def __init__(self) -> None:
        self._pipe, theirs = Pipe()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ltr_duel.experiment.backends.killable", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=2,  # what a policy prints is no output of the command
            process_group=0,  # Ctrl-C is for the driver
        )
        theirs.close()
        atexit.register(self.close)

    def run(self, task: Task, limit: float) -> Outcome:
        """Run one task."""
        began = time.perf_counter()
        try:
            self._pipe.send(task)
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
        return Outcome(RunKey(**task.key).digest, b"", time.perf_counter() - began, 0, error, "", environment())

    def close(self) -> None:
        """Kill the process."""
        self.process.kill()
        self.process.wait()
        self._pipe.close()
        atexit.unregister(self.close)

    def _answer(self, seconds: float) -> Any:
        if not self._pipe.poll(seconds):
            raise TimeoutError
        return self._pipe.recv()


def main() -> None:
    """Answer each task twice: nothing (or why it is refused) when all is loaded and compiled, then its outcome."""
    pipe, tasks = Connection(int(sys.argv[1])), queue.SimpleQueue[Task]()

    def listen() -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                tasks.put(pipe.recv())
        os._exit(0)  # also in the middle of a run: the driver is dead

    threading.Thread(target=listen, daemon=True).start()
    while True:
        task = tasks.get()
        try:
            run = PreparedRun(task)
            run.compile()
            environment()  # known from here on: looking at sources and git is no part of a run's time
        except InputError as error:
            pipe.send(str(error))
            continue
        pipe.send(None)
        pipe.send(run.run())


if __name__ == "__main__":
    main()
