"""Click models fitted to sessions of real users: maximum likelihood, held-out likelihood, tables, judgements.

In all models users read a list from the top. They notice the document at a rank that they reach with probability
``notice``, and click on a noticed document with probability ``attract``. They go on to the next rank with probability
``after_click`` or ``after_skip``. A form of model is one module of `forms`, with the parameters behind these four
probabilities (``step``) and what a rank with its click says about the parameters (``entries``).
"""
