"""Kernels: dispatch by class, Generators, the disk cache, and what invalidates it."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
import tomllib
import warnings
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import pytest

from ltr_duel.core import Streams, compiler, dispatched, implement, interpreted, kernel, kernel_cache, uncached_kernel
from ltr_duel.core.kernel_cache import FLOORS, ROOT, KernelCacheWarning, kernel_folder
from ltr_duel.core.random import random_below, stream, uniform
from ltr_duel.core.vector import largest


class Cat(NamedTuple):
    lives: int


class Dog(NamedTuple):
    wins: np.ndarray


@dispatched
def count_legs(animal, extra):
    """Legs of an animal."""
    return -1


implement(count_legs, Cat, lambda animal, extra: animal.lives + extra)
implement(count_legs, Dog, lambda animal, extra: 4 + extra)


@kernel
def twice(animal):
    return count_legs(animal, 1) * 2


def test_dispatch_is_by_class_compiled_and_interpreted():
    for run in (twice, interpreted(twice)):
        assert run(Cat(9)) == 20 and run(Dog(np.ones(1))) == 10
    with pytest.raises(TypeError, match=r"count_legs takes \(animal, extra\), not \(animal\)"):
        implement(count_legs, Dog, lambda animal: 4)


@kernel
def write_legs(dog):
    wins, at, extra, factor = dog.wins, 0, 1, 2  # Python builds a tuple of four, but not of three
    wins[at] = count_legs(dog, extra) * factor


def test_a_write_to_an_array_from_a_tuple_is_kept_though_numba_inlines_a_function():
    dog = Dog(np.zeros(1))
    write_legs(dog)
    assert dog.wins[0] == 10


def class_of_one_name(legs):
    class State(NamedTuple):
        lives: int

    implement(count_legs, State, lambda animal, extra: legs + extra)
    return State


def test_compiled_code_distinguishes_classes_of_the_same_name_and_fields():
    assert [twice(class_of_one_name(legs)(9)) for legs in (2, 3)] == [6, 8]


def test_instances_of_renamed_classes_are_pickled():
    from ltr_duel.bandits.policies import rucb

    for state in (Cat(5), rucb.init(3, 0, rucb.Params())):
        again = pickle.loads(pickle.dumps(state))
        assert type(again) is type(state) and all(map(np.array_equal, again, state))


@pytest.mark.skipif("plain" in compiler(), reason="the plain compiler counts references")
def test_kernels_are_compiled_without_the_reference_counter():
    compiled = uncached_kernel(interpreted(largest))  # code from the disk cache has no text
    assert compiled(np.ones(3)) == 1.0
    (code,) = compiled.compiled().inspect_llvm().values()
    assert "NRT_incref" not in code and "NRT_decref" not in code


@kernel
def draws(rng, streams, drawn):
    for k in range(drawn.shape[0]):
        drawn[k] = uniform(rng)
    return rng.random(), streams.policy.random()


@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.MT19937])
def test_numbers_and_states_of_generators_are_those_of_numpy(bits):
    ours, theirs = (np.random.Generator(bits(7)) for _ in range(2))
    for rng in (ours, theirs):
        rng.random(dtype=np.float32)  # leaves 32 bits in a buffer
    drawn, streams = np.zeros(1000), Streams(*(stream(1, name) for name in Streams._fields))
    before, numbers = sys.getrefcount(ours), theirs.random(1001)
    assert draws(ours, streams, drawn) == (numbers[1000], stream(1, "policy").random())
    assert drawn.tolist() == numbers[:1000].tolist() and sys.getrefcount(ours) == before
    assert ours.integers(2**31, dtype=np.uint32) == theirs.integers(2**31, dtype=np.uint32)
    assert ours.random() == theirs.random()


@numba.njit
def foreign(rng):
    return random_below(6, rng), uniform(rng)


def test_functions_of_other_packages_call_kernels_with_a_generator_of_numba():
    assert foreign(stream(1, "a")) == foreign.py_func(stream(1, "a"))


def test_a_call_with_wrong_arguments_spoils_no_later_one():
    with pytest.raises(numba.errors.TypingError):
        random_below(6, None)
    assert random_below(n=6, rng=stream(1, "a")) == interpreted(random_below)(6, stream(1, "a"))


def test_a_kernel_without_a_name_in_a_module_is_pickled_with_its_text():
    cloudpickle = pytest.importorskip("cloudpickle", reason="needs cloudpickle, which dask brings")
    assert cloudpickle.loads(cloudpickle.dumps(uncached_kernel(lambda x: x + 1)))(2) == 3
    assert pickle.loads(pickle.dumps(random_below)) is random_below


@kernel
def factorial(n):
    return 1 if n <= 1 else n * factorial(n - 1)


@kernel
def above_factorial(n):
    return factorial(n) + 1


def test_a_kernel_that_calls_itself_is_called_by_a_kernel_and_then_by_python():
    assert above_factorial(5) == 121 and factorial(5) == 120


def below(x):
    return x[0] + 1


def above(x):
    return 2 * below(x)


below.__module__, above.__module__ = "ltr_duel.core.random", "ltr_duel.bandits.loop"  # as code of two floors


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Return an empty home folder, where kernels are stored."""
    monkeypatch.setattr(kernel_cache, "cache_home", lambda: tmp_path)
    for function in (kernel_folder, kernel_cache.warn_of_cache):
        function.cache_clear()
    yield tmp_path
    kernel_folder.cache_clear()


def hits_of_a_new_process(x, monkeypatch):
    """Call two new kernels, each stored in its own folder; return how many of them were loaded from the disk."""
    inner, outer = kernel(below), kernel(above)
    monkeypatch.setitem(above.__globals__, "below", inner)
    assert outer(x) == 10 and inner(x) == 5
    monkeypatch.undo()
    return [sum(form.compiled().stats.cache_hits.values()) for form in (inner, outer)]


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", [lambda content: content[:-9], lambda content: b"~" * 99])
def test_after_an_unreadable_file_all_kernels_are_compiled_and_stored_again(home, ending, damage):
    with pytest.MonkeyPatch.context() as patch:
        x = np.full(1, 4)
        assert [hits_of_a_new_process(x, patch) for _ in range(2)] == [[0, 0], [1, 1]]
        files = sorted(home.rglob(f"*.{ending}"))
        for file in files:
            file.write_bytes(damage(file.read_bytes()))
        assert [hits_of_a_new_process(x, patch) for _ in range(2)] == [[0, 0], [1, 1]]
        assert sorted(home.rglob(f"*.{ending}")) == files and len(files) == 3  # `below` has two forms


def test_code_for_classes_from_outside_the_package_is_not_stored(home):
    with pytest.MonkeyPatch.context() as patch:
        assert hits_of_a_new_process((4, Cat(9)), patch) == [0, 0]
    assert not list(home.rglob("*.nbc"))


def test_code_is_compiled_for_the_process_if_it_cannot_be_stored(home, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile.save", full)
    with pytest.warns(KernelCacheWarning, match="compiled code is not kept between runs: .*No space left") as caught:
        assert kernel(interpreted(largest))(np.ones(2)) == 1.0
    assert len(caught) == 1


@pytest.mark.parametrize("fault", ["others write", "link", "another user", "read-only"])
def test_a_folder_that_is_not_of_the_user_alone_is_not_used(home, monkeypatch, fault):
    (home / "there").mkdir()
    (home / "kernels").symlink_to(home / "there") if fault == "link" else (home / "kernels").mkdir()
    (home / "kernels").chmod(0o702 if fault == "others write" else 0o755)
    if fault == "another user":
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    if fault == "read-only":
        monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    with pytest.warns(KernelCacheWarning, match=f"{home}/kernels is not a folder that only you can write to; delete"):
        assert kernel_folder(frozenset({"ltr_duel.core.vector"}), "") == ""
    with warnings.catch_warnings(action="error"):  # said once
        assert kernel_folder(frozenset({"ltr_duel.bandits.loop"}), "") == ""


@pytest.mark.long
def test_kernels_come_from_the_disk_in_a_second_process(tmp_path):
    script = (
        "import numpy as np\nfrom ltr_duel.core.vector import largest\n"
        "largest(np.ones(3)); print(sum(largest.compiled().stats.cache_hits.values()))"
    )
    environment = {**os.environ, "LTR_DUEL_HOME": str(tmp_path), "NUMBA_DISABLE_JIT": "0"}
    hits = [subprocess.check_output([sys.executable, "-c", script], env=environment, text=True) for _ in range(2)]
    assert [int(hit) for hit in hits] == [0, 1]
    (folder,) = (tmp_path / "kernels").iterdir()
    assert [path.stat().st_mode & 0o777 for path in (folder, folder.parent)] == [0o700, 0o700]


def test_floors_with_kernels_are_listed_in_the_order_of_the_layers():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    order = [floor.strip() for layer in reversed(layers) for floor in layer.split("|")]
    marks = re.compile(r"^@(kernel|inlined|outlined|dispatched)", re.M)
    floors = {file.relative_to(ROOT).parts[0] for file in ROOT.rglob("*.py") if marks.search(file.read_text("utf-8"))}
    assert list(FLOORS) == sorted(floors, key=order.index)


@pytest.mark.parametrize(
    "edited, changed",  # kernels of core, of the simulation loop, and of the loop of a policy
    [
        ("core/random.py", [True, True, True]),
        ("bandits/recorder.py", [False, True, True]),
        ("bandits/policies/rcs.py", [False, False, True]),
        ("clicks/model.py", [False, False, False]),
    ],
)
def test_an_edit_invalidates_the_kernels_of_its_floor_and_of_floors_above(monkeypatch, edited, changed):
    modules = ("core.vector",), ("bandits.loop",), ("bandits.loop", "bandits.policies.rucb")
    read, digests = kernel_cache._read, []
    for name in ("", edited):
        monkeypatch.setattr(kernel_cache, "_read", lambda file, name=name: read(file) + b"#" * (file == name))
        kernel_cache._floor_digest.cache_clear()
        digest = kernel_cache.kernel_digest.__wrapped__
        digests.append([digest(frozenset(f"ltr_duel.{module}" for module in names), "") for names in modules])
    kernel_cache._floor_digest.cache_clear()
    assert [before != after for before, after in zip(*digests, strict=True)] == changed
