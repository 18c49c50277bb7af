"""JavaScript decides as Python does: the file of vectors is current, and any search gets the same page and record."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ltr_duel
from ltr_duel.core import InputError
from ltr_duel.live import LivePlan
from tests.live.vectors import FILE, KEYS, PAIRS, RANKERS, SETS, text

CLIENT = FILE.parent / "js"
ANSWERING = """
import { createInterface } from "node:readline";
import { Plan } from "ltr-duel/plan";
for await (const line of createInterface({ input: process.stdin })) {
  const { text, keys, user, query, lists } = JSON.parse(line);
  let said;
  try {
    const { page, rankers, record, served, version } = Plan.read(text, keys).decide(user, query, lists, 4.5);
    said = [page, rankers, record, served, version];
  } catch (error) {
    said = error.message;
  }
  console.log(JSON.stringify(said));
}
"""
SECRETS = "\n".join(f"{name} {secret.hex()}" for name, secret in KEYS.items())
METHODS = [
    ("team_draft", "credit"), ("team_draft:prefix_credit=1", "credit"), ("probabilistic", "marginal_sign"),
    ("probabilistic:tau=2.5", "marginal_bernoulli"), ("probabilistic:tau=1e1", "expectation"),
    ("probabilistic", "sampled"),
]  # fmt: skip
LETTERS = st.sampled_from('aé文🙂"\\\n\x7f\u2028') | st.characters(codec="utf-8", exclude_characters="\0")
SOUND = st.text(LETTERS, min_size=1, max_size=6)
TEXTS = SOUND | st.text(st.sampled_from("a\0\ud800\udc00") | st.characters(), max_size=6)
IDS = st.integers(0, 20) | st.integers(-(2**53) + 1, 2**53 - 1) | SOUND.map("d{}".format)
LISTS = st.lists(IDS, min_size=1, max_size=12, unique=True) | st.permutations(range(14)).map(lambda some: some[:9])
HOSTILE = st.lists(IDS | TEXTS | st.sampled_from(["1", "2", None, True, []]), max_size=9)
SHARES = [{}, {}, {"share": 0.3, "holdback": 0.6}, {"mode": "winner", "winner": "文", "holdback": 0.25}]


@pytest.fixture(scope="module")
def node():
    program = shutil.which("node")
    if not program or int(subprocess.check_output([program, "--version"], text=True).strip("v\n").split(".")[0]) < 18:
        pytest.skip("needs Node 18 or newer to run JavaScript with")
    return program


@pytest.fixture(scope="module")
def javascript(node):
    words = [node, "--input-type=module", "-e", ANSWERING]
    with subprocess.Popen(words, cwd=CLIENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:

        def ask(plan, user, query, lists):
            said = {"text": plan.to_json(KEYS), "keys": SECRETS, "user": user, "query": query, "lists": lists}
            print(json.dumps(said), file=child.stdin, flush=True)
            return json.loads(child.stdout.readline())

        yield ask
        child.stdin.close()


def decided(plan, user, query, lists):
    """Return the results of Python in the format of `ANSWERING`."""
    try:
        page = plan.decide(user, query, lists, now=4.5)
    except InputError as error:
        return str(error)
    return [list(page.page), list(page.rankers), page.record, page.served, page.version]


def test_the_file_for_other_languages_is_current():
    assert FILE.read_text("utf-8") == text(), "python -m tests.live.vectors"


def test_the_tests_of_the_modules_pass(node):
    done = subprocess.run([node, "--test"], cwd=CLIENT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout
    assert "# pass 17" in done.stdout
    assert "500 pages equal those of Python" in done.stdout


def test_the_modules_have_no_dependencies_and_the_version_of_the_package():
    described = json.loads((CLIENT / "package.json").read_text())
    assert not [key for key in described if "ependencies" in key]
    assert ltr_duel.__version__.startswith(described["version"])
    assert sorted(described["files"]) == sorted(path.name for path in CLIENT.glob("*.js"))


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_both_languages_show_and_record_the_same_or_refuse(javascript, data):
    method, outcome = data.draw(st.sampled_from(METHODS))
    sets = PAIRS if outcome in ("marginal_bernoulli", "expectation") or data.draw(st.booleans()) else SETS
    plan = LivePlan(
        experiment=data.draw(SOUND), version=7, policy="rucb", method=method, outcome=outcome,
        top=data.draw(st.integers(1, 12)), salt=data.draw(SOUND), recommended="bm25", incumbent="dense",
        sets=tuple((tuple(RANKERS[one] for one in some), count) for some, count in sets),
        **data.draw(st.sampled_from(SHARES)),
    )  # fmt: skip
    hostile = data.draw(st.integers(0, 5)) == 0
    user, query = data.draw(st.tuples(TEXTS | st.just(4), TEXTS) if hostile else st.tuples(SOUND, SOUND))
    lists = {name: data.draw(LISTS | HOSTILE if hostile else LISTS) for name in RANKERS[hostile:]}
    mine, other = decided(plan, user, query, lists), javascript(plan, user, query, lists)
    assert mine == other or (isinstance(mine, str) and isinstance(other, str))
