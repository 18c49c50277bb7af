"""Plug-in files: registered components can be named, and errors are one sentence."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import pytest

from ltr_duel import bandits, interleaving
from ltr_duel.bandits import POLICIES
from ltr_duel.clicks import CLICK_MODELS
from ltr_duel.core import InputError, compiler, load_plugin, plugins, reload_plugin
from ltr_duel.data import make_corpus, write_svmlight
from ltr_duel.interleaving import METHODS

KINDS: tuple[Any, ...] = (POLICIES, METHODS, CLICK_MODELS)
COMPILED = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="what is not compiled loses no writes")
DOCS = Path(__file__).resolve().parents[2] / "docs"
CLICKS = """
from ltr_duel.clicks import CLICK_MODELS, ClickFamily

TABLES = {{2: ((0.1, 0.8), (0.0, 0.9)), 3: ((0.1, 0.4, 0.8), (0.0, 0.5, 0.9))}}
CLICK_MODELS.add(ClickFamily(name="{name}", tables=TABLES))
"""


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Return a function that writes a plug-in file; its components are unregistered afterwards."""
    monkeypatch.setattr(plugins, "_loaded", {})
    before = {registry: registry.names() for registry in KINDS}

    def write_file(name, text):
        path = tmp_path / f"{name}.py"
        path.write_text(text)
        return path

    yield write_file
    for registry, names in before.items():
        for name in set(registry.names()) - set(names):
            registry.remove(name)


def examples(page):
    """Return the Python examples of a page of docs/ that register something."""
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.S)
    return [block for block in blocks if "register(__name__" in block or ".add(" in block]


@pytest.mark.parametrize(
    ("page", "number"), [("own_policy.md", 0), ("click_models.md", 0), *(("methods.md", number) for number in range(3))]
)
def test_the_plugins_in_the_docs_keep_the_contracts(write, page, number):
    plugin = load_plugin(write(f"from_the_docs_{number}", examples(page)[number]))
    ((kind, name),) = plugin.components
    registry = {registry.kind: registry for registry in KINDS}[kind]
    registry.check(name)
    assert (kind, name) in plugin.components and name in ("hasty", f"from_the_docs_{number}")


def test_only_what_the_file_adds_is_counted_even_if_it_is_the_first_to_look(tmp_path):
    path = tmp_path / "users.py"
    path.write_text("from ltr_duel.interleaving import METHODS, Comparer\nMETHODS['sosm']\n" + CLICKS.format(name="a"))
    script = f"from ltr_duel.core import load_plugin; print(load_plugin({str(path)!r}).components)"
    found = subprocess.check_output([sys.executable, "-c", script], text=True)
    assert found.strip() == "(('click model', 'a'),)"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("x = 1", "registers no component"),
        ("import no_such_thing", "ModuleNotFoundError"),
        ("def (", "SyntaxError"),
        ("raise SystemExit", "SystemExit"),
        (CLICKS.format(name="perfect"), "a click model named 'perfect' already exists; choose a different name"),
        (CLICKS.format(name="good") + CLICKS.format(name="good"), "a click model named 'good' already exists"),
        (
            "from ltr_duel.interleaving import register\nregister(__name__)",
            "defines neither draw and credit, nor State and init",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_and_leaves_nothing_behind(write, text, sentence):
    names = CLICK_MODELS.names()
    with pytest.raises(InputError, match=sentence):
        load_plugin(write("wrong", text))
    assert CLICK_MODELS.names() == names


def test_a_file_that_does_not_exist_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"absent\.py: there is no such plug-in file"):
        load_plugin(tmp_path / "absent.py")


def test_a_file_is_run_once_and_must_not_change_on_the_way_to_a_worker(write):
    path = write("once", CLICKS.format(name="once"))
    plugin = load_plugin(path)
    assert load_plugin(path) is plugin
    path.write_text(path.read_text() + "\n")
    reload_plugin(plugin)  # already loaded in this process
    plugins._loaded.clear()  # as in another process
    CLICK_MODELS.remove("once")
    with pytest.raises(InputError, match=r"once\.py: changed since the experiment was started"):
        reload_plugin(plugin)


def test_methods_and_click_models_from_files_are_named_on_the_command_line(write, ltr_duel, corpus, tmp_path):
    method, users = write("coins", examples("methods.md")[2]), write("users", CLICKS.format(name="mine"))
    words = ("--plugin", method, "--plugin", users)
    answer = ltr_duel(
        "prefs", "estimate", corpus, *words, "--method", "coins", "--clicks", "mine:position_bias=0.5",
        "--comparisons", "50", "--out", tmp_path / "p.parquet",
    )  # fmt: skip
    assert answer.code == 0, answer.err
    about = ltr_duel("prefs", "show", tmp_path / "p.parquet").out
    assert "method: coins" in about and "position_bias: 0.5" in about and "p_click: [0.1, 0.4, 0.8]" in about
    listed = ltr_duel("list", "clicks", "mine", *words)
    assert listed.out.splitlines()[0] == "mine" and "0.1 0.8; 0.1 0.4 0.8" in listed.out
    sure = ltr_duel("sensitivity", corpus, *words, "--method", "coins", "--pairs", "1", "--impressions", "20")
    assert sure.code == 0, sure.err


def test_check_says_line_by_line_what_keeps_its_contract(write, ltr_duel):
    good = CLICKS.format(name="better")
    bad = CLICKS.format(name="worse").replace("(0.1, 0.8)", "(0.8, 0.1)")
    answer = ltr_duel("check", write("models", good + bad))
    assert answer.code == 1
    assert answer.out.splitlines() == [
        "click model 'better' satisfies the contract",
        "click model 'worse', 2 grades: a better document is clicked less: (0.8, 0.1)",
    ]
    assert ltr_duel("check", write("good", CLICKS.format(name="alone"))).code == 0
    broken = ltr_duel("check", write("broken", "import no_such_thing"))
    assert broken.code == 2 and "ModuleNotFoundError" in broken.err


@pytest.mark.parametrize("name", CLICK_MODELS.names())
def test_every_click_model_keeps_the_contract(name):
    CLICK_MODELS.check(name)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("state.used[page.shown[k]] = 1", "state.used.extend(page.shown)", r"plug\.py:\d+: .*extend"),
        (
            "document = start + page.shown",
            "scratch = np.zeros(3)\n        document = start + page.shown",
            "no compiled form of zeros",
        ),
        ("used: np.ndarray", "used: list", None),
        ("np.zeros(size.longest, np.uint8)", "[0] * size.longest", r"plug\.py:\d+: "),
    ],
)
def test_a_method_that_cannot_be_compiled_is_one_sentence(write, ltr_duel, corpus, tmp_path, old, new, sentence):
    if sentence and "extend" not in sentence and "plain" in compiler():
        pytest.skip("the plain compiler counts references: kernels may allocate")
    text = examples("methods.md")[2]
    assert old in text
    words = ("--plugin", write("plug", text.replace(old, new)), "--method", "plug", "--comparisons", "20")
    answer = ltr_duel("prefs", "estimate", corpus, *words, "--out", tmp_path / "p.parquet")
    if sentence is None:
        assert answer.code == 0, answer.err  # only an annotation differs
        return
    assert answer.code == 2 and answer.err.count("ltr-duel: ") == 1, answer.err
    assert re.search(f"ltr-duel: .*{sentence}", answer.err)


def test_a_copy_of_a_known_file_is_refused_because_its_names_are_taken(write):
    text = CLICKS.format(name="copied")
    load_plugin(write("here", text))
    with pytest.raises(InputError, match=r"there\.py: a click model named 'copied' already exists"):
        load_plugin(write("there", text))


def test_an_edited_file_replaces_the_click_models_of_its_earlier_version(write):
    load_plugin(write("users", CLICKS.format(name="kept") + CLICKS.format(name="dropped")))
    edited = CLICKS.format(name="kept").replace("0.8", "0.9") + CLICKS.format(name="new")
    assert load_plugin(write("users", edited)).components == (("click model", "kept"), ("click model", "new"))
    assert CLICK_MODELS["kept"].tables[2] == ((0.1, 0.9), (0.0, 0.9))
    assert "dropped" not in CLICK_MODELS


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (CLICKS.format(name="other") + "raise ValueError('half-way')", "ValueError: half-way"),
        ("x = 1", "registers no component"),
        (CLICKS.format(name="other") + CLICKS.format(name="perfect"), "a click model named 'perfect' already exists"),
    ],
)
def test_after_a_faulty_edit_the_components_of_the_earlier_version_remain(write, text, sentence):
    good = CLICKS.format(name="mine")
    plugin = load_plugin(write("users", good))
    item, module = CLICK_MODELS["mine"], sys.modules["ltr_duel_plugin_users"]
    with pytest.raises(InputError, match=sentence):
        load_plugin(write("users", text))
    assert CLICK_MODELS["mine"] is item and "other" not in CLICK_MODELS
    assert sys.modules["ltr_duel_plugin_users"] is module
    assert load_plugin(write("users", good)) is plugin


METHOD = """
from ltr_duel.interleaving import register

def draw(orders, top, rng):
    return orders[{shown}][:top], [{shown}] * len(orders[{shown}][:top])

def credit(orders, shown, clicks, owners):
    return [float(len(clicks)) for _ in orders]

register(__name__)
"""


def test_an_edited_method_shows_the_lists_of_its_new_version(write):
    for shown in (0, 1):
        load_plugin(write("only_one", METHOD.format(shown=shown)))
        page = interleaving.interleave({"a": [1, 2, 3], "b": [3, 2, 1]}, method="only_one", seed=1)
        assert list(page.shown) == [[1, 2, 3], [3, 2, 1]][shown]


def test_check_is_the_first_command_of_a_process(write):
    file = write("first", CLICKS.format(name="alone_first"))
    command = [sys.executable, "-m", "ltr_duel.cli.main", "check", str(file)]
    assert "satisfies the contract" in subprocess.check_output(command, text=True)


DROPS = "        wins, plays = state\n        wins[first if outcome > 0 else second] += 1\n        plays[first] += 1\n"


@COMPILED
def test_a_policy_whose_writes_the_compiler_drops_is_not_simulated(write, ltr_duel, tmp_path):
    text = examples("own_policy.md")[0]
    kept = "        state.wins[first if outcome > 0 else second] += 1\n        state.plays[first] += 1\n"
    assert kept in text
    (tmp_path / "p.csv").write_text("0.5,0.7\n0.3,0.5\n")
    words = ("--policy", "drops", "--horizon", "20", "--repetitions", "1", "--out", tmp_path / "out")
    answer = ltr_duel("simulate", tmp_path / "p.csv", "--plugin", write("drops", text.replace(kept, DROPS)), *words)
    assert answer.code == 2 and not (tmp_path / "out").exists()
    assert "policy 'drops' chooses differently as plain Python and as compiled code" in answer.err


@COMPILED
def test_a_file_that_passed_is_not_checked_again(write, ltr_duel, tmp_path, monkeypatch):
    monkeypatch.setenv("LTR_DUEL_HOME", str(tmp_path / "home"))
    checked = []
    monkeypatch.setattr(bandits, "check_compiled", checked.append, raising=False)
    (tmp_path / "p.csv").write_text("0.5,0.7\n0.3,0.5\n")
    words = ("--policy", "steady", "--horizon", "20", "--repetitions", "1", "--out", tmp_path / "out", "--overwrite")
    file = write("steady", examples("own_policy.md")[0])
    for _ in range(2):
        answer = ltr_duel("simulate", tmp_path / "p.csv", "--plugin", file, *words)
        assert answer.code == 0, answer.err
    assert checked == ["steady"]


@COMPILED
def test_a_compiled_method_keeps_the_contract_before_it_is_used_once_for_each_content(
    write, ltr_duel, tmp_path, monkeypatch
):
    monkeypatch.setenv("LTR_DUEL_HOME", str(tmp_path / "home"))
    write_svmlight(make_corpus(queries=4, documents=12, features=3), tmp_path / "c.txt")
    words = ("prefs", "estimate", tmp_path / "c.txt", "--comparisons", "20", "--out", tmp_path / "m.parquet")
    text, last = examples("methods.md")[2], "return float(np.sign(lead)) if abs(lead) > 1e-12 else 0.0"
    assert last in text
    unfair = write("unfair", text.replace(last, "return 1.0"))
    answer = ltr_duel(*words, "--plugin", unfair, "--method", "unfair")
    assert answer.code == 2 and not (tmp_path / "m.parquet").exists()
    assert "method 'unfair': identical rankers do not win one half each" in answer.err
    fair, checked = write("fair", text), []
    monkeypatch.setattr(interleaving, "check_method", checked.append, raising=False)
    for _ in range(2):
        answer = ltr_duel(*words, "--plugin", fair, "--method", "fair", "--overwrite")
        assert answer.code == 0, answer.err
    assert checked == ["fair"]


@pytest.mark.parametrize(
    ("draw", "credit", "sentence"),
    [
        (
            "orders[0][:top], [0] * len(orders[0][:top])",
            "[float('nan')] * 2",
            "credit must return one finite number for each of 2 rankers, not [",
        ),
        ("[99], [0]", "[1, 0]", "documents of the query, and an owner from -1 to 1 for each, not ([99]"),
        ("undefined", "[1, 0]", "wrong.py:3: draw raised NameError: name 'undefined' is not defined"),
    ],
)
def test_a_method_in_plain_python_is_tested_at_each_call(write, ltr_duel, tmp_path, draw, credit, sentence):
    write_svmlight(make_corpus(queries=4, documents=12, features=3), tmp_path / "c.txt")
    file = write(
        "wrong",
        f"from ltr_duel.interleaving import register\ndef draw(orders, top, rng):\n    return {draw}\n"
        f"def credit(orders, shown, clicks, owners):\n    return {credit}\nregister(__name__)\n",
    )
    words = ("--method", "wrong", "--comparisons", "20", "--out", tmp_path / "m.parquet", "--jobs", "1")
    answer = ltr_duel("prefs", "estimate", tmp_path / "c.txt", "--plugin", file, *words)
    assert answer.code == 2 and sentence in answer.err and answer.err.count("\n") == 1
    answer = ltr_duel("check", file)
    assert answer.code == 1 and sentence.partition(" from -1")[0].partition("2 rankers")[0] in answer.out
