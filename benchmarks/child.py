"""``python -m benchmarks.child SUBJECT NAME`` measures one row and prints the result as JSON."""

from __future__ import annotations

import json
import sys
from importlib import import_module

from benchmarks.row import measured

if __name__ == "__main__":
    subject, name = sys.argv[1:]
    row = next(row for row in import_module(f"benchmarks.{subject}").rows() if row.name == name)
    print(json.dumps(measured(row)))
