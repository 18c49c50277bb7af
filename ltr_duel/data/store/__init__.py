"""Corpora converted to arrays: written once, opened in milliseconds, bound to the files that they came from."""
