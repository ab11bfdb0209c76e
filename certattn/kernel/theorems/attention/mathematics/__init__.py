"""The mathematics that only theorems about a concrete prompt need."""
