"""Slow, literal versions of what the package does fast. Written from the papers, not from the fast code."""
