"""Plug-in files: registered components can be named, and errors are one sentence."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import numba
import pytest

from ltr_duel import bandits, interleaving
from ltr_duel.bandits import POLICIES
from ltr_duel.clicks import CLICK_MODELS
from ltr_duel.core import InputError, compiler, load_plugin, plugins, reload_plugin
from ltr_duel.data import make_corpus, write_svmlight
from ltr_duel.interleaving import METHODS
from tests.site.snippets import DOCS, python_code

KINDS: tuple[Any, ...] = (POLICIES, METHODS, CLICK_MODELS)
COMPILED = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="what is not compiled loses no writes")
CLICKS = """
from ltr_duel.clicks import CLICK_MODELS, ClickFamily

TABLES = {{2: ((0.1, 0.8), (0.0, 0.9)), 3: ((0.1, 0.4, 0.8), (0.0, 0.5, 0.9))}}
CLICK_MODELS.add(ClickFamily(name="{name}", tables=TABLES))
"""
FEW = ("--comparisons", "20", "--jobs", "1")


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


@pytest.fixture
def few(tmp_path):
    """Write a corpus of few queries, and return the words that estimate a matrix from it."""
    write_svmlight(make_corpus(queries=4, documents=12, features=3, grades=3), tmp_path / "c.txt")
    return ("prefs", "estimate", tmp_path / "c.txt", *FEW, "--out", tmp_path / "m.parquet", "--overwrite")


def examples(page):
    """Return the Python examples of a page of docs/ that register something."""
    return [block for block in python_code(DOCS / page) if "register(__name__" in block or ".add(" in block]


@pytest.mark.parametrize(
    ("page", "number"), [("own_policy.md", 0), ("click_models.md", 0), *(("methods.md", number) for number in range(3))]
)
def test_the_plugins_in_the_docs_keep_the_contracts(write, page, number):
    plugin = load_plugin(write(f"from_the_docs_{number}", examples(page)[number]))
    ((kind, name),) = plugin.components
    {registry.kind: registry for registry in KINDS}[kind].check(name)
    assert (kind, name) in plugin.components


def test_only_what_the_file_adds_is_counted_even_if_it_is_the_first_to_import(tmp_path):
    path = tmp_path / "users.py"
    path.write_text("from ltr_duel.interleaving import METHODS, Comparer\nMETHODS['sosm']\n" + CLICKS.format(name="a"))
    command = [sys.executable, "-m", "ltr_duel.cli.main", "check", str(path)]
    assert subprocess.check_output(command, text=True) == "click model 'a' satisfies the contract\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("x = 1", "registers no component"),
        ("def (", "SyntaxError"),
        ("raise SystemExit", "SystemExit"),
        (CLICKS.format(name="good") + CLICKS.format(name="perfect"), "a click model named 'perfect' already exists"),
        ("from ltr_duel.interleaving import register\nregister(__name__)", "defines neither draw and credit, nor"),
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


def test_an_edited_file_replaces_the_components_of_its_earlier_version(write):
    load_plugin(write("users", CLICKS.format(name="kept") + CLICKS.format(name="dropped")))
    edited = CLICKS.format(name="kept").replace("0.8", "0.9") + CLICKS.format(name="new")
    assert load_plugin(write("users", edited)).components == (("click model", "kept"), ("click model", "new"))
    assert CLICK_MODELS["kept"].tables[2] == ((0.1, 0.9), (0.0, 0.9)) and "dropped" not in CLICK_MODELS


def test_after_a_faulty_edit_the_components_of_the_earlier_version_remain(write):
    good = CLICKS.format(name="mine")
    plugin, item, module = load_plugin(write("users", good)), CLICK_MODELS["mine"], "ltr_duel_plugin_users"
    loaded = sys.modules[module]
    with pytest.raises(InputError, match="ValueError: half-way"):
        load_plugin(write("users", CLICKS.format(name="other") + "raise ValueError('half-way')"))
    assert CLICK_MODELS["mine"] is item and "other" not in CLICK_MODELS and sys.modules[module] is loaded
    assert load_plugin(write("users", good)) is plugin


METHOD = """
from ltr_duel.interleaving import register
def draw(orders, top, rng):
    return {draw}
def credit(orders, shown, clicks, owners):
    return {credit}
register(__name__)
"""


def test_an_edited_method_shows_the_lists_of_its_new_version(write):
    for shown in (0, 1):
        draw = f"orders[{shown}][:top], [{shown}] * len(orders[0][:top])"
        load_plugin(write("only_one", METHOD.format(draw=draw, credit="[1.0, 0.0]")))
        page = interleaving.interleave({"a": [1, 2, 3], "b": [3, 2, 1]}, method="only_one", seed=1)
        assert list(page.shown) == [[1, 2, 3], [3, 2, 1]][shown]


@pytest.mark.parametrize(
    ("draw", "credit", "sentence"),
    [
        (
            "orders[0][:top], [0] * len(orders[0][:top])",
            "[float('nan')] * 2",
            "credit must return one finite number for",
        ),
        ("[99], [0]", "[1, 0]", "documents of the query, and an owner from -1 to 1 for each, not ([99]"),
        ("undefined", "[1, 0]", "wrong.py:4: draw raised NameError: name 'undefined' is not defined"),
    ],
)
def test_a_method_in_plain_python_is_tested_at_each_call(write, ltr_duel, refuse, few, draw, credit, sentence):
    file = write("wrong", METHOD.format(draw=draw, credit=credit))
    refuse(sentence, *few, "--plugin", file, "--method", "wrong")
    answer = ltr_duel("check", file)
    assert answer.code == 1 and sentence.partition(" from -1")[0].partition(" for")[0] in answer.out


def test_methods_and_click_models_from_files_are_named_on_the_command_line(write, succeed, few, tmp_path):
    plain = METHOD.format(draw="orders[0][:top], [0] * len(orders[0][:top])", credit="[1.0, 0.0]")
    words = ("--plugin", write("mine", plain), "--plugin", write("users", CLICKS.format(name="careful")))
    succeed(*few, *words, "--method", "mine", "--clicks", "careful:position_bias=0.5")
    about = succeed("prefs", "show", tmp_path / "m.parquet", "--explain")
    assert "method: mine" in about and "position_bias: 0.5" in about and "p_click: 0.1, 0.4, 0.8" in about
    listed = succeed("list", "clicks", "careful", *words)
    assert listed.startswith("careful\n") and "0.1 0.8; 0.1 0.4 0.8" in listed


def test_check_says_line_by_line_what_keeps_its_contract(write, ltr_duel, refuse):
    bad = CLICKS.format(name="worse").replace("(0.1, 0.8)", "(0.8, 0.1)")
    answer = ltr_duel("check", write("models", CLICKS.format(name="better") + bad))
    assert answer.code == 1 and answer.out.splitlines() == [
        "click model 'better' satisfies the contract",
        "click model 'worse', 2 grades: a better document is clicked less: (0.8, 0.1)",
    ]
    refuse("ModuleNotFoundError", "check", write("broken", "import no_such_thing"))


@COMPILED
@pytest.mark.skipif("plain" in compiler(), reason="the plain compiler counts references: kernels may allocate")
@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("document = start + page.shown", "scratch = np.zeros(3)\n        document = start + page.shown", "zeros"),
        ("np.zeros(size.longest, np.uint8)", "[0] * size.longest", r"plug\.py:\d+: "),
    ],
)
def test_a_method_that_cannot_be_compiled_is_one_sentence(write, ltr_duel, few, old, new, sentence):
    text = examples("methods.md")[2]
    assert old in text
    answer = ltr_duel(*few, "--plugin", write("plug", text.replace(old, new)), "--method", "plug")
    assert answer.code == 2 and re.fullmatch(f"ltr-duel: method 'plug': .*{sentence}.*\n", answer.err), answer.err


@COMPILED
def test_a_compiled_method_that_is_unfair_is_not_used(write, refuse, few, tmp_path):
    text, last = examples("methods.md")[2], "return float(np.sign(lead)) if abs(lead) > 1e-12 else 0.0"
    assert last in text
    unfair = write("unfair", text.replace(last, "return 1.0"))
    refuse("method 'unfair': identical rankers do not win one half each", *few, "--plugin", unfair)
    assert not (tmp_path / "m.parquet").exists()


@COMPILED
def test_plugins_of_a_run_are_checked_too(write, refuse, monkeypatch, tmp_path):
    def refuse_policy(name):
        raise InputError(f"{name} is checked")

    monkeypatch.setattr(bandits, "check_compiled", refuse_policy, raising=False)
    spec = "policies = ['steady']\nhorizon = 5\nrepetitions = 1\nplugins = ['steady.py']\n"
    (tmp_path / "spec.toml").write_text(spec + "utilities = [{ set = '1good5poor' }]")
    write("steady", examples("own_policy.md")[0])
    refuse("steady is checked", "run", tmp_path / "spec.toml", "--out", tmp_path / "out")
