"""Simulated users of a live experiment, who call its service over HTTP, as a search page does, or follow its plans."""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["SimulatedUsers", "replay"]
