"""The code that makes the choices: other code continues a store only if it is accepted."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ltr_duel.bandits import POLICIES
from ltr_duel.bandits.policies import multisbm
from ltr_duel.core import InputError, load_plugin, plugins
from ltr_duel.live import Experiment
from tests.live.shop import RANKINGS, opened, settings


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Return a function that loads a policy from a file with an extra last line; unregister the policy afterwards."""

    def forget():
        monkeypatch.setattr(plugins, "_loaded", {})
        if "mine" in POLICIES:
            POLICIES.remove("mine")

    def load_it(line=""):
        forget()
        (tmp_path / "mine.py").write_text(Path(multisbm.__file__).read_text(encoding="utf-8") + line)
        return load_plugin(tmp_path / "mine.py").sha256

    yield load_it
    forget()


def said(folder, key):
    """Return the code recorded in a store."""
    with closing(sqlite3.connect(folder / "shop.db")) as db:
        row = db.execute("SELECT value FROM about WHERE key = ?", (key,)).fetchone()
    return row and json.loads(row[0])


def played(experiment, pages=3):
    """Show some pages without clicks, and return the policy's next choice."""
    for _ in range(pages):
        experiment.record(experiment.decide("q", RANKINGS).token, [])
    return experiment.asked


def test_a_store_knows_the_version_the_policy_and_the_file_it_comes_from(tmp_path, load):
    from ltr_duel import __version__

    sha256 = load()
    opened(tmp_path, settings(policy="mine")).close()
    assert said(tmp_path, "code") == {
        "ltr_duel": __version__, "policy": "mine", "numbers": 1, "file_sha256": sha256
    }  # fmt: skip


def test_another_file_of_a_policy_is_refused_until_it_is_accepted(tmp_path, load):
    first = load()
    with opened(tmp_path, settings(policy="mine")) as experiment:
        asked = played(experiment)
    second = load("# nothing\n")
    with pytest.raises(
        InputError, match=rf"another version of 'mine' \(plug-in file {first}, now {second}\); .*--accept-new-code"
    ):
        opened(tmp_path, settings(policy="mine"))
    assert said(tmp_path, "code")["file_sha256"] == first
    with Experiment.open(tmp_path / "shop.db", accept_new_code=True, clock=lambda: 1e6) as experiment:
        assert experiment.asked == asked and experiment.accepted["before"]["file_sha256"] == first
        played(experiment)
    (event,) = said(tmp_path, "accepted code")
    assert event["at"] == 1e6 and event["now"]["file_sha256"] == second
    with opened(tmp_path, settings(policy="mine")) as experiment:
        assert experiment.accepted is None and experiment.pages == 6


def test_another_numbers_version_is_refused_and_another_package_version_is_not(tmp_path, monkeypatch):
    opened(tmp_path).close()
    monkeypatch.setattr("ltr_duel.core.machine.own_version", lambda: "9.9")
    opened(tmp_path).close()
    assert said(tmp_path, "code")["ltr_duel"] == "9.9" and said(tmp_path, "accepted code") is None
    with closing(sqlite3.connect(tmp_path / "shop.db")) as db, db:
        db.execute(
            "UPDATE about SET value = ? WHERE key = 'code'", (json.dumps(said(tmp_path, "code") | {"numbers": 2}),)
        )
    with pytest.raises(InputError, match=r"another version of 'rucb' \(numbers version 2, now 1\)"):
        opened(tmp_path)


def test_a_store_of_an_earlier_version_is_opened_and_gets_what_it_lacks(tmp_path):
    with opened(tmp_path) as experiment:
        asked = played(experiment)
    with closing(sqlite3.connect(tmp_path / "shop.db")) as db, db:
        db.execute("DELETE FROM about WHERE key = 'code'")
    with opened(tmp_path) as experiment:
        assert experiment.asked == asked and experiment.accepted is None
    assert said(tmp_path, "code")["policy"] == "rucb"
