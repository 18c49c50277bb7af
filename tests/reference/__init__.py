"""Slow reference implementations of what the package does fast. Written from the papers, not from the fast code."""
