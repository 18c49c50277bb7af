"""Measure the calls that users wait for: each row of a subject is one public call, run in a separate process.

    python -m benchmarks [--quick] [--data FOLDER] [--out FILE] [NAME ...]

A name is a subject (``bandits``), a subject and a part of row names (``bandits:rucb``), or ``usual`` for the default
rows. Rows that take minutes are measured only if they are named (``matrices:519-4000``).

The results are written to a file (`benchmarks.record`), from which `benchmarks.page` makes the page of the
documentation, its picture and the table of the README. ``benchmarks.studies`` contains studies of questions other than
speed, for example whether intervals contain the true value.

``--data`` names a folder with the published matrices (`benchmarks.published`). Without a folder, synthetic matrices of
the same sizes are used, and the tables name them as synthetic. No test asserts a rate.
"""
