"""Run policies on problems many times. A TOML file describes the runs, and a folder keeps their results.

A problem is a preference matrix, a corpus with its rankers, or a set of arms with random utilities. A run whose result
is in the folder is not repeated.

spec.toml -> Spec -> problems (matrices, rankings) -> Schedule -> tasks -> workers -> Store -> StudyResults
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["StudyResults", "make_schedule", "read_spec", "run_experiment"]
