"""A lock on a folder or file names its holder, and changes no other file."""

from __future__ import annotations

import os

import pytest

from ltr_duel.core.alone import sole_writer


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="a system without symbolic links")
def test_a_link_in_place_of_the_holder_is_not_followed(tmp_path):
    victim, lock = tmp_path / "victim", tmp_path / "x-lock"
    victim.write_text("mine")
    (tmp_path / "x-lock.pid").symlink_to(victim)
    with sole_writer(tmp_path / "x", lock):
        assert (tmp_path / "x-lock.pid").read_text() == str(os.getpid())
    assert victim.read_text() == "mine"
