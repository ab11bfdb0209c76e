"""The mathematics that only theorems about singular values need."""
