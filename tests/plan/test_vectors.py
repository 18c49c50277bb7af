"""Pages of plans are the same in Python, in the file for other languages, and in JavaScript, for any input."""

from __future__ import annotations

import dataclasses
import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ltr_duel.core import InputError
from ltr_duel.plan import LivePlan
from ltr_duel.plan.plan import _generator
from tests.plan.vectors import FILE, KEYS, PAIRS, RANKERS, SETS, plans, text

ANSWERING = """
import { createInterface } from "node:readline";
import { Plan } from "ltr-duel/plan";
for await (const line of createInterface({ input: process.stdin })) {
  const { text, keys, unit, query, rankings, options } = JSON.parse(line);
  let said;
  try {
    const { shown, rankers, record, total, served } = Plan.read(text, keys).decide(unit, query, rankings, options);
    said = [shown, rankers, record, total, served];
  } catch (error) {
    said = error.message;
  }
  console.log(JSON.stringify(said));
}
"""
SECRETS = {name: secret.hex() for name, secret in KEYS.items()}
METHODS = [
    ("team_draft", "credit"), ("team_draft: prefix_credit=1", "credit"), ("probabilistic", "marginal_sign"),
    ("probabilistic:tau=2.5", "marginal_bernoulli"), ("probabilistic:tau=1e1", "expectation"),
]  # fmt: skip
LETTERS = st.sampled_from('aé文🙂"\\\n\x7f\u2028') | st.characters(codec="utf-8", exclude_characters="\0")
SOUND = st.text(LETTERS, max_size=6)
TEXTS = SOUND | st.text(st.sampled_from("a\0\ud800\udc00") | st.characters(), max_size=6)
NUMBERS = st.integers(0, 20) | st.integers(-(2**53) + 1, 2**53 - 1)
IDS = NUMBERS | SOUND.map("d{}".format)
LISTS = st.lists(IDS, min_size=1, max_size=12, unique=True) | st.permutations(range(14)).map(lambda some: some[:9])
HOSTILE = st.lists(IDS | TEXTS | st.sampled_from(["1", "2", None, True, []]), max_size=9)


def test_the_file_for_other_languages_is_current():
    assert FILE.read_text("utf-8") == text(), "python -m tests.plan.vectors"
    assert FILE.stat().st_size < 1_500_000


def test_a_seed_is_the_state_of_pcg64_and_then_its_increment():
    state, increment, multiplier = (1 << 127) + 12345, 2**64 + 6, 0x2360ED051FC65DA44385DF649FCCF645
    rng = _generator(state.to_bytes(16, "big") + increment.to_bytes(16, "big"))
    for _ in range(100):
        state = (state * multiplier + (increment | 1)) % 2**128  # a step, then the output of the new state
        word, turn = (state >> 64) ^ (state % 2**64), state >> 122
        word = (word >> turn | word << (64 - turn)) % 2**64
        assert rng.random() == (word >> 11) * 2.0**-53


@pytest.fixture(scope="module")
def javascript():
    node = shutil.which("node")
    if not node or int(subprocess.check_output([node, "--version"], text=True).strip("v\n").split(".")[0]) < 18:
        pytest.skip("needs Node 18 or newer to run JavaScript with")
    words = [node, "--input-type=module", "-e", ANSWERING]
    where = Path(FILE).parent / "js"
    with subprocess.Popen(words, cwd=where, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:

        def ask(plan, unit, query, rankings, **options):
            said = {"text": plan.to_json(KEYS), "keys": SECRETS, "unit": unit, "query": query, "rankings": rankings}
            print(json.dumps({**said, "options": options}), file=child.stdin, flush=True)
            return json.loads(child.stdout.readline())

        yield ask
        child.stdin.close()


def decided(plan, unit, query, rankings, **options):
    """Return the results of Python in the format of `ANSWERING`."""
    try:
        one = plan.decide(unit, query, rankings, **options)
    except InputError as error:
        return str(error)
    return [list(one.shown), list(one.rankers), one.record, one.total, one.served]


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_both_languages_show_and_record_the_same_or_refuse(javascript, data):
    method, outcome = data.draw(st.sampled_from(METHODS))
    sets = PAIRS if outcome in ("marginal_bernoulli", "expectation") or data.draw(st.booleans()) else SETS
    plan = LivePlan(data.draw(TEXTS), 7, 0, data.draw(st.sampled_from([0, 0, 0, 5])), "rucb", method, outcome,
                data.draw(st.integers(1, 12)), data.draw(SOUND),
                tuple((tuple(RANKERS[one] for one in some), count) for some, count in sets),
                "bm25", "dense", "", "", 0)  # fmt: skip
    hostile = data.draw(st.integers(0, 5)) == 0
    unit, query = data.draw(st.tuples(TEXTS | st.just(4), TEXTS) if hostile else st.tuples(SOUND, SOUND))
    rankings = {name: data.draw(LISTS | HOSTILE if hostile else LISTS) for name in RANKERS[hostile:]}
    options = {"now": data.draw(st.sampled_from([0, 4.5, 5])), "offset": data.draw(st.integers(-hostile, 4)),
               "limit": data.draw(st.none() | st.integers(-hostile, 4))}  # fmt: skip
    mine, other = decided(plan, unit, query, rankings, **options), javascript(plan, unit, query, rankings, **options)
    assert mine == other or (isinstance(mine, str) and isinstance(other, str))


@pytest.mark.parametrize("number", [443_876, 4_563_595])
def test_a_coin_below_a_millionth_is_written_alike(javascript, number):
    asked = plans()[1], f"u{number}", "q", {name: ["a", "b", "c"] for name in RANKERS}
    mine = decided(*asked, now=1)
    assert '"kept":[' in mine[2]["page"] and "e-07]" in mine[2]["page"]
    assert javascript(*asked, now=1) == mine


@pytest.mark.parametrize("unit", ["\ud800", "a\0b", 5, None])
def test_units_that_no_log_can_keep_or_that_share_a_hash_are_refused(unit):
    with pytest.raises(InputError, match=r"^the user of a search "):
        plans()[0].rankers(unit, "q")


@pytest.mark.parametrize(
    ("ids", "why"),
    [
        (["x", "x"], "^document 'x' appears twice on the list of ranker 'dense'$"),
        ("xyz", "^the list of ranker 'dense' must be a list, not str$"),
        (None, "^the list of ranker 'dense' must be a list, not NoneType$"),
        ([1.0], "^document id 1.0 is neither a string nor a whole number$"),
    ],
)
def test_one_ranker_alone_is_held_to_the_same_lists(ids, why):
    plan = dataclasses.replace(plans()[0], until=5)
    with pytest.raises(InputError, match=why):
        plan.decide("u", "q", {"dense": ids}, now=5)
    assert plan.decide("u", "q", {"dense": np.array([4, 3])}, now=5).shown == (4, 3)


@pytest.mark.parametrize(
    ("ids", "why"), [([1, "1"], "as a string and as a number$"), (["\ud800"], "half of a surrogate")]
)
def test_a_page_whose_documents_a_log_could_not_keep_or_tell_apart_is_refused(ids, why):
    with pytest.raises(InputError, match=why):
        plans()[2].decide("u", "q", dict.fromkeys(RANKERS, ids))


def test_a_part_of_a_page_begins_and_ends_in_it():
    for part in ({"offset": -1}, {"limit": -1}, {"offset": 0.5}):
        with pytest.raises(InputError, match=r"^offset and limit are whole numbers from 0, not "):
            plans()[0].decide("u", "q", {name: ["a", "b"] for name in RANKERS}, **part)


def test_the_propensity_is_of_the_rankers_in_any_order():
    assert plans()[0].propensity(RANKERS[:2]) == plans()[0].propensity(RANKERS[1::-1]) == 7 / 12
    assert plans()[0].propensity(["nobody"]) == 0
