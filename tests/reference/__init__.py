"""Slow reference implementations of fast code in the package, written from the papers, not from the fast code."""
