"""Leases of drivers on other machines with different clocks, and failing claims."""

from __future__ import annotations

import errno
import json
import os
import shutil
import time

import pytest

from ltr_duel.core import InputError
from ltr_duel.experiment import leases
from ltr_duel.experiment.leases import Driver, live_drivers
from ltr_duel.experiment.store import Store, StoreFullError
from tests.experiment.test_store import ABOUT, live_elsewhere


@pytest.fixture
def store(tmp_path):
    made = Store(tmp_path / "store")
    made.prepare()
    return made


def ids(store):
    return [driver["id"] for driver in live_drivers(store)]


@pytest.mark.parametrize("skew", [-3600, 3600])
def test_a_driver_elsewhere_is_alive_while_it_renews_its_lease_whatever_the_clock_here_says(store, monkeypatch, skew):
    name = live_elsewhere(store)
    monkeypatch.setattr(time, "time", lambda now=time.time: now() + skew)
    assert ids(store) == [name]
    lease = store.drivers / f"{name}.lease"
    ages_ago = lease.stat().st_mtime - 100
    os.utime(lease, (ages_ago, ages_ago))
    assert ids(store) == []


@pytest.mark.parametrize("exists", [True, False])
def test_a_lease_in_a_read_only_folder_is_held_if_its_process_exists(store, monkeypatch, exists):
    def refused(self):
        raise OSError(errno.EROFS, "read-only file system")

    elsewhere = live_elsewhere(store)  # whose process cannot be looked up
    with Driver(store, ABOUT) as driver:
        path = store.drivers / driver.id
        path.write_text(json.dumps(json.loads(path.read_text()) | {"pid": os.getpid() if exists else 2**31 - 1}))
        with monkeypatch.context() as patch:
            patch.setattr(leases.SoftFileLease, "__enter__", refused)
            assert set(ids(store)) == {elsewhere, *[driver.id] * exists}


def test_the_claim_of_a_driver_elsewhere_is_void_when_its_lease_was_not_renewed_for_a_minute(store, monkeypatch):
    name, digest = live_elsewhere(store), "ab" * 32
    (store.claims / f"{digest}-{name}").touch()
    with Driver(store, ABOUT) as driver:
        now = time.monotonic()
        assert driver.claim([digest]) == []
        monkeypatch.setattr(time, "monotonic", lambda: now + 50)
        assert driver.claim([digest]) == []
        os.utime(store.drivers / f"{name}.lease")
        monkeypatch.setattr(time, "monotonic", lambda: now + 100)
        assert driver.claim([digest]) == [], "it was renewed"
        monkeypatch.setattr(time, "monotonic", lambda: now + 161)
        assert driver.claim([digest]) == [digest]


def test_a_lease_that_another_machine_removed_is_taken_again(store, monkeypatch):
    monkeypatch.setattr(leases, "_BEAT", 0.02)
    with Driver(store, ABOUT) as driver:
        (store.drivers / f"{driver.id}.lease").unlink()
        for _ in range(500):
            if ids(store) == [driver.id]:
                break
            time.sleep(0.02)
        assert ids(store) == [driver.id]
    assert not any(store.drivers.iterdir())


def test_a_claim_that_cannot_be_made_says_why(store, monkeypatch):
    with Driver(store, ABOUT) as driver:
        shutil.rmtree(store.claims)
        with pytest.raises(InputError, match="a run cannot be claimed: No such file") as found:
            driver.claim(["ab" * 32])
        assert not isinstance(found.value, StoreFullError)
        store.claims.mkdir()

        def full(*given, **how):
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(leases, "open", full, raising=False)
        with pytest.raises(StoreFullError):
            driver.claim(["cd" * 32])


def test_a_driver_that_was_swept_away_appears_again_also_if_that_fails_once(store, monkeypatch):
    monkeypatch.setattr(leases, "_BEAT", 0.02)
    acquire, failures = leases.SoftFileLease.acquire, [OSError(errno.EIO, "no answer")]

    def acquired(self, *given, **how):
        if how.pop("fails", True) and failures and self.lock_file.endswith(f"{driver.id}.lease"):
            raise failures.pop()
        return acquire(self, *given, **how)

    with Driver(store, ABOUT) as driver:
        monkeypatch.setattr(leases.SoftFileLease, "acquire", acquired)
        for path in store.drivers.iterdir():
            path.unlink()
        for _ in range(100):
            if not failures and (store.drivers / driver.id).exists() and ids(store) == [driver.id]:
                break
            time.sleep(0.02)
        assert ids(store) == [driver.id]
    assert not any(store.drivers.iterdir())


def test_a_driver_does_not_start_without_a_lease(store, monkeypatch):
    def fails(self, *given, **how):
        raise OSError(errno.EIO, "no answer")

    monkeypatch.setattr(leases.SoftFileLease, "acquire", fails)
    with pytest.raises(InputError, match="store: a run cannot be claimed: Input/output error"), Driver(store, ABOUT):
        raise AssertionError("it runs without a lease")


def test_what_other_machines_are_writing_is_not_swept_up_for_an_hour(store):
    _, machine, rest = store._temporary.name.split("-")
    dead, elsewhere, old = (store.tmp / f"999999999-{name}-{rest}" for name in (machine, "elsewhere", "long_ago"))
    for path in (dead, elsewhere, old):
        path.touch()
    os.utime(old, (time.time() - 4000,) * 2)
    with Driver(store, ABOUT):
        assert list(store.tmp.iterdir()) == [elsewhere]
