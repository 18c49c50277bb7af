"""Choose a policy and a comparison method before an experiment, by simulating the experiment."""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)
__all__ = ["Advice", "advise"]
