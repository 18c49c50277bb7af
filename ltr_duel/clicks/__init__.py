"""Click models: a grade becomes a probability to click, and to stop after the click.

Models of given probabilities, for simulation; and models that are fitted to sessions of real users. Nothing here knows
rankers or lists beyond "these documents, in this order".
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
]
