"""The papers: figures declared in `experiments`, run at two scales, and what each paper prints beside what we measure.

`figure`, `study`, `measured`, `row` and the sources of data are the vocabulary of the files of figures.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
