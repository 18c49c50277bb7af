"""What users wait for, measured: each row of a subject is one public call, in a process of its own.

    python -m benchmarks [--quick] [--data FOLDER] [--out FILE] [NAME ...]

A name is a subject (``bandits``), a subject and a part of the names of its rows (``bandits:rucb``), or ``usual``: what
is measured without a name. Rows that take minutes are measured only if they are named (``matrices:519-4000``).

What is measured goes to a file (`benchmarks.record`), from which `benchmarks.page` makes the page of the documentation,
its picture and the figures of the README. ``benchmarks.studies`` holds what is no matter of speed, such as whether
intervals and advice hold.

``--data`` names a folder with the published matrices (`benchmarks.published`); without them matrices of their sizes are
made up, and named so. Rates are never asserted by a test.
"""
