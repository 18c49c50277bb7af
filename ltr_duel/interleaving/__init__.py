"""Two or more rankings become one list; clicks on it become credit, and credit says who won.

One method, one file. Nothing here knows a bandit.
"""
