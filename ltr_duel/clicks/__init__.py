"""Click models simulate users: for each relevance grade, they say how likely users click, and how likely they stop.

You can use models from the literature, or fit a model to sessions of real users.
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
