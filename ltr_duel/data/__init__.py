"""Read corpora from files, download public corpora, and make synthetic corpora. A corpus is a `Dataset`."""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)
__all__ = ["Dataset", "ReadOptions", "load_dataset", "make_corpus", "write_svmlight"]
