"""Leases on machines with different clocks, and failing claims."""

import errno
import json
import os
import shutil
import time

import pytest

from ltr_duel.core import InputError
from ltr_duel.experiment import leases
from ltr_duel.experiment.leases import Driver, live_driver
from ltr_duel.experiment.store import Store, StoreFullError
from tests.experiment.test_store import ABOUT, FAR


@pytest.fixture
def store(tmp_path):
    made = Store(tmp_path / "store")
    made.prepare()
    return made


@pytest.mark.parametrize("skew", [-3600, 3600])
def test_a_driver_elsewhere_is_alive_while_it_beats_whatever_the_clock_here_says(store, monkeypatch, skew):
    (store.drivers / "far").write_text(json.dumps(FAR))
    monkeypatch.setattr(time, "time", lambda now=time.time: now() + skew)
    assert live_driver(store, "far")
    ages_ago = (store.drivers / "far").stat().st_mtime - 100
    os.utime(store.drivers / "far", (ages_ago, ages_ago))
    assert not live_driver(store, "far")


def test_a_lease_that_another_machine_removed_is_made_again(store, monkeypatch):
    monkeypatch.setattr(leases, "_BEAT", 0.02)
    with Driver(store, ABOUT) as driver:
        (store.drivers / driver.id).unlink()
        for _ in range(500):
            if live_driver(store, driver.id):
                break
            time.sleep(0.02)
        assert live_driver(store, driver.id)


def test_a_claim_that_cannot_be_made_says_why(store, monkeypatch):
    with Driver(store, ABOUT) as driver:
        shutil.rmtree(store.claims)
        with pytest.raises(InputError, match="a run cannot be claimed: No such file") as found:
            driver.claim("ab" * 32)
        assert not isinstance(found.value, StoreFullError)
        store.claims.mkdir()

        def full(*given):
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(leases, "open", full, raising=False)
        monkeypatch.setattr(os, "link", full)
        with pytest.raises(StoreFullError):
            driver.claim("cd" * 32)
