"""Provers of claims about training in context."""
