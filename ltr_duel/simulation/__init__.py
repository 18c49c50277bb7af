"""A policy against an oracle, for T steps; regret from pulls.

Nothing here reads files or draws pictures.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)
__all__ = [
    "FromMatrix",
    "FromUtilities",
    "Live",
    "NormalScores",
    "OracleSource",
    "Results",
    "RunResult",
    "averaged",
    "checkpoints",
    "compare_with_best",
    "final_rows",
    "measure_distortion",
    "measure_sensitivity",
    "simulate",
]
