"""The public corpora, one family per module. A new corpus is one new module that registers itself."""
