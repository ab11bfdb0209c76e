"""Theorems about the singular values of attention, and about their law.

A module for each claim: `equivalent-law`, `spectral-distance`, `not-marchenko-pastur`,
`finite-moments`, `normalizer-bound`, `universality-bound`, `linearization`,
`singular-values`, `attention-spectrum` and `causal-law`.
They make obligations and decide nothing. They import `given`, `decide.obligation`, `decide.theorem`, `document`,
`mathematics`, each other, where two need the same, and, where it is tried, `certattn.fast`; no other chapter.
"""
