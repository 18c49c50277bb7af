"""Live experiments on a search page: a policy chooses rankers, their lists are interleaved, clicks are counted once.

decide -> page with a token -> record -> outcome -> policy; all state is in one file that survives the process. HTTP is
in `ltr_duel.serve`.
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
