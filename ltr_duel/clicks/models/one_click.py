"""Sessions that end with the first click.

``cascade`` is the model of Craswell, Zoeter, Taylor, Ramsey. An Experimental Comparison of Click Position-Bias Models.
WSDM 2008; it has the click probabilities of ``navigational``. ``first_click`` has the click probabilities of
``perfect``.
"""

from __future__ import annotations

from ltr_duel.clicks.model import CLICK_MODELS, ClickFamily

CLICK_MODELS.add(
    ClickFamily(
        name="first_click",
        tables={2: ((0, 1), (1, 1)), 3: ((0, 0.5, 1), (1, 1, 1)), 5: ((0, 0.2, 0.4, 0.8, 1), (1, 1, 1, 1, 1))},
        cite="hofmann2011probabilistic",
        where="perfect clicks, but the session ends with the first one",
    )
)
CLICK_MODELS.add(
    ClickFamily(
        name="cascade",
        tables={
            2: ((0.05, 0.95), (1, 1)),
            3: ((0.05, 0.5, 0.95), (1, 1, 1)),
            5: ((0.05, 0.3, 0.5, 0.7, 0.95), (1, 1, 1, 1, 1)),
        },
        cite="craswell2008cascade",
        where="with navigational click probabilities",
    )
)
