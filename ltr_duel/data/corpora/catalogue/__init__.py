"""The public corpora, one family per module. To add a corpus, add a module that registers it."""
