"""Derivations for claims about the checker's own arithmetic."""
