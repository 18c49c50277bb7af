"""Live experiments on a search page: a policy chooses rankers, their lists are interleaved, clicks are counted once.

`Experiment.decide` returns a page with a token. `Experiment.record` receives the clicks on the page and passes the
outcome to the policy. All state is in one file, so a new process can continue. The HTTP service is `ltr_duel.serve`.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = [
    "Decide",
    "Decision",
    "Experiment",
    "ExpiredError",
    "Keys",
    "LiveState",
    "Record",
    "Recorded",
    "Settings",
    "StoreError",
    "TokenError",
    "UsedError",
    "check_store",
    "live_policy",
    "read_keys",
    "read_settings",
    "write_settings",
]
