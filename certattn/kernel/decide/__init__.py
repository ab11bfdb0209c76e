"""What decides: nothing else does.

``verdict`` has obligations, outcomes and the verdict, ``claim`` what a theorem has to provide, ``checker`` the table of
claims and the search over tiers and precisions, ``reports`` what is said of a certificate, and ``floating_point`` the
environment that all of it computes in. ``theorem``, ``obligation`` and ``proof`` are what claims become that list their
obligations, by ``adapter`` until all do. ``verdict`` imports `mathematics` alone, ``claim`` and ``theorem`` also
`document`; only ``checker`` imports theorems.
"""
