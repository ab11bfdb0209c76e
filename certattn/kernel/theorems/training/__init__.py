"""Theorems about training attention."""
