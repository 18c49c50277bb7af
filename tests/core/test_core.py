"""Randomness, registries, files, kernels: the foundations of every floor."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from typing import NamedTuple

import numba
import numpy as np
import pytest

from ltr_duel.core import dispatched, implement, interpreted, kernel, kernel_cache, uncached_kernel
from ltr_duel.core import jit as kernels
from ltr_duel.core.components import REGISTRIES, Component, Registry
from ltr_duel.core.errors import InputError, require_between, unknown_name
from ltr_duel.core.files import replacing
from ltr_duel.core.kernel_cache import KernelCacheWarning
from ltr_duel.core.machine import plain_compiler_wanted
from ltr_duel.core.parallel import run_tasks
from ltr_duel.core.random import coin, random_below, stream, uniform
from ltr_duel.core.vector import count_up_to, largest, nth_up_to, random_up_to, sign


def test_streams_are_named_by_seed_and_purpose():
    draws = {stream(*name).random() for name in [(0,), (1,), (0, "a"), (0, "a", 1), (0, "a1"), (0, 1, "a"), (0, "b")]}
    assert len(draws) == 7
    assert stream(3, "x").random() == stream(3, "x").random()


def test_streams_are_stable_across_versions_and_machines():
    # SHA-256 of "0\x1fhello" seeds PCG64; numpy has generated this number since 1.17.
    import hashlib

    seed = int.from_bytes(hashlib.sha256(b"0\x1fhello").digest(), "little")
    assert stream(0, "hello").random() == np.random.Generator(np.random.PCG64(seed)).random()


def test_random_below_is_uniform_and_draws_nothing_when_there_is_no_choice():
    rng = stream(0, "below")
    counts = np.bincount([random_below(6, rng) for _ in range(6000)], minlength=6)
    assert ((counts - 1000) ** 2 / 1000).sum() < 5 + 6 * np.sqrt(10)
    before = rng.bit_generator.state
    assert random_below(1, rng) == 0 and rng.bit_generator.state == before


def test_the_coin_is_fair():
    rng = stream(0, "coin")
    assert abs(sum(coin(rng) for _ in range(10_000))) < 5 * 100


@pytest.mark.parametrize("size", [1, 31, 32, 33, 100])
def test_vector_kernels_agree_with_numpy_compiled_and_interpreted(size):
    values = np.random.default_rng(size).random(size)
    level = float(np.sort(values)[size // 2])
    for run in (lambda f: f, interpreted):
        assert run(largest)(values) == values.max()
        assert run(count_up_to)(values, level) == (values <= level).sum()
        for n, k in enumerate(np.flatnonzero(values <= level)):
            assert run(nth_up_to)(values, level, n) == k


def test_random_up_to_is_uniform_over_those_that_qualify():
    values, rng = np.array([0.1, 0.9, 0.2, 0.3]), stream(0, "pick")
    counts = np.bincount([random_up_to(values, 0.5, 3, rng) for _ in range(3000)], minlength=4)
    assert counts[1] == 0 and ((counts[[0, 2, 3]] - 1000) ** 2 / 1000).sum() < 2 + 6 * 2


class Cat(NamedTuple):
    lives: int


class Dog(NamedTuple):
    bark: float


@dispatched
def count_legs(animal, extra):
    """Legs of an animal."""
    return -1


def _cat(animal, extra):
    return animal.lives + extra


def _dog(animal, extra):
    return 4 + extra


implement(count_legs, Cat, _cat)
implement(count_legs, Dog, _dog)


@kernel
def twice(animal):
    return count_legs(animal, 1) * 2


def test_dispatch_goes_by_class_compiled_and_interpreted():
    for run in (twice, interpreted(twice)):
        assert run(Cat(9)) == 20 and run(Dog(0.5)) == 10


def test_an_implementation_with_another_signature_is_refused():
    with pytest.raises(TypeError, match=r"count_legs takes \(animal, extra\), not \(animal\)"):
        implement(count_legs, Dog, lambda animal: 4)


def test_classes_of_the_same_name_and_fields_are_told_apart_in_compiled_code():
    for legs in (2, 3):
        kind = _class_of_one_name(legs)
        assert twice(kind(9)) == 2 * (legs + 1)


def _class_of_one_name(legs):
    class State(NamedTuple):
        lives: int

    implement(count_legs, State, lambda animal, extra: legs + extra)
    return State


def test_an_instance_of_an_imported_class_is_still_pickled():
    from ltr_duel.bandits.policies import rucb

    for one in (Dog(0.5), rucb.init(3, 0, rucb.Params())):
        again = pickle.loads(pickle.dumps(one))
        assert type(again) is type(one) and all(map(np.array_equal, again, one))


class Inner(NamedTuple):
    wins: np.ndarray


class Outer(NamedTuple):
    state: Inner


implement(count_legs, Inner, lambda animal, extra: extra)


def _first(value):
    return value[0]


def _passed_on(value):
    return first(value)


_first.__module__ = _passed_on.__module__ = "ltr_duel.core.random"  # treated as code of the package
first, passed_on = kernel(_first), kernel(_passed_on)


def test_code_for_classes_from_outside_the_package_is_not_stored(tmp_path, monkeypatch):
    monkeypatch.setattr(kernel_cache, "cache_home", lambda: tmp_path)
    monkeypatch.setattr(Outer, "__module__", "ltr_duel.test")
    forgotten = kernels._cache_folder, kernel_cache.kernel_folder, kernels._is_own
    for function in forgotten:
        function.cache_clear()
    try:
        passed_on(Outer(Inner(np.zeros(2))))
        assert not list(tmp_path.rglob("*.nbc"))
        passed_on(np.ones(2))
        assert len(list(tmp_path.rglob("*.nbc"))) == 2
    finally:
        for function in forgotten:
            function.cache_clear()


@pytest.mark.skipif(plain_compiler_wanted(), reason="the plain compiler counts references")
def test_kernels_are_compiled_without_the_reference_counter():
    compiled = uncached_kernel(interpreted(largest))  # code from the disk cache has no text
    assert compiled(np.ones(3)) == 1.0
    (signature,) = compiled.compiled().signatures
    code = compiled.compiled().inspect_llvm(signature)
    assert "NRT_incref" not in code and "NRT_decref" not in code


@numba.njit
def of_somebody_else(rng):
    return random_below(6, rng), uniform(rng)


def test_functions_of_others_call_kernels_with_a_generator_of_numba():
    assert of_somebody_else(stream(1, "a")) == of_somebody_else.py_func(stream(1, "a"))


def test_a_call_with_wrong_arguments_spoils_no_later_one():
    drawing = kernel(interpreted(random_below))
    with pytest.raises(numba.errors.TypingError):
        drawing(6, None)
    assert drawing(6, stream(1, "a")) == interpreted(random_below)(6, stream(1, "a"))


def test_a_kernel_without_a_name_in_a_module_is_pickled_with_its_text():
    cloudpickle = pytest.importorskip("cloudpickle", reason="needs cloudpickle, which dask brings")
    local = uncached_kernel(lambda x: x + 1)
    assert cloudpickle.loads(cloudpickle.dumps(local))(2) == 3
    assert pickle.loads(pickle.dumps(random_below)) is random_below


def test_where_compiled_code_cannot_be_kept_it_is_compiled_for_the_process(monkeypatch):
    def refused(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(kernels, "_unkept", [])
    doubled = kernel(interpreted(sign))
    doubled._forms[True, True] = refused
    with pytest.warns(KernelCacheWarning, match="compiled code is not kept between runs"):
        assert doubled(2.0, 0.0) == 1


@kernel
def factorial(n):
    if n <= 1:
        return 1
    return n * factorial(n - 1)


@kernel
def above_factorial(n):
    return factorial(n) + 1


def test_a_kernel_that_calls_itself_is_called_by_a_kernel_and_then_by_python():
    assert above_factorial(5) == 121 and factorial(5) == 120


def test_kernels_come_from_the_disk_cache_in_a_second_process(tmp_path):
    script = (
        "import numpy as np\nfrom ltr_duel.core.vector import largest\n"
        "largest(np.ones(3)); print(sum(largest.compiled().stats.cache_hits.values()))"
    )
    environment = {**os.environ, "LTR_DUEL_HOME": str(tmp_path), "NUMBA_DISABLE_JIT": "0"}
    hits = [subprocess.check_output([sys.executable, "-c", script], env=environment, text=True) for _ in range(2)]
    assert [int(h) for h in hits] == [0, 1]
    index = [path for path in tmp_path.rglob("*.nbi") if path.name.startswith("ltr_duel.core.vector.largest")]
    assert len(index) == 1


def test_a_file_appears_whole_or_not_at_all(tmp_path):
    path = tmp_path / "deep" / "file.txt"
    with replacing(path) as temporary:
        temporary.write_text("first")
        assert not path.exists()
    with pytest.raises(RuntimeError), replacing(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert path.read_text() == "first" and [p.name for p in path.parent.iterdir()] == ["file.txt"]


def test_tasks_come_back_in_order_on_any_number_of_workers():
    for jobs in (1, 2, -1):
        answers = run_tasks(lambda x: x * x, range(20), total=20, jobs=jobs, label="squares", unit="square")
        assert list(answers) == [x * x for x in range(20)]
    with pytest.raises(InputError, match="number of jobs must be at least 1"):
        list(run_tasks(abs, [1], total=1, jobs=0, label="", unit=""))


def test_registries_name_the_legal_names():
    registry: Registry[Component] = Registry("thing", "ltr_duel.clicks.models", check="")
    one = registry.add(Component(name="one"))
    REGISTRIES.remove(registry)
    assert registry["one"] is one and "two" not in registry and list(registry) == [one]
    with pytest.raises(InputError, match=r"no thing 'on'; did you mean 'one'\? \(one\)"):
        registry["on"]
    with pytest.raises(InputError, match="a thing named 'one' already exists"):
        registry.add(Component(name="one"))


def test_errors_name_the_value_and_the_range():
    assert str(unknown_name("click model", "xyz", ["a", "b"])) == "no click model 'xyz'; (a, b)"
    with pytest.raises(InputError, match="p must be between 0 and 1, not nan"):
        require_between("p", float("nan"), 0, 1)
    with pytest.raises(InputError, match="n must be at least 2, not 1"):
        require_between("n", 1, 2)


def test_nothing_heavy_is_imported_before_it_is_needed():
    script = (
        "import sys, ltr_duel, ltr_duel.cli.main; print([m for m in ('numpy', 'numba', 'pandas') if m in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", script], text=True).strip() == "[]"
