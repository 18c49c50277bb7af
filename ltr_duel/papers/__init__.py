"""The papers: figure files, measures, claims, verdicts, ledger and their pages. Reads what the floors below export.

Nothing that a user's own experiment needs lives here, and nothing but the command line imports it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
