"""What a preference matrix is like: winners, transitivity, lower bounds, how sure all of that is."""
