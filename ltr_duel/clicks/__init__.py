"""Click models, which simulate users: for each relevance grade, how likely users click and how likely they then stop.

The package contains models with probabilities from the literature, and fits models to sessions of real users. Clicks
depend only on the shown documents and their order, not on the rankers.
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
