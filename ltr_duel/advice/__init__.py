"""What to deploy for your own rankers, found by simulating it: how sure it is, what it costs users, when one knows.

A client of what the floors below export; nothing but the command line imports it.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)
__all__ = ["Advice", "advise", "try_candidates"]
