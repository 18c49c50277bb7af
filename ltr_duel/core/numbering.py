"""Versions of random results: an integer for each component, raised when the same seed gives different bytes.

Results of one version are not continued with another version. An upgrade that leaves all bytes unchanged leaves all
versions unchanged.
Version 1 is not stored, because results from before versions were introduced have version 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def numbered(provenance: Mapping[str, Any], **versions: int) -> dict[str, Any]:
    """Return a provenance with all versions above 1 added to the versions in its entry ``numbers``."""
    raised = {**provenance.get("numbers", {}), **{name: version for name, version in versions.items() if version > 1}}
    return {**provenance, **({"numbers": raised} if raised else {})}
