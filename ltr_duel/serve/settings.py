"""The table ``[serve]`` of an experiment's file: where the service listens, and its limits."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ltr_duel.core import InputError, is_loopback
from ltr_duel.experiment import flag, number, one_of, read_table, text, value, whole

LOGGED = ("all", "errors", "none")


@dataclass(frozen=True)
class ServiceSettings:
    """Where a service listens, who may ask, and how much at once. The guide to serving says what each key means."""

    store: str = value(text, default="live.db")
    key_file: str = value(text, default="")
    user_key_file: str = value(text, default="")
    host: str = value(text, default="127.0.0.1")
    port: int = value(whole(0, 65535), default=8080)
    api_key_file: str = value(text, default="")
    largest_body: int = value(whole(1000, 100_000_000), default=250_000)
    longest_list: int = value(whole(1, 10_000), default=200)
    longest_text: int = value(whole(1, 100_000), default=1000)
    connections: int = value(whole(1, 100_000), default=800)
    connections_per_address: int = value(whole(1, 100_000), default=400)
    waiting: int = value(whole(1, 100_000), default=500)
    header_seconds: float = value(number(0.05, 600), default=5.0)
    body_seconds: float = value(number(0.05, 600), default=5.0)
    idle_seconds: float = value(number(1, 3600), default=30.0)
    answer_seconds: float = value(number(0.05, 600), default=10.0)
    log: str = value(one_of("kind of requests to log", LOGGED), default="errors")
    log_queries: bool = value(flag, default=False)
    refresh_seconds: int = value(whole(1, 3600), default=10)

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return is_loopback(self.host)


def service_settings(given: Mapping[str, Any], where: str) -> ServiceSettings:
    """Read the table; ``where`` begins the sentences of errors.

    Raises `InputError` for an unknown key or a value that is not legal.
    """
    settings: ServiceSettings = read_table(ServiceSettings, dict(given), f"{where}: serve")
    try:
        ipaddress.ip_address(settings.host)
    except ValueError:
        if settings.host != "localhost":
            raise InputError(
                f"{where}: serve.host: must be an address such as 127.0.0.1, ::1 or 0.0.0.0, not '{settings.host}'"
            ) from None
    return settings
