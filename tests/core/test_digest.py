"""Digests are permanent: values without a stable text are rejected."""

import pytest

from ltr_duel.core import digest_of


def test_a_digest_of_what_is_no_json_is_refused():
    with pytest.raises(TypeError, match="not JSON serializable"):
        digest_of({"what": object()})


def test_stored_digests_stay_what_they_are():
    assert digest_of([1, 2])[:8] == "3a316d6d"
    assert digest_of({"seed": 1, "policy": "rucb"}) == digest_of({"policy": "rucb", "seed": 1})
