"""The compiler's room: the only importer of numba's internals and of llvmlite.

`options`
    The compiler's flags: the documented ones, and those undocumented ones that the installed numba is found to have.
`kernels`
    Functions that are compiled when they are first called, and cached on disk.
`instructions`, `lanes`, `coins`, `numbers`, `generators`
    Python functions that LLVM instructions replace in compiled code. Both forms return the same values.
`dispatch`
    One name with many implementations, chosen by the class of the first argument.

Nothing here changes numba for other packages: every entry in numba's tables belongs to a function of this package.
"""
