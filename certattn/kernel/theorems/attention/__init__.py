"""Theorems about attention over a concrete prompt.

A module, or a few, for each claim: `output-deviation`, `softmax-mean`, `attention-error` and
`cache-error`.
They make obligations and decide nothing. They import `given`, `decide`, `document`, `mathematics`, their own
mathematics of regions (`cells`) and, where it is tried, `certattn.fast`; no other chapter.
"""
