"""Reproduction of papers: figure files, measures, claims, verdicts, the ledger of claims, and their pages.

This package uses only the exports of lower layers, and only the command line imports it; experiments of users do not
need it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
