"""The memory cap holds while ``NULL`` is filled: the matrix may be larger than the memory limit of the process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ltr_duel.data.store.converted import open_converted
from tests.conftest import HOME

ROWS, COLUMNS = 40_000, 700  # 112 MB of numbers from 1 MB of text

SCRIPT = """
import sys
import os, pathlib, psutil
from ltr_duel.core import kernel_cache
from ltr_duel.data.store.convert import convert
from ltr_duel.data.text.options import ReadOptions

kernel_cache.cache_home = lambda: pathlib.Path(os.environ["KERNELS"])  # a link would not be followed

def peak():
    return 1024 * int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0])

small, large, fill = sys.argv[1:]
convert(small, ReadOptions(fill=fill))  # compile, load libraries
open("/proc/self/clear_refs", "w").write("5")  # the peak so far does not count
cap = psutil.Process().memory_info().rss + 40 * 2**20
print(cap, convert(large, ReadOptions(fill=fill), memory=cap, jobs=2), peak(), sep="\\n")
"""


def text(rows: int) -> str:
    """Return lines with a ``NULL`` in each column in turn."""
    ids = [(row % COLUMNS + 1, (row + 350) % COLUMNS + 1) for row in range(rows)]
    return "".join(f"{row % 2} qid:{row // 7} {a}:NULL {b}:-{row}\n" for row, (a, b) in enumerate(ids))


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux tells the peak of some time")
@pytest.mark.parametrize("fill", ["min", "nan"])
def test_the_cap_holds_though_every_column_is_filled(tmp_path: Path, fill: str) -> None:
    (tmp_path / "small.txt").write_text(text(COLUMNS))
    (tmp_path / "large.txt").write_text(text(ROWS))
    answer = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "small.txt"), str(tmp_path / "large.txt"), fill],
        env={**os.environ, "LTR_DUEL_HOME": str(tmp_path / "home"), "KERNELS": str(HOME)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout.split("\n")
    features = open_converted(Path(answer[1])).features
    assert features.shape == (ROWS, COLUMNS)
    assert np.isnan(features).any() == (fill == "nan")
    assert int(answer[0]) < int(answer[2]) + features.nbytes  # the matrix alone would not fit
