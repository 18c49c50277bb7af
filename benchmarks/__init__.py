"""What is measured, against whom. ``python -m benchmarks [NAME ...]`` prints the tables.

Rates are taken in one process, one after the other, best of several; they are never asserted by a test.
"""
