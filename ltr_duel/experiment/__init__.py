"""Experiments: a TOML file describes the runs, a folder stores their results, and existing results are reused.

spec.toml -> Spec -> problems (matrices, rankings) -> Schedule -> tasks -> workers -> Store -> StudyResults

The package does not depend on how policies and comparison methods work.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["StudyResults", "make_schedule", "read_spec", "run_experiment"]
