"""Runs that may hang: in a process of their own, which is killed when the time is up.

Each worker thread keeps one helper process and uses it for task after task; a new one is started after a kill.
"""

from __future__ import annotations

import atexit
import json
import os
import selectors
import subprocess
import sys
import threading
import time
from typing import Any

from ltr_duel.core import InputError
from ltr_duel.experiment.environment import environment
from ltr_duel.experiment.plan import Task
from ltr_duel.experiment.worker import Outcome
from ltr_duel.simulation import RunKey

_START = 600.0  # seconds for loading and compiling, which do not count as the run
_here = threading.local()


def execute_within(task: Task, limit: float) -> Outcome:
    """Run a task in another process; after ``limit`` seconds of the run itself it is killed and counts as failed."""
    helper = getattr(_here, "helper", None)
    if helper is None or helper.process.poll() is not None:
        helper = _here.helper = Helper()
    return helper.run(task, limit)


class Helper:
    """One helper process."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "ltr_duel.experiment.backends.killable_worker"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        atexit.register(self.close)
        self._pending = b""

    def run(self, task: Task, limit: float) -> Outcome:
        """Run one task."""
        digest, began = RunKey(**task.key).digest, time.perf_counter()
        try:
            self._write(json.dumps(task).encode() + b"\n")
            header, _ = self._message(_START)
            if "refused" in header:
                raise InputError(header["refused"])
            began = time.perf_counter()
            header, data = self._message(limit)
        except TimeoutError:
            self.close()
            error = f"did not end within the time limit of {limit:g} s"
        except (BrokenPipeError, EOFError):
            code = self.process.wait()
            error = f"its process died with {'signal' if code < 0 else 'exit code'} {abs(code)}"
        else:
            return Outcome(**(header | {"data": data}))
        seconds = time.perf_counter() - began
        return Outcome(digest, b"", seconds, 0, error, "", environment())

    def close(self) -> None:
        """Kill the process."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        atexit.unregister(self.close)

    def _write(self, data: bytes) -> None:
        pipe: Any = self.process.stdin
        while data:
            data = data[pipe.write(data) :]

    def _message(self, seconds: float) -> tuple[dict[str, Any], bytes]:
        """Wait for a line of JSON and the bytes that belong to it."""
        deadline = time.monotonic() + seconds
        while b"\n" not in self._pending:
            self._receive(deadline)
        line, _, self._pending = self._pending.partition(b"\n")
        header: dict[str, Any] = json.loads(line)
        size = header.pop("size")
        while len(self._pending) < size:
            self._receive(deadline)
        data, self._pending = self._pending[:size], self._pending[size:]
        return header, data

    def _receive(self, deadline: float) -> None:
        pipe: Any = self.process.stdout
        with selectors.DefaultSelector() as selector:
            selector.register(pipe, selectors.EVENT_READ)
            if not selector.select(max(0.0, deadline - time.monotonic())):
                raise TimeoutError
        got = os.read(pipe.fileno(), 1 << 20)
        if not got:
            raise EOFError
        self._pending += got
