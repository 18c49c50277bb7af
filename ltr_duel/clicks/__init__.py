"""Click models: each grade has a click probability and a probability of stopping after the click.

The package contains models with given probabilities, for simulation, and models that are fitted to sessions of real
users. Click models depend only on the shown documents and their order, not on rankers.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = [
    "CLICK_MODELS",
    "ClickFamily",
    "ClickModel",
    "Sessions",
    "check_click_model",
    "click_model",
    "fit_clicks",
    "judge_documents",
]
