"""The process that runs tasks which may have to be killed: ``python -m ltr_duel.experiment.backends.killable_worker``.

It reads tasks from standard input, one JSON text a line, and answers each with two messages on what was standard
output: ``started`` when everything is loaded and compiled, then the outcome. When standard input ends it is gone at
once, also in the middle of a run: no driver, no helper.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
from typing import Any, BinaryIO


def send(out: BinaryIO, header: dict[str, Any], data: bytes = b"") -> None:
    """Write a line of JSON, then as many bytes as it says."""
    out.write(json.dumps(header | {"size": len(data)}).encode() + b"\n" + data)
    out.flush()


def main() -> None:
    """Answer tasks until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a policy prints must not get between the messages
    tasks: queue.SimpleQueue[str] = queue.SimpleQueue()

    def listen() -> None:
        for line in sys.stdin:
            tasks.put(line)
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    from ltr_duel.core import InputError
    from ltr_duel.experiment.plan import Task
    from ltr_duel.experiment.worker import compile_only, prepare

    while True:
        label, problem, key, plugins = json.loads(tasks.get())
        try:
            run = prepare(Task(label, problem, key, plugins))
            compile_only(run)
        except InputError as error:
            send(out, {"refused": str(error)})
            continue
        send(out, {"started": True})
        outcome = run()
        send(out, outcome._replace(data=b"")._asdict() | {"data": ""}, outcome.data)


if __name__ == "__main__":
    main()
