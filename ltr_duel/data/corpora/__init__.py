"""The public corpora: declarations, terms, download, checks, unpacking."""
