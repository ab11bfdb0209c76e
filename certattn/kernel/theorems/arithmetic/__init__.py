"""Theorems about the checker's own arithmetic."""
