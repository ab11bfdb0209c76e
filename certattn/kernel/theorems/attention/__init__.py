"""Theorems about attention over a concrete prompt."""
