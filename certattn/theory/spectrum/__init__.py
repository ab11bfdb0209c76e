"""Derivations for claims about the spectrum of attention with random weights."""
