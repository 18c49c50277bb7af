"""Simulated users of a live experiment: over HTTP, like a search page, at one given service; or by its plans."""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["SimulatedUsers", "replay"]
