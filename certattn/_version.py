"""The version and where the sources are, in one place."""

__version__ = "0.1.0"
# The address that git clones the sources from; empty until they are public. `certattn init` follows it, CITATION.cff
# names no other (tests/test_docs.py).
SOURCE = ""
