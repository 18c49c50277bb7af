"""Present results as tables, figures and web pages. Nothing is simulated here."""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)
__all__ = [
    "latex_table",
    "plot_accuracy",
    "plot_against_arms",
    "plot_facets",
    "plot_identification",
    "plot_preferences",
    "plot_ratings",
    "plot_regret",
    "plot_sensitivity",
    "save_figure",
    "summary_table",
]
