"""The mathematics that only theorems about selected tokens need."""
