"""Derivations for claims about which tokens attention selects."""
