"""Numbers versions: whole numbers beside what makes numbers, raised when the same seed gives other bytes.

What was made before a change is not continued after it; an upgrade that changes no number changes no version. 1, the
first version, is never written down: results from before there were versions have it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def numbered(provenance: Mapping[str, Any], **versions: int) -> dict[str, Any]:
    """Return a provenance that says under ``numbers`` which versions are above 1, beside those it names already.

    Parameters
    ----------
    provenance : mapping
    **versions : int
        By what makes the numbers.

    Examples
    --------
    >>> numbered({"seed": 3}, method=1)
    {'seed': 3}
    >>> numbered({"seed": 3, "numbers": {"method": 2}}, blocks=4)
    {'seed': 3, 'numbers': {'method': 2, 'blocks': 4}}
    """
    raised = {**provenance.get("numbers", {}), **{name: version for name, version in versions.items() if version > 1}}
    return {**provenance, **({"numbers": raised} if raised else {})}
