"""The mathematics that only theorems about training need."""
