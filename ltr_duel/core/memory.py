"""What needs more memory than is free is refused before it is allocated.

Linux promises more memory than there is, and ends the process that uses it. So what grows with the square of the
number of rankers is refused beforehand, in a sentence.
"""

from __future__ import annotations

from ltr_duel.core.errors import InputError

SMALL = 2**26  # bytes that nobody asks for


def require_memory(what: str, size: float) -> None:
    """Refuse what takes more memory than is free.

    Parameters
    ----------
    what : str
        The subject of the sentence: who needs it.
    size : float
        Bytes.

    Raises
    ------
    InputError
        What needs how much, and how much there is.
    """
    if size <= SMALL:
        return
    from ltr_duel.core.host import free_memory  # psutil is imported only for large requests

    if size > (free := free_memory()):
        raise InputError(f"{what} needs {size / 1e9:,.1f} GB of memory, and {free / 1e9:,.1f} GB are free")
