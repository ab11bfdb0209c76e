"""The mathematics that only theorems about training need.

Exact numbers and balls in, exact numbers and balls out. It imports the kernel's `mathematics` and itself, knows no
certificate, and decides nothing.
"""
