"""A simulation does not compile what `warm_up` has compiled."""

import pytest
from numba.core import event

from ltr_duel.bandits import compiling
from ltr_duel.core import InputError, kernel_cache
from ltr_duel.core import jit as kernels
from ltr_duel.simulation import simulate, warm_up
from tests.conftest import bradley_terry

MEMORY = (kernels._cache_folder, kernel_cache.kernel_folder, compiling._compiled)


@pytest.fixture
def no_loop_is_compiled(tmp_path, monkeypatch):
    """Recompile loops, but not their callees, in an unused folder."""
    monkeypatch.setattr(kernel_cache, "cache_home", lambda: tmp_path)
    for remembered in MEMORY:
        remembered.cache_clear()
    yield
    for remembered in MEMORY:
        remembered.cache_clear()


def test_warmed_up_policies_are_not_compiled_again(no_loop_is_compiled):
    assert warm_up(["interleaved_filter", "interleaved_filter"], jobs=1) == ["interleaved_filter"]
    with event.install_recorder("numba:compile") as compiled:
        simulate(bradley_terry(4), "interleaved_filter", horizon=3000, repetitions=3, jobs=1)
    assert not compiled.buffer


def test_nothing_is_compiled_if_one_policy_is_unknown():
    with pytest.raises(InputError, match="no policy 'rcub'; did you mean 'rucb'"):
        warm_up(["random", "rcub"])
