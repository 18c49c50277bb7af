"""The package needs no module, function, file or signal that only Linux has. Other systems are simulated on Linux."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ltr_duel

PACKAGE = Path(ltr_duel.__file__).parent
HOST = PACKAGE / "core" / "host.py"  # the one module that may look for what only Linux has
PLATFORMS = Path(__file__).parent / "platforms"

COMMANDS = """
demo --data corpus.txt --out demo --comparisons 60 --horizon 500 --repetitions 2 --policy rucb
prefs estimate corpus.txt --rankers features:1,2,3 --comparisons 60 --jobs 2 --out matrix.parquet
simulate matrix.parquet --policy rucb --horizon 500 --repetitions 2 --out runs
run spec.toml --jobs 2 --out study
run spec.toml --jobs 2 --backend loky --out other
status study
simulate --users corpus.txt --rankers features:1,2 --policy random --horizon 300 --repetitions 1 --log clicks.parquet
logs compare clicks.parquet
"""

LIVE = """
import time

from ltr_duel.live import Experiment, Keys, Settings

KEYS, LISTS = Keys({"one": bytes(32)}), {"old": ["a", "b", "c"], "new": ["c", "a", "b"]}


def opened():
    settings = Settings(name="shop", rankers=("old", "new"), policy="random", window=0, count="shown")
    return Experiment.open("live.db", settings, keys=KEYS)


with opened() as experiment:
    page = experiment.decide("user", "query", LISTS)
    experiment.report(page.token, [{"kind": "click", "document": page.page[0]}])
    time.sleep(0.01)
    while experiment.learn():
        pass
with opened() as experiment:
    assert experiment.state().pages == experiment.state().compared == 1
"""

SPEC = """
policies = ["rucb"]
repetitions = 6
horizon = 50

[[matrices]]
name = "m"
p = [[0.5, 0.6, 0.7], [0.4, 0.5, 0.6], [0.3, 0.4, 0.5]]
"""

SCRIPT = f"""
from ltr_duel.cli.main import main
from ltr_duel.data import make_corpus, write_svmlight

write_svmlight(make_corpus(queries=30, features=6), "corpus.txt")
for words in {COMMANDS.split(chr(10))!r}:
    try:
        main(*words.split()) if words else None
    except SystemExit as end:
        assert not end.code, (words, end.code)
{LIVE}
print("all done")
"""


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python in which ltr_duel finds only the features of Windows."""
    path = os.pathsep.join((str(PLATFORMS), str(PACKAGE.parent)))
    environment = {**os.environ, "PYTHONPATH": path, "LTR_DUEL_PROGRESS": "0"}
    return subprocess.run([sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True)


def test_all_of_it_runs_without_what_windows_and_macos_lack(tmp_path):
    (tmp_path / "spec.toml").write_text(SPEC)
    (tmp_path / "script.py").write_text(SCRIPT)
    ended = run(tmp_path, "script.py")
    assert ended.returncode == 0 and ended.stdout.endswith("all done\n"), ended.stdout + ended.stderr
    assert ended.stdout.count("6 done now") == 2


@pytest.mark.parametrize(
    "probe",
    [
        "import fcntl",
        "from resource import getrusage",
        "os.pread",
        "os.sysconf('SC_PAGE_SIZE')",
        "getattr(os, 'fork')",
        "os.kill(os.getpid(), 0)",
        "signal.SIGKILL",
        "open('/proc/self/stat')",
        "Path('/proc/self/statm').read_text()",
        "Path('/proc/self').stat()",
        "os.open('.', os.O_RDONLY)",
    ],
)
def test_the_simulation_takes_something_from_ltr_duel_and_leaves_it_to_others(tmp_path, probe):
    script = (
        "import os, signal, sys; from pathlib import Path\n"
        f"code = compile({probe!r}, 'probe', 'exec')\n"
        "exec(code, {'__package__': sys.argv[1], 'os': os, 'signal': signal, 'Path': Path})"
    )
    assert run(tmp_path, "-c", script, "psutil").returncode == 0
    refused = run(tmp_path, "-c", script, "ltr_duel.core")
    assert refused.returncode == 1 and "sitecustomize.py" in refused.stderr, refused.stderr


def test_one_module_alone_looks_for_what_only_linux_has():
    other = re.compile(
        r"import (fcntl|grp|pwd|resource|termios)|/proc\b|symlink_to|\.readlink|\bsignal\.SIG(?!INT\b|TERM\b|_)\w+"
        r"|\bos\.(fork|getp?gid|getuid|geteuid|kill|killpg|mkfifo|posix_\w+|pread|pwrite|register_at_fork|sched_\w+"
        r"|setsid|statvfs|symlink|sysconf|uname|wait\d|O_DIRECTORY)\b"
    )
    found = [
        f"{path.relative_to(PACKAGE)}: {match[0]}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if path != HOST
        for match in other.finditer(path.read_text(encoding="utf-8"))
    ]
    assert not found
