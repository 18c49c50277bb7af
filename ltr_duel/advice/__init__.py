"""Find out, before an experiment, which policy and which comparison method to deploy, by simulating the experiment.

No other package except the command line imports this one. It uses only what lower layers export.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)
__all__ = ["Advice", "advise"]
