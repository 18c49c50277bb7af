"""Preferences estimated from simulated clicks: settings, samplers, variance reduction, resumable pieces."""
