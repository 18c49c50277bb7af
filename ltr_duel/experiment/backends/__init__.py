"""Backends that execute runs: threads, processes that can be killed, or a cluster."""
