"""Many certificates from one spec: expanded, generated, checked, and written down in a folder with an index.

Nothing of this is trusted: a verdict comes from `certattn.isolation.worker`, and what the index says of it is a note.
"""
