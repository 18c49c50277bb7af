"""Feature files become a `Dataset`: readers, corpora, synthetic data.

Nothing here orders documents, clicks or compares.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)
__all__ = [
    "CORPORA",
    "Archive",
    "Corpus",
    "Dataset",
    "Naming",
    "ReadOptions",
    "check_corpus",
    "convert",
    "describe",
    "load_dataset",
    "make_corpus",
    "open_converted",
    "write_svmlight",
]
