"""False decisions of the loop of plans: identical rankers, returning users, two looks at the log.

    python -m benchmarks.studies.errors_plans [--loops 1000] [POLICY ...]

Each loop follows 6 plans of 200 searches with 3 rankers. Five percent of the users make half of the searches, and each
user has a taste that favours no ranker on average. A loop is false if `decide` tells two rankers apart at either look.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.studies.tables import table
from tests.live.test_loop_law import is_false


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("policies", nargs="*", metavar="POLICY", default=("double_thompson",))
    parser.add_argument("--loops", type=int, default=1000)
    given = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for policy in given.policies:
            false = np.mean([is_false(seed, policy, Path(folder) / "log.parquet") for seed in range(given.loops)])
            rows.append([policy, f"{false:.2%} ± {np.sqrt(false * (1 - false) / given.loops):.2%}"])
    table(f"False decisions at either of two looks at 95 %, {given.loops} loops", ["policy", "false"], rows)


if __name__ == "__main__":
    main()
