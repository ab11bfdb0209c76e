"""Theorems about attention over random prompts."""
