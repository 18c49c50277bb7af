"""Where files that can be made again are kept: compiled kernels and converted corpora."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

from ltr_duel.core.errors import InputError


class NoHomeError(InputError):
    """There is no folder to keep files in; what only saves time is done without."""


def cache_home() -> Path:
    """Return the folder for everything cached: ``$LTR_DUEL_HOME``, else the user's cache folder.

    Returns
    -------
    Path
        It need not exist yet.

    Raises
    ------
    InputError
        If the user has no home folder: a ``NoHomeError``, of which callers that only save time take no notice.

    Examples
    --------
    >>> cache_home().name  # doctest: +SKIP
    'ltr_duel'
    """
    home = os.environ.get("LTR_DUEL_HOME")
    try:
        folder = Path(home).expanduser() if home else platformdirs.user_cache_path("ltr_duel")
    except RuntimeError:
        folder = Path("~")
    if folder.parts[:1] == ("~",):  # as it is left where nobody knows whose it is
        said = f"LTR_DUEL_HOME is '{home}': no such user" if home else "this user has no home folder"
        raise NoHomeError(f"{said}; set LTR_DUEL_HOME to a folder of yours for what is kept")
    return folder
