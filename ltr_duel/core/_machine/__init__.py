"""The compiler: the only package that imports numba's internals and llvmlite.

`options`
    The compiler's flags: the documented flags, and the undocumented flags that the installed numba supports.
`instructions`, `lanes`, `coins`, `generators`
    Python functions that LLVM instructions replace in compiled code. Both forms return the same values.

These modules do not change numba for other packages: every entry in numba's tables belongs to a function or type of
this package. `ltr_duel.core.jit` and `ltr_duel.core.dispatch` build on these modules and on documented parts of numba.
"""
