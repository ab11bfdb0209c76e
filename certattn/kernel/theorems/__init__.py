"""Theorems by chapter: what is stated, and the obligations that prove it. A chapter imports no other chapter."""
