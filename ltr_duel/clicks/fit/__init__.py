"""Click models fitted to sessions of real users: maximum likelihood, held-out likelihood, tables for simulation.

In all models users walk down a list: each position is reached or not, a reached position is clicked with some
probability, and then the user continues with another probability. The models differ in the parameters of these
probabilities.
"""
