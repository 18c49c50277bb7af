"""What a client of a live experiment may be told. Each is one sentence that holds no key and no path of the server."""

from __future__ import annotations

from ltr_duel.core import InputError


class TokenError(InputError):
    """A token is none of this experiment's: damaged, signed by nobody who may, or made for another experiment.

    Examples
    --------
    >>> issubclass(TokenError, InputError)
    True
    """


class ExpiredError(InputError):
    """A page was closed before these clicks came: at its deadline, or to make room.

    Examples
    --------
    >>> issubclass(ExpiredError, InputError)
    True
    """


class UsedError(InputError):
    """The clicks of a page were counted already.

    Examples
    --------
    >>> issubclass(UsedError, InputError)
    True
    """


class BusyError(InputError):
    """More requests wait than the settings of a service allow."""


class StoreError(InputError):
    """The store cannot be written now: nothing of the request happened, and it may be repeated.

    Examples
    --------
    >>> issubclass(StoreError, InputError)
    True
    """
