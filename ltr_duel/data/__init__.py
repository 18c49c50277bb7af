"""Feature files become a `Dataset`: readers, corpora, synthetic data.

Nothing here orders documents, clicks or compares.
"""
