"""Components are found by name; wrong names and values are answered with one sentence."""

from __future__ import annotations

import sys

import pytest

from ltr_duel.core import digest_of
from ltr_duel.core.components import REGISTRIES, Component, Registry
from ltr_duel.core.errors import InputError, require_between, unknown_name

PAGE = "from rooms import things\nfrom ltr_duel.core.components import Component\n"


@pytest.fixture
def things(tmp_path, monkeypatch):
    """Make a package with the modules 'lamp' and 'chairs' (a stool and a bench)."""
    room = tmp_path / "rooms"
    room.mkdir()
    (room / "__init__.py").write_text("")
    (room / "lamp.py").write_text(f"{PAGE}things.add(Component(name='lamp'))\n")
    (room / "chairs.py").write_text(f"{PAGE}for name in ('stool', 'bench'): things.add(Component(name=name))\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    registry: Registry[Component] = Registry("thing", "rooms", check="")
    REGISTRIES.remove(registry)
    import rooms

    rooms.things = registry
    yield registry
    for name in ("rooms", "rooms.lamp", "rooms.chairs"):
        sys.modules.pop(name, None)


def imported() -> list[str]:
    return [name for name in ("lamp", "chairs") if f"rooms.{name}" in sys.modules]


def test_a_name_that_is_a_module_imports_that_alone(things):
    assert things["lamp"].name == "lamp" and "lamp" in things and things.configure("lamp").label == "lamp"
    assert imported() == ["lamp"]
    assert things["stool"].name == "stool" and imported() == ["lamp", "chairs"]
    assert things.names() == ["bench", "lamp", "stool"]


@pytest.mark.parametrize("name", ["chairs", "__init__", "lamp.py", ["lamp"]])
def test_an_unknown_component_name_is_refused(things, name):
    assert name not in things
    with pytest.raises(InputError, match=r"no thing .*\(bench, lamp, stool\)"):
        things[name]
    with pytest.raises(InputError, match=r"no thing 'mine'; \(.*\); for a custom thing, use --plugin FILE"):
        things["mine"]


def test_the_name_of_a_module_is_taken_before_that_is_imported(things):
    with pytest.raises(InputError, match="a thing named 'lamp' already exists"):
        things.add(Component(name="lamp"))
    mine = things.add(Component(name="mine"))
    assert things["mine"] is mine and imported() == ["lamp"]


NAMES = ("rucb", "merge_rucb", "double_thompson", "team_draft", "navigational", "navigational_fit", "MAP", "NDCG@k")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("MergeRUCB", "merge_rucb"),
        ("nav", "navigational"),
        ("teamdarft", "team_draft"),
        ("NDGC@10", "NDCG@k"),
        ("-", ""),
        ("PI", ""),
    ],
)
def test_an_unknown_name_is_answered_with_the_name_that_is_meant(typed, meant):
    hint = f" did you mean '{meant}'?" if meant else ""
    assert str(unknown_name("thing", typed, NAMES)) == f"no thing '{typed}';{hint} ({', '.join(NAMES)})"
    valid = "x prints all" if meant else ", ".join(NAMES)
    assert str(unknown_name("thing", typed, NAMES, command="x")) == f"no thing '{typed}';{hint} ({valid})"


def test_require_between_names_the_value_and_the_range():
    with pytest.raises(InputError, match="p must be between 0 and 1, not nan"):
        require_between("p", float("nan"), 0, 1)
    with pytest.raises(InputError, match="n must be at least 2, not 1"):
        require_between("n", 1, 2)


def test_json_digests_are_stable_across_versions():
    assert digest_of([1, 2])[:8] == "3a316d6d"
    assert digest_of({"seed": 1, "policy": "rucb"}) == digest_of({"policy": "rucb", "seed": 1})
    with pytest.raises(TypeError, match="not JSON serializable"):
        digest_of({"what": object()})
