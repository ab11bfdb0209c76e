"""Transformers as their weights are stored, and what their heads see on given tokens.

Nothing here knows of certificates, and nothing is trusted: what a head sees is recorded in array files, and the
certificates are about these.
"""
