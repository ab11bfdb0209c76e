"""Theorems about the tokens that attention selects."""
