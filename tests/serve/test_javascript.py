"""The JavaScript client passes its tests, and gets pages of the service."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import ltr_duel
from tests.serve.asgi import KEY

CLIENT = Path(__file__).resolve().parents[2] / "clients" / "js"
STORY = """
import { Client } from "ltr-duel/client";
const client = new Client(process.argv[1], "words", { key: process.argv[2], deadline: 30000 });
const lists = { words: ["a", "b"], titles: ["b", "c"], newest: ["c", "a"] };
const page = await client.decide("from JavaScript", lists, { idempotencyKey: "same" });
const again = await client.decide("from JavaScript", lists, { idempotencyKey: "same" });
const slow = { deadline: 30000 };
const more = [
  await client.clicks(page.token, [page.page[0]], { ...slow, final: false }), await client.clicks(page.token, [], slow),
  await client.events(page.token, [{ kind: "cart", document: page.page[0] }], slow),
];
const refused = (await client.decide("", lists)).why;
console.log(JSON.stringify({ page, again, more, refused }));
"""


@pytest.fixture
def node():
    program = shutil.which("node")
    version = program and subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    if not version or int(version.strip("v\n").split(".")[0]) < 18:
        pytest.skip("needs Node 18 or newer to run JavaScript with")
    return program


def test_the_tests_of_the_module_pass(node):
    done = subprocess.run([node, "--test"], cwd=CLIENT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout
    assert int(done.stdout.partition("# pass ")[2].split()[0]) > 20  # they were found
    assert "10000 pages equal those of Python" in done.stdout


def test_the_module_has_no_dependencies_and_the_version_of_the_package():
    described = json.loads((CLIENT / "package.json").read_text())
    assert not [key for key in described if "ependencies" in key]
    assert ltr_duel.__version__.startswith(described["version"])
    assert sorted(described["files"]) == sorted(path.name for path in CLIENT.glob("*.js"))


def test_the_service_answers_the_module(node, running):
    done = subprocess.run(
        [node, "--input-type=module", "-e", STORY, running.url, KEY],
        cwd=CLIENT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["page"] == said["again"] and said["page"]["served"] == "experiment" and said["page"]["why"] == ""
    assert said["more"] == [True, True, True]
    assert said["refused"].startswith("status 400: 'query' must have from 1 to 1,000 characters")
    assert len(running.counted("from JavaScript")) == 1
