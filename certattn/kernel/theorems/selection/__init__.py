"""Theorems about the tokens that attention selects, and that training makes it select.

A module, or a few, for each claim: `max-margin`, `token-optimality`, `selection-direction`,
`selection-counterexample`, `regularization-path`, `joint-max-margin` and `selection-on-a-head`.
They make obligations and decide nothing. They import `given`, `decide.claim`, `decide.verdict`, `document`,
`mathematics`, their own `mathematics` and, where it is tried, `certattn.fast`; no other chapter.
"""
