"""Theorems about attention over random prompts in words."""
