"""What decides: nothing else does.

``obligation`` is what a theorem hands over, ``proof`` decides it and makes the verdict, ``theorem`` is what a module of
a theorem offers, ``checker`` the table of claims and the search over tiers and precisions, and ``floating_point`` the
environment that all of it computes in. ``obligation`` and ``proof`` import `mathematics` alone, ``theorem`` also
`document`; only ``checker`` imports theorems.
"""
