"""A live experiment as a service over HTTP: addresses, limits, a page for people.

Nothing here decides or counts: that is `ltr_duel.live`. Needs the extra ``serve``.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__: list[str] = []  # the door is `ltr-duel serve`
