"""Keys are exchanged while the service runs; an invalid key file changes nothing."""

from __future__ import annotations

import asyncio
import io

import pytest

from ltr_duel.core import InputError
from ltr_duel.live import Experiment, Settings, TokenError
from ltr_duel.serve import ServiceSettings, make_app
from ltr_duel.serve.keys import KeyFiles
from tests.serve.asgi import LISTS, RANKERS, Service, log_to, using

OLD, NEW = "0123456789abcdef", "fedcba9876543210"
FIRST, SECOND = f"first {'ab' * 32}\n", f"second {'cd' * 32}\n"
NAMES = ServiceSettings(api_key_file="api", key_file="signing", user_key_file="users")


def made(folder):
    """Return the keys of files that others cannot read, and the log."""
    (folder / "api").write_text(f"{OLD}\n")
    (folder / "signing").write_text(FIRST)
    for name in ("api", "signing"):
        (folder / name).chmod(0o600)
    log_to(log := io.StringIO())
    return KeyFiles(folder, NAMES), log


def looked(keys):
    """Reload as many times as are needed until a change is accepted."""
    keys.look()
    keys.look()


def test_a_file_that_is_half_written_is_not_believed(tmp_path):
    keys, log = made(tmp_path)
    before, half, whole = log.getvalue(), NEW + OLD[:5], f"{NEW}{OLD}\n"
    for text in (half, whole):
        (tmp_path / "api").write_text(text)
        (tmp_path / "signing").write_text(SECOND[:-9] if text == half else SECOND)
        keys.look()
        assert keys.api_keys.roles(f"Bearer {OLD}".encode()) and list(keys.signing) == ["first"]
        assert not keys.api_keys.roles(f"Bearer {half}".encode()) and log.getvalue() == before
    keys.look()
    assert keys.api_keys.roles(f"Bearer {whole.strip()}".encode()) and list(keys.signing) == ["second"]
    (tmp_path / "api").write_text(half)
    keys.look()
    (tmp_path / "api").write_text(whole)
    keys.look()
    (tmp_path / "api").write_text(half)
    keys.look()
    assert not keys.api_keys.roles(f"Bearer {half}".encode())


def test_a_key_of_the_service_is_exchanged_while_it_runs(tmp_path, monkeypatch):
    monkeypatch.setattr("ltr_duel.serve.app._EVERY", 0.02)
    keys, log = made(tmp_path)

    class Own(Service):
        def __init__(self, folder):
            super().__init__(folder)
            self.app = make_app(self.experiment, self.limits, keys.api_keys, keys.look)
            log_to(log)

    async def story(service):
        async def status(key):
            return (await service.call("GET", "/state", headers={"authorization": f"Bearer {key}"})).status

        found = [[await status(key) for key in (OLD, NEW)]]
        for text in (f"{NEW}\n{OLD}\n", f"{NEW} read\n"):
            (tmp_path / "api").write_text(text)
            await asyncio.sleep(0.3)
            found.append([await status(key) for key in (OLD, NEW)])
        return found

    assert using(Own(tmp_path), story) == [[200, 401], [200, 200], [401, 200]]
    assert "read again: 2 keys" in log.getvalue() and OLD not in log.getvalue() and NEW not in log.getvalue()


def test_a_signing_key_is_exchanged_without_a_gap_and_a_key_that_is_gone_is_believed_no_more(tmp_path):
    keys, _ = made(tmp_path)
    settings = Settings(name="test", rankers=RANKERS, policy="rucb", seed=0)
    with Experiment.open(tmp_path / "live.db", settings, keys=keys.signing) as experiment:
        early = [experiment.decide("q", LISTS).token for _ in range(2)]
        (tmp_path / "signing").write_text(SECOND + FIRST)
        looked(keys)
        late = experiment.decide("q", LISTS).token
        assert (early[0].split(".")[1], late.split(".")[1]) == ("first", "second")
        experiment.record(early[0], [])
        (tmp_path / "signing").write_text(SECOND)
        looked(keys)
        with pytest.raises(TokenError, match="not signed"):
            experiment.record(early[1], [])
        experiment.record(late, [])


@pytest.mark.parametrize(
    "name, content",
    [
        ("api", b""),
        ("api", b"short"),
        ("api", f"{NEW} write".encode()),
        ("api", None),
        ("signing", b"first"),
        ("signing", b"\xff" * 40),
        ("signing", None),
        ("signing", b"k" * 200_000),
    ],
)
def test_what_is_no_file_of_keys_leaves_the_former_keys_in_use_and_is_logged_once(tmp_path, name, content):
    keys, log = made(tmp_path)
    if content is None:
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_bytes(content)
    for _ in range(3):
        keys.look()
    assert keys.api_keys.roles(f"Bearer {OLD}".encode()) and list(keys.signing) == ["first"]
    (line,) = log.getvalue().splitlines()
    assert "the old keys stay in use" in line and f'"file": "{name}"' in line
    assert (tmp_path / "signing").exists() is not (name == "signing" and content is None)


def test_another_key_of_the_users_is_logged_and_not_taken(tmp_path):
    keys, log = made(tmp_path)
    key = keys.user_key
    (tmp_path / "users").write_text(SECOND)
    looked(keys)
    assert keys.user_key == key and "with another key each user would count again" in log.getvalue()


def test_files_that_do_not_change_are_not_read_again(tmp_path, monkeypatch):
    keys, log = made(tmp_path)
    before = log.getvalue()
    monkeypatch.setattr(KeyFiles, "_read", lambda *given: 1 / 0)
    keys.look()
    assert log.getvalue() == before


def test_at_the_start_a_file_must_hold_keys(tmp_path):
    (tmp_path / "api").write_text("short\n")
    with pytest.raises(InputError, match="at least 16"):
        KeyFiles(tmp_path, NAMES)
