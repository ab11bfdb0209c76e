"""The mathematics that only theorems about random prompts need."""
