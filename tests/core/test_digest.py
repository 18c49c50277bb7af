"""Digests are permanent: values without a stable text are rejected."""

import pytest

from ltr_duel.core import digest_of


def test_a_digest_of_what_is_no_json_is_refused():
    with pytest.raises(TypeError, match="not JSON serializable"):
        digest_of({"what": object()})
