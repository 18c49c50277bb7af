"""Experiments: what to run (a TOML file), where results lie (a folder), what is still to do.

spec.toml -> Spec -> problems (matrices, rankings) -> Plan -> tasks -> backend -> Store -> StudyResults

Nothing here draws pictures, and nothing here knows how a policy or a comparison works.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = [
    "Backend",
    "Plan",
    "Report",
    "StudyResults",
    "duration",
    "environment",
    "make_plan",
    "read_spec",
    "run_experiment",
]
