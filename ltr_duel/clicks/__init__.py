"""Click models: a grade becomes a probability to click, and to stop after the click.

Nothing here knows rankers or lists beyond "these documents, in this order".
"""
