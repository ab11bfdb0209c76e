"""Provers of claims about attention on a concrete prompt."""
