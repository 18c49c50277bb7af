"""Which files are mutated, and which tests have to see it: those of the same room, and of a policy only its own."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FLOORS = {"bandits": 90, "interleaving": 42, "preferences": 26, "simulation": 20, "rankers": 14, "clicks": 8}
NOT_MUTATED = {
    "ltr_duel/bandits/compiling.py": "about errors of the compiler, which does not run here",
    "ltr_duel/interleaving/compiling.py": "about errors of the compiler, which does not run here",
}
CONSTANTS = "tests/test_constants.py"
ALSO = {  # what sees a floor besides its own tests
    "clicks": [CONSTANTS],
    "interleaving": [CONSTANTS, "tests/simulation/test_live.py"],
}
UNFIT = [  # tests that start other processes, which would load the file as it is, or that look at the compiler
    *("workers", "process", "compiled_in", "cannot_be_compiled", "compiled_anew", "interrupted", "real_data"),
]
POLICY_TESTS = ["literal", "law", "choices", "regret_rule", "check"]
POLICIES = {  # page: words in the names of the tests that see it
    "balanced_doubler": "balanced_doubler",
    "beat_the_mean": "beat_the_mean or pac",
    "beat_the_mean_sweeps": "beat_the_mean or pac",
    "double_thompson": "double_thompson or candidate or tossed",
    "doubler": "doubler",
    "multisbm": "multisbm",
    "random_baseline": "random",
    "rmed": "rmed1 or rmed2",
    "rmed2": "rmed2",
    "rucb_icml": "rucb_icml",
    "self_sparring": "self_sparring",
    "sparring": "sparring",
}
SWEEPING = {"beat_the_mean", "beat_the_mean_sweeps", "interleaved_filter", "savage"}
SHARED = {  # parts that several policies share: test files of the floor
    "batches": ["literal", "law"],
    "cardinal": ["literal"],
    "check": ["check"],
    "live": ["live"],
    "loop": ["literal", "live", "check"],
    "oracle": ["literal", "live"],
    "policy": ["check", "live", "plugins"],
    "posterior": ["law", "choices", "draws"],
    "recorder": ["literal", "live", "check"],
    "state": ["state", "live"],
    "statistics": ["literal", "law"],
    "tournament": ["tournament", "law"],
}
RUNS = "rucb or mdb or winner_stays or test_live or test_simulate or test_sweeps"
KEYWORDS = {  # words in the names of those tests
    "batches": "merge",
    "cardinal": "sparring or doubler or multisbm",
    "check": "broken or elsewhere or deterministic or global",
    "loop": RUNS,
    "oracle": RUNS,
    "policy": "broken or test_live or test_plugins",
    "recorder": RUNS,
}


def mutated_files(floor: str) -> list[str]:
    """Return the source files of a floor, relative to the repository."""
    paths = sorted((ROOT / "ltr_duel" / floor).rglob("*.py"))
    names = [path.relative_to(ROOT).as_posix() for path in paths if path.name != "__init__.py"]
    return [name for name in names if name not in NOT_MUTATED]


def tests_of(path: str) -> list[str]:
    """Return the arguments of pytest that select the tests which should see a change of this file."""
    _, floor, *room = path.removesuffix(".py").split("/")
    page = room[-1]
    if floor == "bandits":
        return _tests_of_policy(page) if room[0] == "policies" else _tests_of_part(page)
    tests = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "tests" / floor).glob("test_*.py"))]
    return [*tests, *ALSO.get(floor, []), "-k", " and ".join(f"not {word}" for word in UNFIT)]


def _tests_of_policy(page: str) -> list[str]:
    files = [f"tests/bandits/test_{name}.py" for name in POLICY_TESTS]
    if page in SWEEPING:
        files.append("tests/simulation/test_sweeps.py")
    return [CONSTANTS, *files, "-k", f"({POLICIES.get(page, page)}) and not workers"]


def _tests_of_part(page: str) -> list[str]:
    files = [f"tests/bandits/test_{name}.py" for name in SHARED[page]]
    if KEYWORDS.get(page) is RUNS:
        files += ["tests/simulation/test_simulate.py", "tests/simulation/test_sweeps.py"]
    unfit = " and ".join(f"not {word}" for word in UNFIT)
    return [*files, "-k", f"({KEYWORDS[page]}) and {unfit}" if page in KEYWORDS else unfit]
