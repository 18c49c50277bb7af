"""An experiment behind a search page: a policy chooses rankers, lists are interleaved, every click is counted once.

decide -> page with a token -> record -> outcome -> policy; all of it in one file that survives the process. Nothing
here speaks HTTP.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = [
    "Decide",
    "Decision",
    "Experiment",
    "ExpiredError",
    "Keys",
    "Record",
    "Recorded",
    "Settings",
    "State",
    "StoreError",
    "TokenError",
    "UsedError",
    "check_store",
    "live_policy",
    "read_keys",
    "read_settings",
    "write_settings",
]
