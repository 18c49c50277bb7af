"""Simulated users of a live experiment, who use its service over HTTP like a search page, or who follow its plans."""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["SimulatedUsers", "replay"]
