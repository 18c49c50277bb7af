"""Whether an address is this machine's own."""

from __future__ import annotations

import ipaddress


def is_loopback(host: str) -> bool:
    """Return whether a host, as an address or as ``localhost``, can only be this machine.

    Parameters
    ----------
    host : str
        No other name is looked up: where it leads can change.

    Returns
    -------
    bool

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("127.0.0.1.example.org")
    (True, True, False)
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
