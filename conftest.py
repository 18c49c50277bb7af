"""The processor time of each test without compilation, and an empty folder for each example of a docstring."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator

import pytest
from numba.core import event

_SECONDS: Counter[str] = Counter()


class Compilation(event.Listener):
    """The processor time of numba's compiler, whose calls may be nested."""

    seconds = start = depth = 0.0

    def on_start(self, event: event.Event) -> None:
        """Start the clock with the outermost call."""
        if not self.depth:
            self.start = time.process_time()
        self.depth += 1

    def on_end(self, event: event.Event) -> None:
        """Stop it with the same."""
        self.depth -= 1
        if not self.depth:
            self.seconds += time.process_time() - self.start


COMPILATION = Compilation()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the bound that `.ci/run` sets; a busy machine needs a bound well above the second that is asked for."""
    parser.addoption("--most-seconds", type=float, help="fail a test that takes more processor time, if it is not long")


def pytest_configure() -> None:
    """Let numba say when it compiles."""
    event.register("numba:compile", COMPILATION)


def _used() -> float:
    """Return the processor time of this process without compilation; child processes may have to compile."""
    return time.process_time() - COMPILATION.seconds


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Measure a test."""
    start = _used()
    yield
    seconds = _used() - start
    item.user_properties.append(("seconds", seconds))
    most = item.config.getoption("most_seconds")
    if most and seconds > most and not item.get_closest_marker("long"):
        pytest.fail(f"{seconds:.1f} s of processor time without compilation: make it smaller, or mark it long")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Collect what the processes of a run have measured."""
    if report.when == "call":
        _SECONDS[report.nodeid] = dict(report.user_properties).get("seconds", 0.0)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Write down the sum, and the tests above one second."""
    if not _SECONDS:
        return
    terminalreporter.write_line(f"{sum(_SECONDS.values()):.0f} s of processor time without compilation; above 1 s:")
    for test, seconds in _SECONDS.most_common():
        if seconds > 1:
            terminalreporter.write_line(f"{seconds:5.1f} s  {test}")


@pytest.fixture(autouse=True)
def _empty_folder(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run an example of a docstring in an empty folder, which must be empty afterwards."""
    if not isinstance(request.node, pytest.DoctestItem):
        yield
        return
    folder = request.getfixturevalue("tmp_path")
    request.getfixturevalue("monkeypatch").chdir(folder)
    yield
    assert not list(folder.iterdir()), "the example leaves files behind"
