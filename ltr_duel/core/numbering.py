"""The *numbers version* of a component: an integer that is increased when the same seed gives different results.

Results of one version cannot be continued with another version. An upgrade of the package that does not change results
does not change a version. Version 1 is not stored, so results without a stored version have version 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def numbered(provenance: Mapping[str, Any], **versions: int) -> dict[str, Any]:
    """Return a provenance whose entry ``numbers`` also contains all given versions above 1."""
    raised = {**provenance.get("numbers", {}), **{name: version for name, version in versions.items() if version > 1}}
    return {**provenance, **({"numbers": raised} if raised else {})}
