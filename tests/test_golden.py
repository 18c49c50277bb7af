"""The numbers of every sampler equal the stored digests, so that every change is intended."""

from __future__ import annotations

import pytest

from tests.golden import kept, line_of, rows

ROWS = rows()


@pytest.mark.parametrize("name", ROWS)
def test_the_numbers_are_the_ones_that_were_kept(name):
    found = line_of(ROWS[name]())
    assert found == kept().get(name), (
        f"numbers of {name} changed: raise its numbers version and renew with `python -m tests.golden`"
    )


def test_no_digest_is_kept_of_what_is_gone():
    assert set(kept()) == set(ROWS)
