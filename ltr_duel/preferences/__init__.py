"""K x K preference matrices: estimated, published, synthetic; their winners and bounds.

Nothing here knows a bandit.
"""
