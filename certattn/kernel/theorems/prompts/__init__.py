"""Theorems about attention over random prompts.

A module, or a few, for each claim: `infinite-prompt-operator`, tails and mean squares of outputs and gradients,
`proposition-3-1`, `proposition-3-4`, `typical-prompt` and `observed-prompt`.
They make obligations and decide nothing. They import `given`, `decide.obligation`, `decide.theorem`, `document`,
`mathematics`, their own `mathematics` and, where it is tried, `certattn.fast`; no other chapter.
"""
