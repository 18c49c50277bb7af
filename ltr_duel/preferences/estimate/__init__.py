"""Estimate preference matrices from the clicks of simulated users."""
