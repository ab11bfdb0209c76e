"""The mathematics that only theorems about random prompts need.

Exact numbers and balls in, exact numbers and balls out. It imports the kernel's `mathematics` and itself, knows no
certificate, and decides nothing.
"""
