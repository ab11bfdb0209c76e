"""The trusted kernel: what a verdict rests on is here, and in `certattn.fast` where the verdict names binary64.

A certificate walks through it in one direction: ``document`` reads files into exact numbers, ``theorems`` turns them
into obligations, with what is ``given`` and by ``mathematics`` that encloses both sides of each, and ``decide`` decides
them. It imports the standard library, flint and, for the bits of arrays, numpy. ``certattn.isolation`` runs one
check in a process of its own.
"""
