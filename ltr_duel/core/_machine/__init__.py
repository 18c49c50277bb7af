"""The part of the package that knows the compiler: only its modules import numba's internals and llvmlite.

`options`
    The compiler's options: documented ones, and undocumented ones if the installed numba supports them.
`instructions`, `lanes`, `coins`, `generators`, `addresses`
    Python functions that are replaced by LLVM instructions in compiled code. Both forms return the same values.

These modules do not change numba for other packages: all entries that they add to numba's tables are for functions and
types of this package. `ltr_duel.core.jit` and `ltr_duel.core.dispatch` use these modules and documented parts of numba.
"""
