"""Provers of claims about the checker's own arithmetic."""
