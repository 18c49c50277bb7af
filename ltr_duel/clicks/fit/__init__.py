"""Click models fitted to sessions of real users: maximum likelihood, held-out likelihood, tables for simulation.

All models here are one walk down a list: each place is reached or not, a place that is reached is clicked with some
probability, and after it the user goes on with another one. They differ in what these probabilities depend on.
"""
