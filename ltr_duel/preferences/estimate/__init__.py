"""Estimate preferences from simulated clicks: settings, sampling, variance reduction, and resumable pieces of work."""
