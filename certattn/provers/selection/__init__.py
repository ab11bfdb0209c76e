"""Provers of claims about which tokens attention selects."""
