"""The table ``[serve]`` of an experiment's file: address, keys and limits of the service."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ltr_duel.core import InputError, host, schema

LOGGED = ("all", "errors", "none")


@dataclass(frozen=True)
class ServiceSettings:
    """Address, keys and limits of a service. The guide to serving explains each key."""

    store: str = schema.value(schema.text, default="live.db")
    key_file: str = schema.value(schema.text, default="")
    user_key_file: str = schema.value(schema.text, default="")
    host: str = schema.value(schema.text, default="127.0.0.1")
    port: int = schema.value(schema.whole(0, 65535), default=8080)
    api_key_file: str = schema.value(schema.text, default="")
    largest_body: int = schema.value(schema.whole(1000, 100_000_000), default=250_000)
    connections: int = schema.value(schema.whole(1, 100_000), default=800)
    body_seconds: float = schema.value(schema.number(0.05, 600), default=5.0)
    idle_seconds: float = schema.value(schema.number(1, 3600), default=30.0)
    answer_seconds: float = schema.value(schema.number(0.05, 600), default=10.0)
    log: str = schema.value(schema.one_of("kind of requests to log", LOGGED), default="errors")

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach the service."""
        return host.is_loopback(self.host)


def service_settings(given: Mapping[str, Any], where: str) -> ServiceSettings:
    """Read the table; ``where`` is the prefix of error messages."""
    settings: ServiceSettings = schema.read_table(ServiceSettings, dict(given), f"{where}: serve")
    try:
        ipaddress.ip_address(settings.host)
    except ValueError:
        if settings.host != "localhost":
            raise InputError(
                f"{where}: serve.host: must be an address such as 127.0.0.1, ::1 or 0.0.0.0, not '{settings.host}'"
            ) from None
    return settings
