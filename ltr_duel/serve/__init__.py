"""Live experiments as an HTTP service: endpoints, limits and an HTML page.

`ltr_duel.live` chooses the pages and counts the clicks. Requires the extra ``serve``.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__: list[str] = []  # used through `ltr-duel serve`
