"""Derivations for claims about random prompts, and the infinite ones they tend to."""
