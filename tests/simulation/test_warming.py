"""A simulation does not compile what `warm-up` has compiled."""

import pytest
from numba.core import event

from ltr_duel.bandits import compiling
from ltr_duel.cli.main import main
from ltr_duel.core import jit as kernels
from ltr_duel.core import kernel_cache
from ltr_duel.core.errors import InputError
from ltr_duel.simulation.run import simulate, warm_up
from tests.conftest import bradley_terry


@pytest.fixture
def no_loop_is_compiled(tmp_path, monkeypatch):
    """Recompile loops, but not their callees, in an unused folder."""
    monkeypatch.setattr(kernel_cache, "cache_home", lambda: tmp_path)
    for remembered in (kernels._cache_folder, kernel_cache.kernel_folder, compiling._compiled):
        remembered.cache_clear()
    yield
    for remembered in (kernels._cache_folder, kernel_cache.kernel_folder, compiling._compiled):
        remembered.cache_clear()


def test_what_was_warmed_up_is_not_compiled_again(no_loop_is_compiled, capsys):
    with pytest.raises(SystemExit) as ended:
        main("warm-up", "interleaved_filter", "interleaved_filter", "--jobs", "1")
    assert ended.value.code == 0 and capsys.readouterr().out.startswith("1 compiled in ")
    matrix = bradley_terry(4)
    with event.install_recorder("numba:compile") as compiled:
        simulate(matrix, "interleaved_filter", horizon=3000, repetitions=3, jobs=1)
    assert not compiled.buffer


def test_other_processes_compile_as_well():
    assert sorted(warm_up(["random", "multisbm"], jobs=2)) == ["multisbm", "random"]


def test_nothing_is_compiled_if_one_policy_is_unknown(capsys):
    with pytest.raises(InputError, match="no policy 'rcub'; did you mean 'rucb'"):
        warm_up(["random", "rcub"])
    with pytest.raises(SystemExit) as ended:
        main("warm-up", "rcub")
    assert ended.value.code == 2 and "rcub" in capsys.readouterr().err
