"""Properties of a preference matrix: winners, confidence in the winners, transitivity, and lower bounds on regret."""
