"""Choose how the loop of a policy runs: as compiled code or as plain Python."""

from __future__ import annotations

import functools
import os
import pickle
import pkgutil
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any, NamedTuple, cast

import numpy as np
from numba import types

from ltr_duel.bandits.oracle import SeparateOracle, answer_pair, answer_slate, duel, multiduel
from ltr_duel.bandits.policy import POLICIES, Policy, PolicyError
from ltr_duel.core import (
    InputError,
    IntVector,
    Streams,
    WordsType,
    compile_error,
    interpreted,
    jit,
    kernel_cache,
    progress,
    words_of,
)


def loop_for(
    policy: Policy, loop: Callable[..., Any], oracle: Any = None, *, compiled: bool = True, plain: bool = False
) -> Callable[..., Any]:
    """Return a loop for a policy, as compiled code or as plain Python.

    Compiled loops are stored on disk, and are compiled again if this package is edited. The loop of a policy from
    another package is compiled in each process, because edits of that package would not be noticed. If ``compiled`` is
    False, or if numba cannot compile the policy, the loop is plain Python. If ``plain`` is True, all helpers are plain
    Python too, so that a wrong index raises an error.
    """
    if plain:
        return _plain_loop(policy, loop)
    if not (compiled and policy.compiled):
        return interpreted(loop)
    modules = {part.__module__ for part in (policy.state, *policy.parts.values())} | _modules_of(oracle)
    return _compiled(policy, tuple(sorted(modules)), interpreted(loop))


def _modules_of(value: Any) -> set[str]:
    if not isinstance(value, tuple):
        return set()
    return {type(value).__module__}.union(*map(_modules_of, value)) - {"builtins"}


@functools.cache
def _compiled(owner: Policy | type, modules: tuple[str, ...], function: Callable[..., Any]) -> Any:
    if isinstance(owner, Policy):
        return jit.kernel_for(function, *modules, parts=owner.parts)
    hook: Any = multiduel if function is interpreted(answer_slate) else duel
    return jit.kernel_for(function, *modules, parts={hook.__name__: hook.implementations[owner]})


class Compilation(NamedTuple):
    """Code to compile: the loop of a policy, or the comparisons of a class of oracles."""

    owner: Policy | type
    kernel: Any
    kinds: tuple[Any, ...]  # numba's types of the arguments

    @property
    def address(self) -> int:
        """Where the compiled code is in memory, as a whole number."""
        return int(self.kernel.address(self.kinds))

    @property
    def text(self) -> bytes | None:
        """A message that lets another process compile the code. It is None if there is nothing to compile."""
        policy = isinstance(self.owner, Policy)
        if self.kernel.is_compiled(self.kinds, for_python=policy):
            return None
        name, owner = f"{self.kernel.__module__}:{self.kernel.__qualname__}", getattr(self.owner, "name", self.owner)
        return pickle.dumps((owner, name, tuple(sorted(self.kernel.modules)), self.kinds))


def by_addresses(oracle: Any, streams: Streams, *, sets: bool) -> tuple[Any, IntVector, Compilation]:
    """Prepare an oracle for loops that call its compiled comparisons by their address.

    Return the oracle for the loop, the array that will contain the address, and the code to compile.
    """
    if not hasattr(oracle, "separate"):
        inner, address, code = by_addresses(oracle.oracle, streams, sets=sets)
        return oracle._replace(oracle=inner), address, code
    function, slate, won = answer_slate if sets else answer_pair, types.int64[::1], types.int8[:, ::1]
    owner: Any = type(oracle)
    kernel = _compiled(owner, tuple(sorted(_modules_of(oracle))), interpreted(function))
    words, of_streams = kernel.types_of(oracle, streams)
    rest = (slate, types.int64, won) if sets else (types.int64, types.int64)
    addresses = SeparateOracle(np.zeros(1, np.int64), np.array(words_of(oracle), np.int64))
    return addresses, addresses.code, Compilation(owner, kernel, (WordsType(words), *rest, of_streams))


def compile_ahead(calls: Iterable[Compilation], jobs: int) -> None:
    """Compile code in up to ``jobs`` processes, which store it on disk for this process.

    Processes are used because numba compiles one function at a time in each process. Code that exists, or that cannot
    be stored, is skipped. If a process fails, the code is compiled when it is needed.
    """
    work = list({text: None for call in calls if isinstance(call.kernel, jit.Kernel) and (text := call.text)})
    jobs = min(jobs, len(work))
    if jobs > 1:
        progress.say(jit.LINE)
        with ThreadPoolExecutor(jobs) as threads:
            list(threads.map(_in_a_process, (work[k::jobs] for k in range(jobs))))


def _in_a_process(calls: list[bytes]) -> None:
    code = "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); pickle.load(sys.stdin.buffer)()"
    work = pickle.dumps(sys.path) + pickle.dumps(functools.partial(_compile_all, calls))
    quiet = {**os.environ, "LTR_DUEL_PROGRESS": "0", "LTR_DUEL_HOME": str(kernel_cache.cache_home())}
    subprocess.run([sys.executable, "-c", code], input=work, env=quiet, capture_output=True, check=False)


def _compile_all(calls: list[bytes]) -> None:
    for call in calls:
        owner, name, modules, kinds = pickle.loads(call)
        policy = isinstance(owner, str)
        kernel = _compiled(POLICIES[owner] if policy else owner, modules, interpreted(pkgutil.resolve_name(name)))
        kernel.compile(kinds, for_python=policy)


@functools.cache
def _plain_loop(policy: Policy, loop: Callable[..., Any]) -> Callable[..., Any]:
    return plain_text(loop, {name: plain_text(part) for name, part in policy.parts.items()})


def plain_text(
    function: Callable[..., Any],
    instead: dict[str, Any] | None = None,
    known: dict[Callable[..., Any], Callable[..., Any]] | None = None,
) -> Callable[..., Any]:
    """Return a copy of a function that calls all its compiled helpers as plain Python."""
    known, text = {} if known is None else known, cast(FunctionType, interpreted(function))
    if text in known:
        return known[text]
    names = dict(text.__globals__)
    plain = known[text] = FunctionType(text.__code__, names, text.__name__, text.__defaults__, text.__closure__)
    for name in text.__code__.co_names:
        helper = names.get(name)
        if isinstance(helper, jit.Kernel):
            names[name] = plain_text(helper, known=known)
        elif isinstance(helper, ModuleType) and helper.__name__.startswith("ltr_duel."):
            inner = {part: getattr(helper, part) for part in text.__code__.co_names if hasattr(helper, part)}
            replaced = {part: plain_text(f, known=known) for part, f in inner.items() if isinstance(f, jit.Kernel)}
            names[name] = SimpleNamespace(**(inner | replaced))
    names.update(instead or {})
    return plain


def run_loop(policy: Policy, loop: Callable[..., int], args: tuple[Any, ...]) -> int:
    """Run a loop, and return its result. A loop whose arguments have new types is compiled first.

    Raises `PolicyError` if a function of the policy cannot be compiled, or returns a value that the loop cannot use.
    """
    try:
        return loop(*args)
    except Exception as error:
        if isinstance(loop, jit.Kernel):  # a compiled kernel never raises, so the error comes from its compilation
            _blame(policy, args[0], args[1])
        elif not (isinstance(error, PolicyError) or own_frames(policy, error)):
            file = interpreted(policy.select).__code__.co_filename
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            fault = f"a function of policy '{policy.name}' does not return an arm: {reason}"
            raise PolicyError(f"{file}: {fault}") from error
        raise


def own_frames(policy: Policy, error: BaseException) -> list[traceback.FrameSummary]:
    """Return the frames of a traceback that are in the files of a policy's functions. The innermost comes last."""
    functions = interpreted(policy.init), *policy.parts.values(), *getattr(policy.state, "methods", ())
    files = {function.__code__.co_filename for function in functions}
    return [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in files]


def _blame(policy: Policy, state: Any, params: Any) -> None:
    """Compile the functions of a policy one by one, and raise `PolicyError` for the first that fails."""
    rng, slate, won = np.random.default_rng(0), np.zeros(1, np.int64), np.zeros((1, 1), np.int8)
    rest: dict[str, tuple[Any, ...]] = {
        "select": (1, rng),
        "select_slate": (1, slate, rng),
        "update": (1, 0, 0, 1, rng),
        "update_slate": (1, slate, 1, won, rng),
        "recommend": (),
        "idle_until": (1,),
    }
    for name, function in policy.parts.items():
        if type(state) is not policy.state and name != "recommend":
            continue
        part: Any = jit.uncached_kernel(function)
        failure = f"{name.removesuffix('_slate')} of policy '{policy.name}' cannot be compiled"
        try:
            given = part.compile(part.types_of(state, params, *rest[name]))
        except (InputError, OSError, MemoryError):  # not an error of the compiler
            raise
        except Exception as error:
            raise PolicyError(f"{failure}: {compile_error(function, error)}") from error
        arms, values = 1 + (name == "select"), given if isinstance(given, types.BaseTuple) else [given]
        whole = [isinstance(value, types.Integer) for value in values] == [True] * arms
        if not (whole or name.startswith("update")):
            raise PolicyError(f"{failure}: it returns {given}, not {('a whole number', 'two whole numbers')[arms - 1]}")
