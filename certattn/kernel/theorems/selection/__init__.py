"""Theorems about the tokens that attention selects, and that training makes it select.

A module for each claim, which reads from its schema down to its obligations: `max_margin`, `token_optimality`,
`regularization_path`, `joint_max_margin`, `selection_direction` (with the theorems that it applies in
`direction_theorems`), `selection_basins`, `selection_counterexample`, `selection_on_a_head`. `stated_tokens` is what
most of them are given, and how max-margin points are stated and proved. They decide nothing. They import `given`,
`decide`, `document`, `mathematics` and their own `mathematics`; no other chapter.
"""
