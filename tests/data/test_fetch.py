"""`data fetch`, from terms to a stored corpus, on archives of the right layout made here; unpacking."""

from __future__ import annotations

import ast
import functools
import hashlib
import io
import tarfile
import threading
import zipfile
from contextlib import suppress
from dataclasses import replace
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from ltr_duel.cli.main import main
from ltr_duel.core import InputError
from ltr_duel.data import CORPORA, find_corpus, load_dataset, make_corpus, write_svmlight
from ltr_duel.data.obtain import unpack

SCRIPTS = sorted((Path(__file__).resolve().parents[2] / "data_scripts").glob("*.py"))
TEXT = b"0 qid:1 1:1\n"


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("LTR_DUEL_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    for name in CORPORA:
        monkeypatch.setitem(CORPORA, name, CORPORA[name])


@pytest.fixture
def server(tmp_path):
    """Serve the files of a folder; return the folder and its address."""
    folder = tmp_path / "served"
    folder.mkdir()
    handler = functools.partial(SimpleHTTPRequestHandler, directory=str(folder))
    http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True).start()
    yield folder, f"http://127.0.0.1:{http.server_address[1]}"
    http.shutdown()
    http.server_close()


def run(name: str, *words: str) -> int:
    try:
        main("data", "fetch", name, *words)
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def part(features: int, seed: int, first_query: int) -> bytes:
    corpus = make_corpus(queries=3, documents=5, features=features, grades=5, seed=seed, doc_ids=False)
    text = write_svmlight(corpus, Path("part.txt")).read_text()
    for q in (3, 2, 1):
        text = text.replace(f" qid:{q} ", f" qid:{first_query + q} ")
    return text.encode()


def zipped(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def tarred(files: dict[str, bytes], mode: str = "w:gz") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def publish(name: str, data: bytes, *urls: str) -> None:
    digest = "sha256:" + hashlib.sha256(data).hexdigest()
    CORPORA[name] = replace(CORPORA[name], urls=urls, digest=digest)


def fetch_archive(name: str, data: bytes, *words: str) -> int:
    """Fetch from an archive that is published with this digest."""
    Path("given").write_bytes(data)
    publish(name, data)
    return run(name, "--accept-terms", "--archive", "given", "--folder", "c", *words)


def test_every_corpus_has_a_script_and_options_that_the_reader_takes():
    assert len(SCRIPTS) == len(CORPORA)
    for script in SCRIPTS:
        calls = [node for node in ast.walk(ast.parse(script.read_text())) if isinstance(node, ast.Call)]
        words = [argument.value for argument in calls[0].args if isinstance(argument, ast.Constant)]
        assert words[:2] == ["data", "fetch"] and CORPORA[words[2]].reading().features == CORPORA[words[2]].features


def test_mslr_goes_from_the_server_to_the_cache(server, capsys):
    folder, address = server
    parts = [part(136, seed, 10 * seed) for seed in range(5)]
    data = zipped({f"MSLR/Fold{k + 1}/test.txt": parts[k] for k in range(5)})
    (folder / "good.zip").write_bytes(data)
    (folder / "bad.zip").write_bytes(data[:-1])
    publish("mslr-web10k", data, f"{address}/gone.zip", f"{address}/bad.zip", f"{address}/good.zip")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("time.sleep", lambda _: None)
        assert run("mslr-web10k", "--accept-terms") == 0
    stored = find_corpus("corpus-mslr-web10k")
    assert f"ltr-duel demo --data {stored}" in capsys.readouterr().out
    corpus = load_dataset(stored)
    assert (corpus.name, corpus.n_features, corpus.n_queries) == ("mslr-web10k", 136, 15)
    (folder / "good.zip").unlink()
    assert run("mslr-web10k", "--accept-terms", "--fold", "2", "--split", "test") == 0  # from the unpacked files
    assert find_corpus("part").name.startswith("mslr-web10k-Fold2-test-")


def test_a_download_that_fails_says_why_in_a_sentence_and_leaves_nothing(monkeypatch, capsys):
    publish("mq2008", b"", "http://localhost:1/x.rar")
    monkeypatch.setattr("time.sleep", lambda _: None)
    assert run("mq2008", "--accept-terms", "--folder", "c") == 2
    assert "http://localhost:1/x.rar: [Errno 111] Connection refused. To do it" in capsys.readouterr().err
    assert not Path("c").exists()


def test_both_yahoo_sets_come_out_of_one_archive():
    files = {
        f"ltrc/set{s}.{word}.txt": part(30 + s, 3 * s + i, 100 * s + 10 * i)
        for s in (1, 2)
        for i, word in enumerate(("train", "valid", "test"))
    }
    assert fetch_archive("yahoo-set2", tarred(files, "w:bz2")) == 0
    corpus = load_dataset(find_corpus("corpus-yahoo-set2"))
    assert corpus.n_features == 700 and corpus.n_queries == 9
    assert not np.any(corpus.features[:, 32:]) and np.any(corpus.features[:, 31])


def test_a_corpus_that_is_one_text_is_read_as_declared():
    assert fetch_archive("imat2009", b"0.5 1:0.5 245:1 # 7\n2.2 1:0.25 # 7\n") == 0
    corpus = load_dataset(find_corpus("corpus-imat2009"))
    assert corpus.relevance.tolist() == [1, 2] and corpus.grades == 5


def test_an_archive_with_other_content_leaves_nothing(capsys):
    data = tarred({"sample/train.txt": b"0 qid:1 1:1\n0 qid:1 1:x\n"})
    assert fetch_archive("istella-s", data) == 2
    assert "c/unpacked/sample/train.txt:2:11: feature value 'x'" in capsys.readouterr().err
    assert not Path("c/unpacked").exists() and not Path("home/corpora").exists()


def unpacked(data: bytes) -> Path:
    Path("a").write_bytes(data)
    unpack(Path("a"), Path("out"))
    return Path("out")


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_files_come_out_under_their_names_and_none_leaves_the_folder(pack, tmp_path):
    assert (unpacked(pack({"Fold1/test.txt": TEXT})) / "Fold1" / "test.txt").read_bytes() == TEXT
    for name in ("../evil", "/evil", "a/../../evil"):
        Path("b").write_bytes(pack({"good": TEXT, name: TEXT}))
        with suppress(InputError):
            unpack(Path("b"), Path(f"out{len(name)}"))
    assert not list(tmp_path.parent.glob("evil")) and not Path("evil").exists() and not Path("/evil").exists()


@pytest.mark.parametrize(
    "data, what",
    [
        (zipped({}), "the archive is empty"),
        (zipped({"x": bytes(range(256)) * 50})[:-30], "the archive is damaged or cut short"),
        (tarred({"x": np.random.default_rng(0).bytes(100_000)})[:50_000], "damaged or cut short"),
        (b"Rar!\x1a\x07\x00", "one of these programs must be installed: unrar, unar, 7z, bsdtar"),
    ],
    ids=["empty", "zip", "tar", "rar"],  # the bytes contain the time
)
def test_a_wrong_archive_is_refused_and_leaves_nothing(data, what, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(InputError, match=what):
        unpacked(data)
    assert not Path("out").exists()


def test_rar_goes_through_the_program_that_is_there(monkeypatch):
    program = Path("bin/unrar").absolute()
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nfor last; do :; done\nprintf "0 qid:1 1:1\\n" > "$last/test.txt"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    assert (unpacked(b"Rar!\x1a\x07\x00") / "test.txt").read_bytes() == TEXT
