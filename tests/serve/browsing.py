"""A headless Chromium, controlled through DevTools as by a person (typing, clicks, back and forward)."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

_SECONDS = 240.0  # limit for an answer or a condition, because test machines are sometimes slow
_PLACE = """(() => {{ const box = {element}.getBoundingClientRect();
  return [box.x + Math.min(5, box.width / 2), box.y + box.height / 2]; }})()"""


PROBLEMS = "warning", "error"  # levels of a browser's console; below them are notes, such as one on focus


class Tab:
    """A tab of the browser; `console` contains the errors and warnings of its pages."""

    def __init__(self, say: int, hear: int) -> None:
        self._say, self._hear, self._number, self._session, self._left = say, hear, 0, "", b""
        self.console: list[str] = []
        first = next(one for one in self._ask("Target.getTargets")["targetInfos"] if one["type"] == "page")
        said = self._ask("Target.attachToTarget", targetId=first["targetId"], flatten=True)
        self._session = said["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._ask(f"{domain}.enable")

    def open(self, address: str) -> None:
        """Open an address as if it were typed."""
        self._ask("Page.navigate", url=address)

    def value(self, text: str) -> Any:
        """Return the value of a JavaScript expression in the page; None if no page is loaded."""
        said = self._ask("Runtime.evaluate", expression=text, returnByValue=True)
        return None if "exceptionDetails" in said else said["result"].get("value")

    def wait(self, text: str) -> None:
        """Wait until a condition is true in the page; the browser rejects evaluations during navigation."""

        def is_so() -> Any:
            try:
                return self.value(text)
            except AssertionError as error:
                if "navigated" not in str(error):
                    raise
                return None

        until(is_so, text)

    def click(self, element: str, button: str = "left") -> None:
        """Press and release a button of the mouse over an element."""
        x, y = self.value(_PLACE.format(element=element))
        for kind in ("mousePressed", "mouseReleased"):
            self._ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, clickCount=1)

    def go(self, steps: int) -> None:
        """Go back or forward in the history, as with the browser's buttons."""
        said = self._ask("Page.getNavigationHistory")
        self._ask("Page.navigateToHistoryEntry", entryId=said["entries"][said["currentIndex"] + steps]["id"])

    def type(self, text: str) -> None:
        """Type a text and the enter key into the focused field."""
        self._ask("Input.insertText", text=text)
        for kind in ("keyDown", "keyUp"):
            self._ask(
                "Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", text="\r", windowsVirtualKeyCode=13
            )

    def _ask(self, method: str, **given: Any) -> Any:
        self._number += 1
        said = {"id": self._number, "method": method, "params": given}
        if self._session:
            said["sessionId"] = self._session
        os.write(self._say, json.dumps(said).encode() + b"\0")
        while (answer := self._message()).get("id") != self._number:
            entry = answer.get("params", {})
            if answer.get("method") == "Runtime.exceptionThrown" or entry.get("entry", {}).get("level") in PROBLEMS:
                self.console.append(json.dumps(entry))
        assert "error" not in answer, (method, answer["error"])
        return answer["result"]

    def _message(self) -> Any:
        while b"\0" not in self._left:
            assert select.select([self._hear], [], [], _SECONDS)[0], "the browser does not answer"
            piece = os.read(self._hear, 1 << 16)
            assert piece, "the browser has ended"
            self._left += piece
        one, self._left = self._left.split(b"\0", 1)
        return json.loads(one)


def until(is_so: Callable[[], Any], what: str) -> None:
    """Wait until a condition is true."""
    ends = time.monotonic() + _SECONDS
    while not is_so():
        assert time.monotonic() < ends, f"it did not happen: {what}"
        time.sleep(0.02)


@contextlib.contextmanager
def browsing(profile: Path, *options: str) -> Iterator[Tab]:
    """Start Chromium and return its tab."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("needs a Chromium to look at pages with")
    fcntl = pytest.importorskip("fcntl", reason="only POSIX hands files to a program by their numbers")
    (theirs_in, say), (hear, theirs_out) = os.pipe(), os.pipe()
    command = [
        program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
        f"--user-data-dir={profile}", "--window-size=1000,1000", "--remote-debugging-pipe",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", *options, "about:blank",
    ]  # fmt: skip

    def connect() -> None:
        """Connect the browser's pipes: it reads file descriptor 3 and writes file descriptor 4."""
        theirs = [fcntl.fcntl(one, fcntl.F_DUPFD, 10) for one in (theirs_in, theirs_out)]
        for place, one in enumerate(theirs, 3):
            os.dup2(one, place)

    with (profile.parent / "chromium.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, pass_fds=(3, 4), preexec_fn=connect)
    os.close(theirs_in)
    os.close(theirs_out)
    try:
        yield Tab(say, hear)
    finally:
        os.close(say)  # closing the pipe ends the browser
        os.close(hear)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
