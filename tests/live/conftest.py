"""A service in the process of the tests."""

from __future__ import annotations

import pytest

from tests.live.asgi import Service


@pytest.fixture
def service(tmp_path):
    """Return a new service."""
    return Service(tmp_path)
