"""Imports and compilation that a small command avoids."""

from __future__ import annotations

import json
import subprocess
import sys

from ltr_duel.preferences import save_preferences, synthetic_preferences

# Printed when the process ends, after the command's own exit handlers.
SCRIPT = """
import atexit, gc, json, sys
told = ("scipy", "joblib", "asyncio", "numpy", "matplotlib", "sklearn", "ltr_duel")
def tell():
    modules = [name for name in sys.modules if name.partition(".")[0] in told]
    print(json.dumps([modules, sum(count["collections"] for count in gc.get_stats()), gc.get_freeze_count()]))
atexit.register(tell)
from ltr_duel.cli.main import main
main(*"simulate matrix.csv --policy rucb --horizon 100 --repetitions 2 --jobs 2 --out out".split())
"""
UNUSED = (
    "asyncio", "joblib", "matplotlib.pyplot", "sklearn", "scipy.optimize", "scipy.stats",
)  # fmt: skip  # numba imports scipy.linalg, to see whether it has BLAS


def test_a_small_simulate_loads_what_it_needs_and_ends_at_once(tmp_path):
    save_preferences(synthetic_preferences("arithmetic"), tmp_path / "matrix.csv")
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=tmp_path, capture_output=True, text=True, check=True)
    modules, collections, frozen = json.loads(done.stdout.splitlines()[-1])
    assert (tmp_path / "out" / "regret.png").stat().st_size and "matplotlib.figure" in modules
    of_others = (
        "import sys, filelock, numba, pandas, matplotlib.figure; print(*sys.modules)"  # old versions load asyncio
    )
    loaded = subprocess.run(
        [sys.executable, "-c", of_others], capture_output=True, text=True, check=True
    ).stdout.split()
    assert [name for name in UNUSED if name in modules and name not in loaded] == []
    assert [name for name in modules if name.startswith("ltr_duel.bandits.policies.")] == [
        "ltr_duel.bandits.policies.rucb"
    ]
    assert collections < 200  # 56 if the policy must be compiled; 513 with Python's threshold and cached code
    assert frozen > 100_000  # frozen objects are not scanned when Python shuts down


def test_a_comparison_in_the_terminal_loads_no_plots(tmp_path):
    row = '{"impression": %d, "time": 0, "query": "q", "user": %d, "shown": ["a", "b"], "clicks": [2],'
    row += ' "rankers": ["old", "new"], "owners": [0, 1]}\n'
    (tmp_path / "clicks.jsonl").write_text("".join(row % (k, k) for k in range(30)))
    script = "import sys; from ltr_duel.cli.main import main; sys.argv = 'x logs compare clicks.jsonl'.split()\n"
    script += "try: main()\nfinally: print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "old > new" in done.stdout or "new > old" in done.stdout, done.stderr
    assert done.stdout.splitlines()[-1] == "False"
