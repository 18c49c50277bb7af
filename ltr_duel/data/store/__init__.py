"""Corpora converted to arrays: written once, opened in milliseconds, identified by digests of their source files."""
