"""Reproduction of papers: figure files, measures, claims, verdicts, the ledger of claims, and their pages.

This package imports only the exports of other packages. Only the command line imports it, so users' experiments do
not need it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
