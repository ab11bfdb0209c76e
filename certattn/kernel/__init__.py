"""The trusted kernel: to audit certattn, read this folder and nothing else.

A certificate walks through it in one direction: ``document`` reads files into exact
numbers, ``claims`` turns them into obligations, ``arithmetic`` encloses both sides of
each obligation, ``verdict`` decides, ``checker`` puts the parts together and ``worker``
runs one check in a process of its own.
"""
