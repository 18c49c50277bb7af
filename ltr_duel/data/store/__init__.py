"""Corpora converted to arrays: written once, opened in milliseconds, bound to their source files."""
