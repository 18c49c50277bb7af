"""The folder for files that can be rebuilt: compiled kernels and corpora."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

from ltr_duel.core.errors import InputError


class NoHomeError(InputError):
    """No folder for cached files can be found; callers that need the cache only to save time continue without it."""


def cache_home() -> Path:
    """Return the folder of the cache: ``$LTR_DUEL_HOME``, or else the user's cache folder.

    Returns
    -------
    Path
        The folder, which may not exist yet.

    Raises
    ------
    InputError
        ``NoHomeError``, if the user has no home folder.

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
    if folder.parts[:1] == ("~",):  # not expanded, because the home folder is unknown
        said = f"LTR_DUEL_HOME is '{home}': no such user" if home else "this user has no home folder"
        raise NoHomeError(f"{said}; set LTR_DUEL_HOME to a folder of yours for the cache")
    return folder
