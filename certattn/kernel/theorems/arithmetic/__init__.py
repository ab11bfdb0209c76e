"""Theorems about the checker's own arithmetic.

A module, or a few, for each claim: `binary64-exponential`.
They make obligations and decide nothing. They import `given`, `decide.obligation`, `decide.theorem`, `document`,
`mathematics` and `certattn.fast`, which they are about; no other chapter.
"""
