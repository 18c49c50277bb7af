"""Simulated users against the running service of a live experiment, which they reach over HTTP like a search page.

Nothing here knows policies or methods, and nothing is ever asked but the service that was named.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["SimulatedUsers", "replay"]
