"""Fit click models to sessions of real users, measure how well they predict other sessions, and grade documents.

In all models, users read a list from the top. If they reach a rank, they notice its document with probability
``notice``. They click on a noticed document with probability ``attract``. Users who clicked go on to the next rank with
probability ``after_click``, and other users go on with probability ``after_skip``. There are several kinds of models,
called forms. A form says which parameters determine the four probabilities. Each form is a module of `forms`.
"""
