"""A service that is started before its predecessor ends takes over when the predecessor ends."""

import threading

import pytest

from ltr_duel.core import InputError
from ltr_duel.serve.run import _opened
from tests.live.shop import KEYS, RANKINGS, opened, settings


def test_the_next_service_waits_until_the_store_is_free(tmp_path):
    first = opened(tmp_path)
    page = first.decide("q", RANKINGS)
    end = threading.Timer(0.5, first.close)
    end.start()
    with _opened(tmp_path / "shop.db", settings(deadline=1e9), 60.0, keys=KEYS) as second:
        assert second.pages == page.page
        with pytest.raises(InputError, match="another process"):
            _opened(tmp_path / "shop.db", settings(), 0.2, keys=KEYS)
    end.join()
