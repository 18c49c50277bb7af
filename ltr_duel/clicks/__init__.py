"""Click models: a grade becomes a probability to click, and to stop after the click.

Nothing here knows rankers or lists beyond "these documents, in this order".
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = [
    "CLICK_MODELS",
    "ClickFamily",
    "ClickModel",
    "check_click_model",
    "click_model",
    "simulate_clicks",
    "users_of",
]
