"""Derivations for claims about attention on a concrete prompt."""
