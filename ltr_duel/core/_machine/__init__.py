"""The part of the package that knows the compiler. Only its modules import llvmlite and internals of numba.

They add entries to numba's tables only for functions and types of this package, so numba works as usual for all other
code.
"""
