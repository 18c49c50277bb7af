"""The scripts, from terms to a converted corpus, on archives of the right layout made here."""

from __future__ import annotations

import ast
import hashlib
import io
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np
import pytest

from ltr_duel.cli.demo import command as demo
from ltr_duel.cli.main import main
from ltr_duel.data.corpora.catalogue import CORPORA
from ltr_duel.data.corpora.corpus import Archive
from ltr_duel.data.load import load_dataset
from ltr_duel.data.synthetic import make_corpus
from ltr_duel.data.text.write import write_svmlight

if TYPE_CHECKING:
    from tests.data_scripts.conftest import Server

SCRIPTS = sorted((Path(__file__).resolve().parents[2] / "data_scripts").glob("*.py"))


@pytest.fixture
def made_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip the check of published members, because these tests make the archives."""
    monkeypatch.setattr("ltr_duel.data.corpora.check.published", dict)


def part(tmp_path: Path, features: int, seed: int, first_query: int) -> bytes:
    corpus = make_corpus(queries=3, documents=5, features=features, grades=5, seed=seed, doc_ids=False)
    text = write_svmlight(corpus, tmp_path / "part.txt").read_text()
    for q in (3, 2, 1):
        text = text.replace(f" qid:{q} ", f" qid:{first_query + q} ")
    return text.encode()


def mslr_layout(tmp_path: Path) -> bytes:
    """Return a zip with five folds at the top, in the usual rotation."""
    parts = [part(tmp_path, 136, seed, 10 * seed) for seed in range(5)]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for k in range(5):
            archive.writestr(f"Fold{k + 1}/train.txt", b"".join(parts[(k + i) % 5] for i in (1, 2, 3)))
            archive.writestr(f"Fold{k + 1}/vali.txt", parts[(k - 1) % 5])
            archive.writestr(f"Fold{k + 1}/test.txt", parts[k])
    return out.getvalue()


def tar_layout(files: dict[str, bytes], mode: str) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:  # type: ignore[call-overload]
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def run(name: str, *arguments: str) -> int:
    try:
        main("data", "fetch", name, *arguments)
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


@pytest.fixture(autouse=True)
def declared_as_before() -> Iterator[None]:
    before = dict(CORPORA)
    yield
    CORPORA.update(before)


def publish(name: str, data: bytes, *urls: str) -> None:
    old = CORPORA[name].archives[0]
    archive = Archive(old.name, urls, "sha256:" + hashlib.sha256(data).hexdigest(), len(data))
    CORPORA[name] = replace(CORPORA[name], archives=(archive,))


def converted(tmp_path: Path) -> Path:
    (folder,) = (tmp_path / "home" / "corpora").glob("[!.]*")
    return folder


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_every_script_names_a_corpus_that_exists(script: Path) -> None:
    calls = [node for node in ast.walk(ast.parse(script.read_text())) if isinstance(node, ast.Call)]
    words = [argument.value for argument in calls[0].args if isinstance(argument, ast.Constant)]
    assert words[:2] == ["data", "fetch"] and words[2] in CORPORA


def test_without_the_terms_accepted_nothing_is_fetched(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("mslr-web10k", "--folder", str(tmp_path / "c"), "--url", server.url("good", "x.zip")) == 2
    out = capsys.readouterr()
    assert CORPORA["mslr-web10k"].terms_url in out.out
    assert "run this again with --accept-terms" in out.err
    assert server.requests == []


@pytest.mark.usefixtures("made_here")
def test_mslr_goes_from_the_server_to_a_converted_corpus(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = server.files["MSLR-WEB10K.zip"] = mslr_layout(tmp_path)
    publish("mslr-web10k", data, server.url("html", "MSLR-WEB10K.zip"), server.url("cut", "MSLR-WEB10K.zip"))
    monkeypatch.setattr("ltr_duel.data.corpora.download.ATTEMPTS", 30)
    monkeypatch.setattr("time.sleep", lambda _: None)
    assert run("mslr-web10k", "--accept-terms", "--folder", str(tmp_path / "c")) == 0
    dataset = load_dataset(converted(tmp_path))
    assert dataset.name == "mslr-web10k" and dataset.n_features == 136 and dataset.n_queries == 15
    assert f"ltr-duel demo --data {converted(tmp_path)}" in capsys.readouterr().out


def test_a_fold_of_five_is_made_from_the_test_parts(tmp_path: Path) -> None:
    folder = tmp_path / "mslr"
    with zipfile.ZipFile(io.BytesIO(mslr_layout(tmp_path))) as archive:
        archive.extractall(folder)
    for split in ("train", "vali", "test"):
        for k in (1, 4):
            of_folds = load_dataset(folder, fold=k, split=split)
            alone = load_dataset(folder / f"Fold{k}", split=split)
            assert of_folds.query_ids.tolist() == alone.query_ids.tolist()
            assert np.array_equal(of_folds.features, alone.features)


def test_an_archive_by_hand_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    publish("mslr-web10k", b"the published bytes")
    (tmp_path / "a.zip").write_bytes(b"other bytes")
    arguments = ("--accept-terms", "--archive", str(tmp_path / "a.zip"), "--folder", str(tmp_path / "c"))
    assert run("mslr-web10k", *arguments) == 2
    assert "not the published" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["yahoo-set1", "mslr-web10k", "imat2009", "mq2007-agg"])
def test_what_may_not_be_fetched_is_explained(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(name, "--accept-terms", "--folder", str(tmp_path / "c")) == 2
    error = capsys.readouterr().err
    assert CORPORA[name].obtain in error and "--archive" in error


@pytest.mark.usefixtures("made_here")
def test_both_yahoo_sets_come_out_of_one_archive(tmp_path: Path) -> None:
    files = {
        f"ltrc/set{s}.{word}.txt": part(tmp_path, 30 + s, 3 * s + i, 100 * s + 10 * i)
        for s in (1, 2)
        for i, word in enumerate(("train", "valid", "test"))
    }
    (tmp_path / "ltrc_yahoo.tar.bz2").write_bytes(tar_layout(files, "w:bz2"))
    arguments = ("--accept-terms", "--archive", str(tmp_path / "ltrc_yahoo.tar.bz2"), "--folder")
    assert run("yahoo-set2", *arguments, str(tmp_path / "c2")) == 0
    dataset = load_dataset(converted(tmp_path))
    assert dataset.n_features == 700 and dataset.n_queries == 9
    assert not np.any(dataset.features[:, 32:]) and np.any(dataset.features[:, 31])


@pytest.mark.usefixtures("made_here")
def test_istella_is_found_in_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {f"sample/{p}.txt": part(tmp_path, 220, i, 10 * i) for i, p in enumerate(("train", "vali", "test"))}
    data = tar_layout(files, "w:gz")
    publish("istella-s", data)
    (tmp_path / "i.tar.gz").write_bytes(data)
    arguments = ("--accept-terms", "--archive", str(tmp_path / "i.tar.gz"), "--folder", str(tmp_path / "c"))
    assert run("istella-s", *arguments) == 0
    assert load_dataset(converted(tmp_path)).n_queries == 9


def test_a_member_that_is_not_the_published_one_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tar_layout({"sample/train.txt": part(tmp_path, 220, 0, 0)}, "w:gz")
    publish("istella-s", data)
    (tmp_path / "i.tar.gz").write_bytes(data)
    arguments = ("--accept-terms", "--archive", str(tmp_path / "i.tar.gz"), "--folder", str(tmp_path / "c"))
    assert run("istella-s", *arguments) == 2
    assert "the checksum differs from the published istella-s sample/train.txt" in capsys.readouterr().err
    assert not (tmp_path / "home" / "corpora").exists()


@pytest.mark.usefixtures("made_here")
def test_run_goes_on_to_the_demo_with_the_converted_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[dict[str, object]] = []

    def note(**given: object) -> None:
        calls.append(given)
        raise click.exceptions.Exit(3)

    monkeypatch.setattr(demo, "callback", note)
    data = tar_layout({"sample/train.txt": part(tmp_path, 220, 0, 0)}, "w:gz")
    publish("istella-s", data)
    (tmp_path / "i.tar.gz").write_bytes(data)
    arguments = ("--accept-terms", "--run", "--archive", str(tmp_path / "i.tar.gz"), "--folder", str(tmp_path / "c"))
    assert run("istella-s", *arguments) == 3
    assert calls[0]["path"] == converted(tmp_path) and calls[0]["out"] == tmp_path / "c" / "demo"
    assert calls[0]["horizon"] == 1_000_000, "the other options of the demo have their defaults"


@pytest.mark.usefixtures("made_here")
def test_bad_feature_files_in_an_archive_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tar_layout({"sample/train.txt": b"0 qid:1 1:1\n0 qid:1 1:x\n"}, "w:gz")
    publish("istella-s", data)
    (tmp_path / "i.tar.gz").write_bytes(data)
    arguments = ("--accept-terms", "--archive", str(tmp_path / "i.tar.gz"), "--folder", str(tmp_path / "c"))
    assert run("istella-s", *arguments) == 2
    assert "train.txt:2:11: feature value 'x'" in capsys.readouterr().err
    assert not (tmp_path / "home" / "corpora").exists()
