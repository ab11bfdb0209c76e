"""Theorems about training attention for linear regression in context.

A module, or a few, for each claim: `descent-trajectory`, `flow-trajectory`, `regression-risk`,
`training-convergence`, `risk-gap`, `risk-transfer`, `held-out-risk`, `stochastic-descent`, `full-batch-descent` and
`theorem-4-3`.
They make obligations and decide nothing. They import `given`, `decide.obligation`, `decide.theorem`,
`document`, `mathematics` and each other, where two need the same; no other chapter.
"""
