"""The compiler's room: the only importer of numba's internals and of llvmlite.

`options`
    The compiler's flags: the documented ones, and those undocumented ones that the installed numba is found to have.
`instructions`, `lanes`, `coins`, `numbers`, `generators`
    Python functions that LLVM instructions replace in compiled code. Both forms return the same values.

Nothing here changes numba for other packages: every entry in numba's tables belongs to a function of this package.
`ltr_duel.core.jit` and `ltr_duel.core.dispatch` build on it with documented parts of numba alone.
"""
