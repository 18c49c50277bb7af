"""Properties of a preference matrix: winners, transitivity, lower bounds, and their confidence."""
