"""The papers: figure files, measures, claims, verdicts, ledger and their pages. A client of the library's public names.

Nothing that a user's own experiment needs lives here, and nothing but the command line imports it.
"""
