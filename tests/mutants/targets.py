"""The mutated files, and the tests that must detect a change of each: few tests, so that a mutant takes seconds."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FLOORS = {"bandits": 90, "interleaving": 42, "preferences": 26, "simulation": 20, "rankers": 14, "clicks": 8}
NOT_MUTATED = {
    "bandits/compiling": "about errors of the compiler, which does not run here",
}
CONSTANTS = "tests/test_constants.py"
RUNS = "bandits/literal bandits/learner simulation/simulate -k rucb or mdb or test_learner or test_simulate"
MEASURED = "rankers/metrics rankers/measures -k not real_data"
# A module: files of tests (literal is tests/bandits/test_literal.py), and pytest's words for some of them.
SEEN_BY = {
    "bandits/batches": "bandits/literal bandits/law -k merge",
    "bandits/cardinal": "bandits/literal bandits/levels -k sparring or doubler or multisbm or test_levels",
    "bandits/check": "bandits/check -k broken or elsewhere or deterministic or global or rucb",
    "bandits/delayed": "bandits/delayed",
    "bandits/learner": "bandits/learner",
    "bandits/loop": RUNS,
    "bandits/oracle": RUNS,
    "bandits/ecw_plans": "bandits/literal -k ecw_rmed",
    "bandits/policy": "bandits/check bandits/learner bandits/plugins -k broken or test_learner or test_plugins",
    "bandits/thompson": "bandits/levels bandits/law bandits/draws bandits/tournament",
    "bandits/recorder": "simulation/regret " + RUNS + " or test_regret",
    "bandits/state": "bandits/state bandits/learner",
    "bandits/statistics": "bandits/literal bandits/law -k rucb or mdb or rmed or ccb or test_law",
    "bandits/tournament": "bandits/tournament bandits/law -k tournament or double_thompson",
    "clicks/check": "clicks/clicks",
    "clicks/model": "clicks/clicks",
    "interleaving/check": "interleaving/check -k broken or two_functions or balanced or sosm",
    "interleaving/comparison": "interleaving/redrawn_ties simulation/live interleaving/edges",
    "interleaving/method": "interleaving/edges interleaving/check -k test_edges or broken or refused",
    "interleaving/page_json": "interleaving/plain -k json or forged or text or page",
    "interleaving/plain": "interleaving/plain -k not law",
    "interleaving/registration": "interleaving/edges interleaving/check -k test_edges or broken or two_functions",
    "interleaving/workspace": "interleaving/edges interleaving/redrawn_ties simulation/live",
    "interleaving/methods/balanced": "interleaving/enumeration -k test_balanced or document_constraints",
    "interleaving/methods/document_constraints": "interleaving/enumeration -k document_constraints",
    "interleaving/methods/optimized": "interleaving/enumeration -k optimized or sensitivity or infeasible",
    "interleaving/methods/optimized_multileave": "interleaving/enumeration -k multileave or optimized",
    "interleaving/methods/pairwise_preference": "interleaving/enumeration -k preference or random_clicks",
    "interleaving/methods/probabilistic": "interleaving/probabilistic",
    "interleaving/methods/sosm": "interleaving/enumeration -k sosm",
    "interleaving/methods/team_draft": "interleaving/enumeration -k team or sosm or random_clicks",
    "preferences/compare": "preferences/compare",
    "preferences/io": "preferences/files preferences/matrix",
    "preferences/matrix": "preferences/matrix preferences/properties preferences/files",
    "preferences/published": "preferences/properties preferences/matrix preferences/synthetic",
    "preferences/synthetic": "preferences/synthetic",
    "preferences/tally": "preferences/confidence preferences/estimate preferences/control",
    "preferences/estimate/api": "preferences/estimate preferences/truth",
    "preferences/estimate/control": "preferences/control preferences/truth",
    "preferences/estimate/counting": "preferences/estimate preferences/truth",
    "preferences/estimate/evaluators": "preferences/truth preferences/estimate",
    "preferences/estimate/settings": "preferences/estimate",
    "preferences/estimate/users": "preferences/users preferences/truth",
    "preferences/properties/bounds": "preferences/properties preferences/matrix preferences/synthetic",
    "preferences/properties/confidence": "preferences/confidence",
    "preferences/properties/intervals": "preferences/confidence",
    "preferences/properties/subsets": "preferences/properties",
    "preferences/properties/summary": "preferences/properties preferences/confidence",
    "preferences/properties/transitivity": "preferences/properties preferences/synthetic",
    "rankers/features": "rankers/features",
    "rankers/measures": MEASURED,
    "rankers/kinds": "rankers/sources rankers/runs",
    "rankers/model_files": "rankers/sources rankers/library_scores",
    "rankers/models": "rankers/sources",
    "rankers/pooled": "rankers/pooled",
    "rankers/rankings": "rankers/features rankers/runs",
    "rankers/records": "rankers/pooled rankers/foreign_text rankers/runs",
    "rankers/runs": "rankers/runs",
    "rankers/scores": "rankers/sources rankers/features",
    "rankers/sources": "rankers/sources",
    "rankers/ties": "rankers/features rankers/runs",
    "simulation/distortion": "simulation/distortion",
    "simulation/simulated_users": "simulation/live",
    "simulation/oracle": "simulation/simulate -k not workers",
    "simulation/regret": "simulation/regret",
    "simulation/results": "simulation/regret simulation/result_summary simulation/simulate",
    "simulation/run": "simulation/simulate simulation/regret",
    "simulation/run_result": "simulation/regret simulation/simulate",
    "simulation/sensitivity": "simulation/sensitivity",
    "simulation/single_run": "simulation/simulate simulation/labels",
    "simulation/statistics": "simulation/result_summary",
    "simulation/utility": "simulation/utility",
}
POLICY_TESTS = "bandits/literal bandits/law bandits/check"
POLICIES = {  # module: words in the names of its tests, if its own name is not sufficient
    "double_thompson": "double_thompson or candidate or tossed",
    "random_baseline": "random",
    "rmed": "rmed1 or rmed2",
    "beat_the_mean": "beat_the_mean or pac",
}
UNFIT = [  # tests that start other processes, which would load the unmutated file, or that inspect the compiler
    *("workers", "another_process", "forked", "compiled_in", "cannot_be_compiled", "compiled_anew", "interrupted"),
]


def mutated_files(floor: str) -> list[str]:
    """Return the source files of a floor, relative to the repository."""
    paths = sorted((ROOT / "ltr_duel" / floor).rglob("*.py"))
    names = [path.relative_to(ROOT).as_posix() for path in paths if path.name != "__init__.py"]
    return [name for name in names if page_of(name) not in NOT_MUTATED]


def page_of(path: str) -> str:
    """Return a file's path within the package, without its ending."""
    return path.removeprefix("ltr_duel/").removesuffix(".py")


def tests_of(path: str) -> list[str]:
    """Return the pytest arguments that select the tests for this file."""
    page = page_of(path)
    name = page.split("/")[-1]
    if page in SEEN_BY:
        seen_by = SEEN_BY[page]
    elif page.startswith("bandits/policies/"):
        seen_by = f"{POLICY_TESTS} -k {POLICIES.get(name, name)}"
    elif page.startswith("clicks/models/"):
        seen_by = "clicks/clicks"
    else:  # a new module: all tests of its floor, until it has a separate line
        floor = page.split("/")[0]
        seen_by = " ".join(f"{floor}/{path.stem[5:]}" for path in sorted((ROOT / "tests" / floor).glob("test_*.py")))
    names, _, words = seen_by.partition(" -k ")
    files = [f"tests/{floor}/test_{file}.py" for floor, file in (name.split("/") for name in names.split())]
    fit = " and ".join(f"not {word}" for word in UNFIT)
    return [CONSTANTS, *files, "-k", f"({words} or test_constants) and {fit}" if words else fit]
