"""Simulated users, who search and click in a live experiment of this process, or follow its plans."""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["SimulatedUsers", "replay"]
