"""A policy against an oracle, for T steps; regret from pulls.

Nothing here reads files or draws pictures.
"""
