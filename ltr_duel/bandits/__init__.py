"""Policies: which arms to compare next. One algorithm (family), one file that reads like its paper.

A policy sees arms and outcomes, never queries, lists or clicks.
"""
