"""Archives that would fill a disk are rejected while they are unpacked."""

import sys
import time
import zipfile
from pathlib import Path

import pytest

from ltr_duel.core import InputError
from ltr_duel.data.corpora import unpack as module
from ltr_duel.data.corpora.unpack import unpack


@pytest.fixture
def unrar(tmp_path, monkeypatch):
    """Return a function that replaces unrar by another program."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "m.rar").write_bytes(b"Rar!\x1a\x07\x00")

    def make(text):
        program = f"#!{sys.executable}\nimport os, sys, time\nout = sys.argv[-1]\n{text}"
        (tmp_path / "bin" / "unrar").write_text(program)
        (tmp_path / "bin" / "unrar").chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path / "bin"))
        return tmp_path / "m.rar"

    return make


ENDLESS = """
for k in range(10_000):
    open(out + f"/{k}", "wb").write(bytes(100_000))
    time.sleep(0.005)
"""
MANY = "for k in range(20_000): open(out + f'/{k}', 'wb').close()\ntime.sleep(600)"
LINK = "os.symlink('/etc/passwd', out + '/one'); time.sleep(600)"


@pytest.mark.skipif(sys.platform == "win32", reason="a script cannot be a program there")
@pytest.mark.parametrize(
    "text, sentence",
    [(ENDLESS, "unpacks to more than"), (MANY, "more than 10,000 members"), (LINK, "the archive contains links")],
)
def test_a_rar_is_looked_at_while_it_is_unpacked(tmp_path, unrar, text, sentence):
    archive, began = unrar(text), time.monotonic()
    with pytest.raises(InputError, match=sentence):
        unpack(archive, tmp_path / "out", limit=1_000_000)
    assert time.monotonic() - began < 40
    assert sorted(one.name for one in tmp_path.iterdir()) == ["bin", "m.rar"]


@pytest.mark.skipif(sys.platform == "win32", reason="a script cannot be a program there")
def test_a_rar_is_unpacked(tmp_path, unrar):
    unpack(unrar("open(out + '/one', 'w').write('hello')"), tmp_path / "out", limit=1_000_000)
    assert (tmp_path / "out" / "one").read_text() == "hello"


@pytest.mark.parametrize("name, sentence", [("{k}", "more than 20 members"), ("a/" * 30 + "{k}", "folders deep")])
def test_empty_files_and_folders_fill_no_disk(tmp_path, monkeypatch, name, sentence):
    monkeypatch.setattr(module, "MOST_MEMBERS", 20)
    with zipfile.ZipFile(tmp_path / "m.zip", "w") as archive:
        for k in range(30):
            archive.writestr(name.format(k=k), b"")
    with pytest.raises(InputError, match=sentence):
        unpack(tmp_path / "m.zip", Path(tmp_path / "out"), limit=1000)
    assert not (tmp_path / "out").exists()
