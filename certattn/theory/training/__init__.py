"""Derivations for claims about training in context."""
