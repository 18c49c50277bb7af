"""Where files that can be made again are kept: compiled kernels and converted corpora."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def cache_home() -> Path:
    """Return the folder for everything cached: ``$LTR_DUEL_HOME``, else the user's cache folder.

    Returns
    -------
    Path
        It need not exist yet.

    Examples
    --------
    >>> cache_home().name  # doctest: +SKIP
    'ltr_duel'
    """
    home = os.environ.get("LTR_DUEL_HOME")
    return Path(home).expanduser() if home else platformdirs.user_cache_path("ltr_duel")
