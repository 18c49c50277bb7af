"""The numbers of every sampler equal the stored digests, so that every change is intended."""

from __future__ import annotations

import pytest

from tests.golden import kept, line_of, rows

ROWS = rows()


@pytest.mark.parametrize("name", ROWS)
def test_results_have_the_golden_digests(name):
    found = line_of(ROWS[name]())
    assert found == kept().get(name), (
        f"numbers of {name} changed: raise its numbers version and renew with `python -m tests.golden`"
    )


def test_every_golden_digest_belongs_to_a_case():
    assert set(kept()) == set(ROWS)
