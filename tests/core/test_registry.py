"""A registry imports the module of a requested component, or all modules if the name does not determine it."""

from __future__ import annotations

import importlib.metadata
import sys

import pytest

from ltr_duel.core.components import REGISTRIES, Component, Registry
from ltr_duel.core.errors import InputError

PAGE = "from rooms import things\nfrom ltr_duel.core.components import Component\n"


class Announced:
    """An entry point of an installed package."""

    name, value = "outside", "outside.module"

    def load(self):
        sys.modules["rooms"].things.add(Component(name="outside"))


@pytest.fixture
def things(tmp_path, monkeypatch):
    """Make a package with the modules 'lamp' and 'chairs' (a stool and a bench), and an installed plug-in."""
    room = tmp_path / "rooms"
    room.mkdir()
    (room / "__init__.py").write_text("")
    (room / "lamp.py").write_text(f"{PAGE}things.add(Component(name='lamp'))\n")
    (room / "chairs.py").write_text(f"{PAGE}for name in ('stool', 'bench'): things.add(Component(name=name))\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [Announced()])
    monkeypatch.setattr("ltr_duel.core.components._installed", set())
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
    assert things.names() == ["bench", "lamp", "outside", "stool"] and imported() == ["lamp", "chairs"]


def test_a_name_like_no_other_may_be_one_of_a_plugin(things):
    with pytest.raises(InputError, match=r"no thing 'mine'; \(.*\); for a custom thing, use --plugin FILE"):
        things["mine"]
    with pytest.raises(InputError, match=r"did you mean 'stool'\? \(bench, lamp, outside, stool\)$"):
        things["stol"]


@pytest.mark.parametrize("name", ["stool", "outside"])
def test_any_other_name_imports_all(things, name):
    assert things[name].name == name and imported() == ["lamp", "chairs"]


@pytest.mark.parametrize("name", ["chairs", "__init__", "lam", "", "lamp.py", ["lamp"], 3])
def test_a_module_without_a_component_of_its_name_is_no_name(things, name):
    assert name not in things
    with pytest.raises(InputError, match=r"no thing .*bench, lamp, outside, stool"):
        things[name]


def test_a_name_of_a_module_is_taken_before_that_is_imported(things):
    with pytest.raises(InputError, match="a thing named 'lamp' already exists"):
        things.add(Component(name="lamp"))
    mine = things.add(Component(name="mine"))
    assert things["mine"] is mine and imported() == ["lamp"]
